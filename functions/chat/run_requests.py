"""Understanding what a client wants of a run."""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, Literal
from uuid import UUID

from fastapi import Request
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.utils.uuid import uuid7

from functions.chat.wiring import GRAPH_ID
from shared.adapters.langgraph_api.assistants import check_assistant
from shared.adapters.langgraph_api.bodies import Checkpoint, CommandBody, RunCreate, SendTo
from shared.adapters.langgraph_api.files import holds_file
from shared.adapters.langgraph_api.messages import message_changes_of, messages_of
from shared.adapters.langgraph_api.run_events import GRAPH_MODES
from shared.adapters.langgraph_api.run_options import check_options
from shared.adapters.runtime.proxy_event import CONTEXT_SCOPE_KEY
from shared.domain.errors import InvalidInputError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.domain.threads import checked_metadata
from shared.graphs.runs.request import DEFAULT_STEPS, Durability, Goto, GraphRequest, ResumeCommand, RunRequest

STORING_TIME: Final = timedelta(seconds=20)
"""How long before its process ends a run is stopped, so that what there is can be stored and announced."""

_OF_STORED_STEPS: Final = frozenset({"checkpoints", "debug"})


def run_request(
    body: RunCreate,
    user: UserId,
    thread: ThreadId,
    account: AccountOverlay,
    *,
    nodes: frozenset[str],
    time_limit: timedelta | None = None,
) -> RunRequest:
    """Understand what a client asks for.

    Parameters
    ----------
    body : RunCreate
        The request's body.
    user, thread, account
        From the verified token and the path.
    nodes : frozenset of str
        Names of the graph's nodes.
    time_limit : timedelta, optional
        How long the run may take.

    Raises
    ------
    InvalidInputError
        Naming what does not fit, or is not supported.
    """
    check_options(body)
    return RunRequest(
        **_of_every_run(body, nodes, time_limit),
        user=user,
        thread=thread,
        account=account,
        command=None if body.command is None else _command(body.command, nodes),
        checkpoint_id=checkpoint_id_of(body.checkpoint, thread) or read_checkpoint_id(body.checkpoint_id),
        create=body.if_not_exists == "create",
        strategy=body.multitask_strategy or "enqueue",
        durability=_durability(body),
        strict_resume=bool(body.strict_resume),
    )


def stateless_request(
    body: RunCreate,
    user: UserId,
    account: AccountOverlay,
    *,
    nodes: frozenset[str],
    time_limit: timedelta | None = None,
) -> GraphRequest:
    """Understand what a client asks for that keeps the conversation itself; see :func:`run_request`."""
    check_options(body, stateless=True)
    if body.input is None:
        raise InvalidInputError("input: A run without a thread needs the conversation.")
    return GraphRequest(**_of_every_run(body, nodes, time_limit), user=user, account=account)


def modes_of(body: RunCreate) -> Sequence[str]:
    """Give the stream modes that are asked for, by the API's names."""
    return body.stream_mode or ["values"]


def time_left(request: Request) -> timedelta | None:
    """Give how long a reply may take in this process; no limit where there is no Lambda."""
    context = request.scope.get(CONTEXT_SCOPE_KEY)
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return None
    return max(timedelta(milliseconds=remaining()) - STORING_TIME, timedelta(seconds=1))


def checkpoint_id_of(place: Checkpoint | None, thread: ThreadId, where: str = "checkpoint") -> str | None:
    """Give the id of a checkpoint in a thread.

    Raises
    ------
    InvalidInputError
        When it is of another thread, or no id.
    """
    if place is None:
        return None
    if place.thread_id is not None and place.thread_id.lower() != thread:
        raise InvalidInputError(f"{where}.thread_id: This is another thread.")
    return read_checkpoint_id(place.checkpoint_id, f"{where}.checkpoint_id")


