"""The route of runs: a request is understood, checked, and run; what comes out is streamed."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Final, Literal
from uuid import UUID

from fastapi import Request, Response
from langchain_core.messages import AIMessage, AnyMessage
from starlette.responses import StreamingResponse

from functions.chat.wiring import GRAPH_ID, Account, InChat, InThread, User
from shared.adapters.langgraph_api.assistants import check_assistant
from shared.adapters.langgraph_api.bodies import CommandBody, RunCreate, SendTo
from shared.adapters.langgraph_api.messages import messages_of
from shared.adapters.langgraph_api.run_errors import error_data
from shared.adapters.langgraph_api.run_options import check_options
from shared.adapters.langgraph_api.sse import HEARTBEAT, MEDIA_TYPE, SseWriter
from shared.adapters.runtime.proxy_event import CONTEXT_SCOPE_KEY
from shared.domain.errors import InvalidInputError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.domain.threads import checked_metadata
from shared.graphs.runs.request import Durability, Goto, MultitaskStrategy, ResumeCommand, RunRequest
from shared.graphs.runs.run import Run
from shared.graphs.runs.stream import Ended, Failed, RunOutput

# LangGraph calls its stream of tokens "messages", its server "messages-tuple".
_MODES: Final = {"messages-tuple": "messages"}

STORING_TIME: Final = timedelta(seconds=20)
"""How long before its process ends a run is stopped, so that what there is can be stored and announced."""


async def stream_run(
    thread: InThread, body: RunCreate, request: Request, user: User, account: Account, chat: InChat
) -> Response:
    """Run the graph in a thread and stream what it does."""
    asked = run_request(body, user, thread, account, nodes=chat.runner.nodes, time_limit=_time_left(request))
    run = await chat.runner.start(asked)
    return StreamingResponse(
        events_of(run, heartbeat_seconds=chat.heartbeat_seconds),
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", "Content-Location": f"/threads/{thread}/runs/{run.id}"},
    )


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
    check_assistant(body.assistant_id, GRAPH_ID)
    config = body.config
    modes = body.stream_mode or ["values"]
    return RunRequest(
        user=user,
        thread=thread,
        run=RunId(str(uuid.uuid4())),
        account=account,
        messages=_messages(body),
        command=None if body.command is None else _command(body.command, nodes),
        checkpoint_id=_checkpoint_id(body, thread),
        create=body.if_not_exists == "create",
        strategy=_strategy(body),
        modes=frozenset(_MODES.get(mode, mode) for mode in modes),
        subgraphs=bool(body.stream_subgraphs),
        durability=_durability(body),
        metadata=checked_metadata({**((config and config.metadata) or {}), **(body.metadata or {})}),
        tags=(config and config.tags) or (),
        recursion_limit=(config and config.recursion_limit) or 25,
        interrupt_before=_nodes(body.interrupt_before, "interrupt_before", nodes),
        interrupt_after=_nodes(body.interrupt_after, "interrupt_after", nodes),
        strict_resume=bool(body.strict_resume),
        time_limit=time_limit,
    )


def _messages(body: RunCreate) -> Sequence[AnyMessage]:
    if body.input is None:
        return ()
    messages = messages_of(body.input.messages or (), new_id=lambda: str(uuid.uuid4()))
    if not messages:
        raise InvalidInputError("input.messages: There is no message.")
    if isinstance(messages[-1], AIMessage):
        raise InvalidInputError("input.messages: The last message is an answer already.")
    return messages


def _command(body: CommandBody, nodes: frozenset[str]) -> ResumeCommand:
    goto = [Goto(to.node, to.input, has_input=True) if isinstance(to, SendTo) else Goto(to) for to in body.goto or ()]
    _nodes([to.node for to in goto], "command.goto", nodes)
    has_resume = "resume" in body.model_fields_set
    if not (has_resume or goto or body.update):
        raise InvalidInputError("command: There is nothing in it.")
    update = (
        None
        if body.update is None
        else messages_of(body.update.messages or (), new_id=lambda: str(uuid.uuid4()), where="command.update.messages")
    )
    return ResumeCommand(
        resume=body.resume,
        has_resume=has_resume,
        update=None if update is None else {"messages": update},
        goto=goto,
    )


def _checkpoint_id(body: RunCreate, thread: ThreadId) -> str | None:
    place = body.checkpoint
    if place is not None and place.thread_id is not None and place.thread_id.lower() != thread:
        raise InvalidInputError("checkpoint.thread_id: This is another thread.")
    given = (place and place.checkpoint_id) or body.checkpoint_id
    if given is None:
        return None
    try:
        return str(UUID(given))
    except ValueError:
        raise InvalidInputError("checkpoint_id: A checkpoint's id is a UUID.") from None


def _strategy(body: RunCreate) -> MultitaskStrategy:
    match body.multitask_strategy:
        case "reject" | "interrupt" as strategy:
            return strategy
        case _:
            return "enqueue"


def _durability(body: RunCreate) -> Durability:
    return body.durability or ("async" if body.checkpoint_during else "exit")


def _nodes(given: Sequence[str] | None, option: str, nodes: frozenset[str]) -> Sequence[str] | Literal["*"]:
    if given == ["*"] and option != "command.goto":
        return "*"
    for name in given or ():
        if name not in nodes or name.startswith("__"):
            raise InvalidInputError(f"{option}: There is no node '{name[:100]}'.")
    return given or ()


def _time_left(request: Request) -> timedelta | None:
    """Give how long a run may take in this process; no limit where there is no Lambda."""
    context = request.scope.get(CONTEXT_SCOPE_KEY)
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    if remaining is None:
        return None
    return max(timedelta(milliseconds=remaining()) - STORING_TIME, timedelta(seconds=1))


async def events_of(run: Run, *, heartbeat_seconds: float) -> AsyncIterator[bytes]:
    """Give a run's events as they come, and a heartbeat every so often, whatever the graph is busy with.

    Parameters
    ----------
    run : Run
        The run. Whoever stops listening does not stop it, but waits for it: a process that has answered stands still.
    heartbeat_seconds : float
        How often to show that the connection is alive.
    """
    writer = SseWriter()
    outputs = run.outputs()
    clock = asyncio.get_running_loop()
    coming = asyncio.ensure_future(anext(outputs))
    try:
        yield writer.event("metadata", {"run_id": run.id, "attempt": 1})
        yield HEARTBEAT
        next_beat = clock.time() + heartbeat_seconds
        while True:
            await asyncio.wait({coming}, timeout=max(0.0, next_beat - clock.time()))
            if clock.time() >= next_beat:
                yield HEARTBEAT
                next_beat = clock.time() + heartbeat_seconds
            if not coming.done():
                continue
            output = coming.result()
            yield _event(writer, run, output)
            if isinstance(output, Failed | Ended):
                return
            coming = asyncio.ensure_future(anext(outputs))
    finally:
        coming.cancel()
        await run.finished()


def _event(writer: SseWriter, run: Run, output: RunOutput) -> bytes:
    match output:
        case Failed(code):
            return writer.event("error", error_data(code))
        case Ended(status):
            return writer.event("end", {"run_id": run.id, "status": status})
        case _ if output.mode == "messages":
            message, metadata = output.data
            return writer.message(message, metadata, namespace=output.namespace)
        case _:
            return writer.event(output.mode, output.data, namespace=output.namespace)
