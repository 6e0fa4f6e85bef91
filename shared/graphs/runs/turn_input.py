"""What a turn brings into the graph, given what the thread has already."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send

from shared.domain.errors import InvalidInputError
from shared.domain.turns import Turn, human_ids, is_answered, turns_of
from shared.graphs.runs.request import ResumeCommand, RunRequest


def graph_input(request: RunRequest, known: Sequence[AnyMessage], pending: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - LangGraph's own
    """Give what the graph is run with.

    Parameters
    ----------
    request : RunRequest
        What was asked for.
    known : sequence of message
        What the thread has.
    pending : sequence of mapping
        What the thread's row keeps of runs that have not stored it.

    Raises
    ------
    InvalidInputError
        When a message is to be removed that is not there.
    """
    if request.command is not None:
        return _command(request.command, known)
    if not request.messages:
        return None
    return {"messages": [*_left_behind(request, known, pending), *_new(request, known)]}


def takes_in(given: Any, known: Sequence[AnyMessage], pending: Sequence[Mapping[str, Any]]) -> bool:  # noqa: ANN401 - as above
    """Say whether every message that the thread's row keeps is in the thread once the graph was run.

    A run that resumes, that answers from the thread or that is a branch brings none of them in.

    Parameters
    ----------
    given : object
        What the graph is run with; ``None`` when it is not.
    known, pending
        As for :func:`graph_input`.
    """
    brought = cast("Sequence[AnyMessage]", given["messages"] if isinstance(given, dict) else ())
    there = {message.id for message in (*known, *brought)}
    return all(message["id"] in there for message in pending)


def answered_turn(request: RunRequest, known: Sequence[AnyMessage]) -> Turn | None:
    """Give the turn that answers the last human message already, if this is a message that was sent again."""
    ids = human_ids(request.messages)
    if not ids or request.checkpoint_id is not None:
        return None
    turn = next((turn for turn in turns_of(known) if turn.message_id == ids[-1]), None)
    return turn if turn is not None and is_answered(turn) else None


def _new(request: RunRequest, known: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Give the messages without answers the thread has: clients that resend them have them in less detail."""
    there = {message.id for message in known if message.id is not None}
    return [message for message in request.messages if isinstance(message, HumanMessage) or message.id not in there]


def _left_behind(
    request: RunRequest, known: Sequence[AnyMessage], pending: Sequence[Mapping[str, Any]]
) -> list[AnyMessage]:
    """Give what a dead run had taken in and the thread does not have (decision 9b).

    A branch takes in nothing, and neither does a run that undoes the one before it.
    """
    if request.checkpoint_id is not None or request.strategy == "rollback":
        return []
    there = {message.id for message in (*known, *request.messages)}
    return [
        HumanMessage(id=message["id"], content=message["content"]) for message in pending if message["id"] not in there
    ]


def _command(command: ResumeCommand, known: Sequence[AnyMessage]) -> Command[Any]:
    changes = () if command.update is None else command.update.get("messages", ())
    there = {REMOVE_ALL_MESSAGES, *(message.id for message in (*known, *changes) if message.type != "remove")}
    if any(message.type == "remove" and message.id not in there for message in changes):
        raise InvalidInputError("command.update.messages: A message that is to be removed is not there.")
    return Command(
        resume=command.resume if command.has_resume else None,
        update=dict(command.update) if command.update is not None else None,
        goto=[Send(to.node, to.input) if to.has_input else to.node for to in command.goto],
    )