def read_checkpoint_id(given: str | None, where: str = "checkpoint_id") -> str | None:
    """Read a checkpoint's id; ``None`` when there is none. Raises ``InvalidInputError`` when it is no id."""
    if given is None:
        return None
    try:
        return str(UUID(given))
    except ValueError:
        raise InvalidInputError(f"{where}: A checkpoint's id is a UUID.") from None


def state_change(messages: Sequence[dict[str, Any]] | None, where: str) -> dict[str, Any]:
    """Give a change of the state as the graph takes it.

    Raises
    ------
    InvalidInputError
        Saying which message does not fit, and how.
    """
    return {"messages": message_changes_of(messages or (), new_id=_new_id, where=where)}


def _of_every_run(body: RunCreate, nodes: frozenset[str], time_limit: timedelta | None) -> dict[str, Any]:
    check_assistant(body.assistant_id, GRAPH_ID)
    config = body.config
    return {
        "run": RunId(str(uuid7())),
        "messages": _messages(body),
        "modes": frozenset(GRAPH_MODES.get(mode, mode) for mode in modes_of(body)),
        "subgraphs": bool(body.stream_subgraphs),
        "metadata": checked_metadata({**((config and config.metadata) or {}), **(body.metadata or {})}),
        "tags": (config and config.tags) or (),
        "recursion_limit": (config and config.recursion_limit) or DEFAULT_STEPS,
        "interrupt_before": _nodes(body.interrupt_before, "interrupt_before", nodes),
        "interrupt_after": _nodes(body.interrupt_after, "interrupt_after", nodes),
        "time_limit": time_limit,
    }


def _messages(body: RunCreate) -> Sequence[AnyMessage]:
    if body.input is None:
        return ()
    messages = messages_of(body.input.messages or (), new_id=_new_id)
    if not messages:
        raise InvalidInputError("input.messages: There is no message.")
    if isinstance(messages[-1], AIMessage):
        raise InvalidInputError("input.messages: The last message is an answer already.")
    return messages


def _command(body: CommandBody, nodes: frozenset[str]) -> ResumeCommand:
    goto = [Goto(to.node, to.input, has_input=True) if isinstance(to, SendTo) else Goto(to) for to in body.goto or ()]
    _nodes([to.node for to in goto], "command.goto", nodes)
    without_files(body.resume, "command.resume")
    for number, to in enumerate(goto):
        without_files(to.input, f"command.goto.{number}.input")
    has_resume = "resume" in body.model_fields_set
    if not (has_resume or goto or body.update):
        raise InvalidInputError("command: There is nothing in it.")
    return ResumeCommand(
        resume=body.resume,
        has_resume=has_resume,
        update=None if body.update is None else state_change(body.update.messages, "command.update.messages"),
        goto=goto,
    )


def without_files(value: object, where: str) -> None:
    """Refuse the bytes of files where they would go into checkpoints as they are.

    Parameters
    ----------
    value : object
        What the client gives.
    where : str
        Its place in the request.

    Raises
    ------
    InvalidInputError
        When there is a file in it.
    """
    if holds_file(value):
        raise InvalidInputError(f"{where}: A file comes in a message, or is named by its file_id.")


def _durability(body: RunCreate) -> Durability:
    stored_steps = _OF_STORED_STEPS.intersection(modes_of(body))
    if stored_steps and (body.durability == "exit" or body.checkpoint_during is False):
        raise InvalidInputError(f"stream_mode '{min(stored_steps)}': With durability exit there is one checkpoint.")
    return body.durability or ("async" if body.checkpoint_during or stored_steps else "exit")


def _nodes(given: Sequence[str] | None, option: str, nodes: frozenset[str]) -> Sequence[str] | Literal["*"]:
    if given == ["*"] and option != "command.goto":
        return "*"
    for name in given or ():
        if name not in nodes or name.startswith("__"):
            raise InvalidInputError(f"{option}: There is no node '{name[:100]}'.")
    return given or ()


def _new_id() -> str:
    return str(uuid.uuid4())
