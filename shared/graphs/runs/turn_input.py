"""What a turn brings into the graph, given what the thread has already."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send

from shared.domain.content import is_attachment, says_the_same
from shared.domain.errors import InvalidInputError
from shared.domain.ids import MessageId, RunId
from shared.domain.turns import Turn, human_ids, is_answered, turns_of
from shared.graphs.runs.request import ResumeCommand, RunRequest

Pending = Sequence[Mapping[str, Any]]
"""Messages that a thread's row keeps until they are stored."""


def graph_input(request: RunRequest, known: Sequence[AnyMessage], pending: Pending) -> Any:  # noqa: ANN401 - LangGraph's own
    """Give what the graph is run with.

    Parameters
    ----------
    request : RunRequest
        What was asked for.
    known : sequence of message
        What the thread has.
    pending : sequence of mapping
        What the thread's row keeps of runs that have not stored it; without what is to be undone.

    Raises
    ------
    InvalidInputError
        When a message is to be removed that is not there, when one does not fit what the thread has, or when there is
        nothing new.
    """
    if request.command is not None:
        return _command(request.command, known)
    if not request.messages:
        return None
    _check(request.messages, known)
    return {"messages": [*_left_behind(request, known, pending), *_new(request, known)]}


def asked_in(given: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """Give the ids of the human messages that the graph is run with."""
    brought = cast("Sequence[AnyMessage]", given["messages"] if isinstance(given, dict) else ())
    return tuple(human_ids(brought))


def not_stored(pending: Pending, stored: Collection[str | None]) -> list[Mapping[str, Any]]:
    """Give those of a row's messages whose ids are not among these."""
    return [message for message in pending if message["id"] not in stored]


def not_of(pending: Pending, runs: Collection[RunId]) -> list[Mapping[str, Any]]:
    """Give those of a row's messages that other runs than these brought."""
    return [message for message in pending if message.get("run") not in runs]


def answered_turn(request: RunRequest, known: Sequence[AnyMessage]) -> Turn | None:
    """Give the turn that answers the last human message already, if this is a message that was sent again.

    Raises
    ------
    InvalidInputError
        When it is another message with the id of one that is answered.
    """
    last = next((message for message in reversed(request.messages) if isinstance(message, HumanMessage)), None)
    if last is None or request.checkpoint_id is not None:
        return None
    turn = next((turn for turn in turns_of(known) if turn.message_id == last.id), None)
    if turn is None or not is_answered(turn):
        return None
    _check_same(last, turn)
    return turn


def _check(messages: Sequence[AnyMessage], known: Sequence[AnyMessage]) -> None:
    """Refuse what would change what was said, or leaves nothing to answer."""
    turns = {turn.message_id: turn for turn in turns_of(known)}
    kinds = {message.id: message.type for message in known if message.id is not None}
    humans = [message for message in messages if isinstance(message, HumanMessage)]
    for message in humans:
        if message.id in kinds and kinds[message.id] != message.type:
            raise InvalidInputError(f"input.messages: The id '{_short(message.id)}' is an answer's in this thread.")
        turn = turns.get(MessageId(message.id or ""))
        if turn is not None and len(turn.messages) > 1:
            _check_same(message, turn)
    last = messages[-1]
    if isinstance(last, ToolMessage):
        calls = {call["id"] for each in (*known, *messages) if isinstance(each, AIMessage) for call in each.tool_calls}
        if last.tool_call_id not in calls:
            raise InvalidInputError("input.messages: The last message is the result of a call that there is not.")
        if last.id is not None and last.id in kinds:
            raise InvalidInputError("input.messages: There is no new message.")
    elif last.id in turns and turns[MessageId(last.id or "")].index < len(turns) - 1:
        raise InvalidInputError(f"input.messages: The id '{_short(last.id)}' is that of an earlier turn; {_BRANCH}")
    elif last.id in turns and len(turns[MessageId(last.id or "")].messages) > 1 and known[-1].type == "ai":
        _refuse_answered(last, known)


def _refuse_answered(message: AnyMessage, known: Sequence[AnyMessage]) -> None:
    # Here only in a branch; else its answer is given again.
    if is_answered(turns_of(known)[-1]):
        raise InvalidInputError(f"input.messages: The id '{_short(message.id)}' is answered there; {_BRANCH}")


def _check_same(message: AnyMessage, turn: Turn) -> None:
    if not says_the_same(turn.messages[0].content, message.content):
        raise InvalidInputError(
            f"input.messages: The id '{_short(message.id)}' is known with another text, which has its answer; {_BRANCH}"
        )


_BRANCH: Final = "start at the checkpoint before it to edit it, or give the message an id of its own."


def _short(ident: str | None) -> str:
    return (ident or "")[:100]


def _new(request: RunRequest, known: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Give the messages without those the thread has: clients that resend them have them in less detail.

    A question that was not answered yet counts as new, for it may be a better one.
    """
    there = {message.id for message in known if message.id is not None}
    open_questions = {turn.message_id: turn.messages[0] for turn in turns_of(known) if len(turn.messages) == 1}
    there -= open_questions.keys()
    return [
        fuller(stored, message) if (stored := open_questions.get(MessageId(message.id or ""))) else message
        for message in request.messages
        if message.id not in there
    ]


def fuller(stored: AnyMessage, sent: AnyMessage) -> AnyMessage:
    """Give the message that came again; the stored one when the same is said in it and images or files are missing."""
    is_less = _attachments(sent) < _attachments(stored) and says_the_same(stored.content, sent.content)
    return stored if is_less else sent


def _attachments(message: AnyMessage) -> int:
    return sum(map(is_attachment, message.content)) if isinstance(message.content, list) else 0


def _left_behind(request: RunRequest, known: Sequence[AnyMessage], pending: Pending) -> list[AnyMessage]:
    """Give what a dead run had taken in and the thread does not have (decision 9b). A branch takes in nothing."""
    if request.checkpoint_id is not None:
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
