"""Turns: a human message and every reply up to the next human message. The unit that is counted, covered and cut.

The identity of a turn is the id of its human message, so that edits, forks and deletions move no summary onto
another turn.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID, uuid5

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from shared.domain.content import text_of
from shared.domain.ids import MessageId

__all__ = ["Role", "Turn", "human_ids", "is_answered", "role_of", "text_of", "transcript", "turns_of"]

Role = Literal["user", "assistant", "tool"]
"""Roles as transcripts and clients name them (TP05)."""

_UNNAMED: Final = UUID("6d2f0c0e-5c0b-4b0f-9a58-0b6d3c1f7a21")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a thread.

    Parameters
    ----------
    index : int
        Zero-based human index. The turn is ``#index+1`` to the model and the user.
    message_id : str
        The id of the human message.
    messages : tuple of message
        The human message and the replies, without system messages.
    """

    index: int
    message_id: MessageId
    messages: tuple[AnyMessage, ...]

    @property
    def label(self) -> str:
        """How the turn is called: ``#n``, one-based and global to the thread (RF01)."""
        return f"#{self.index + 1}"


def turns_of(messages: Sequence[AnyMessage]) -> list[Turn]:
    """Split a thread into turns.

    Parameters
    ----------
    messages : sequence of message
        The thread as it is, oldest first.

    Returns
    -------
    list of Turn
        Without system messages (TR14) and without what precedes the first human message. A human message that was
        stored without an id is known by its place and text, which every reader derives alike (HID-10).
    """
    groups: list[list[AnyMessage]] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            groups.append([message])
        elif groups and not isinstance(message, SystemMessage):
            groups[-1].append(message)
    return [Turn(index, _identity(index, group[0]), tuple(group)) for index, group in enumerate(groups)]


def human_ids(messages: Sequence[AnyMessage]) -> list[MessageId]:
    """Give the identities of a thread's turns, in order."""
    return [turn.message_id for turn in turns_of(messages)]


def is_answered(turn: Turn) -> bool:
    """Tell whether a turn ends with an answer (HID-20).

    It does not while a tool call or its result is the last thing in it, nor when the model said nothing.
    """
    last = turn.messages[-1]
    if role_of(last) != "assistant" or (isinstance(last, AIMessage) and last.tool_calls):
        return False
    return bool(text_of(last.content).strip())


def role_of(message: BaseMessage) -> Role | None:
    """Give the role of a message; ``None`` for kinds that are no part of a conversation (TP03)."""
    match message:
        case HumanMessage():
            return "user"
        case AIMessage():
            return "assistant"
        case ToolMessage() | FunctionMessage():
            return "tool"
        case ChatMessage(role="assistant"):
            return "assistant"
        case _:
            return None


def transcript(turns: Sequence[Turn], *, char_limit: int) -> str:
    """Write turns for a model to read: one JSON line per turn (TP03–TP06).

    Parameters
    ----------
    turns : sequence of Turn
        The turns of a window.
    char_limit : int
        Characters of one message's text, and of one tool call's arguments, that are written (HID-17).

    Returns
    -------
    str
        Lines ``{"id": "#n", "messages": [{"role", "content", "tool_calls"?}]}``.
    """
    lines = (
        json.dumps({"id": turn.label, "messages": _spoken(turn, char_limit)}, ensure_ascii=False) for turn in turns
    )
    # A lone surrogate, which JSON from a client can hold, has no place in a request to a model.
    return "\n".join(lines).encode(errors="replace").decode()


def _identity(index: int, human: AnyMessage) -> MessageId:
    # As JSON, because that has a form in ASCII for any string, lone surrogates too.
    return MessageId(human.id or str(uuid5(_UNNAMED, json.dumps([index, text_of(human.content)]))))


def _spoken(turn: Turn, char_limit: int) -> list[dict[str, Any]]:
    return [_line(role, message, char_limit) for message in turn.messages if (role := role_of(message)) is not None]


def _line(role: Role, message: AnyMessage, char_limit: int) -> dict[str, Any]:
    line: dict[str, Any] = {"role": role, "content": _cut(text_of(message.content), char_limit)}
    if isinstance(message, AIMessage) and message.tool_calls:
        line["tool_calls"] = [
            {"name": call["name"], "args": _cut_args(call["args"], char_limit)} for call in message.tool_calls
        ]
    return line


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … [{len(text) - limit} more characters]"


def _cut_args(args: Mapping[str, Any], limit: int) -> Any:  # noqa: ANN401 - JSON while it fits, else its text
    text = json.dumps(args, ensure_ascii=False, default=str)
    return json.loads(text) if len(text) <= limit else _cut(text, limit)
