"""What happens in a turn, as the chat shows it, read from the stream of the SDK."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langgraph_sdk.schema import StreamPart

SAVE_MEMORY: Final = "save_memory"
LOOKUP: Final = "lookup_thread_messages"
SEARCH: Final = "search_knowledge_base"
LIST: Final = "list_documents"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model calls a tool."""

    name: str


@dataclass(frozen=True, slots=True)
class MemorySaved:
    """The profile as it was and as it is.

    Parameters
    ----------
    before, after : mapping
        The merged view.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def added(self) -> dict[str, Any]:
        """Give the keys that are new."""
        return {key: value for key, value in self.after.items() if key not in self.before}

    def updated(self) -> dict[str, tuple[Any, Any]]:
        """Give the keys with another value, as (old, new)."""
        return {
            key: (self.before[key], value)
            for key, value in self.after.items()
            if key in self.before and self.before[key] != value
        }

    def removed(self) -> dict[str, Any]:
        """Give the keys that are gone, with their old value."""
        return {key: value for key, value in self.before.items() if key not in self.after}


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Old turns the model has read, as label and messages (role and content)."""

    turns: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """Passages of documents were found, as many as this."""

    count: int


@dataclass(frozen=True, slots=True)
class Cited:
    """What the answer refers to, as number, name of the document, and its first and last page there."""

    passages: tuple[tuple[int, str, int, int], ...]


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """Another tool has answered."""

    name: str


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """A tool could not do what it was asked."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The run ended with an error."""

    code: str
    message: str


Event = Token | ToolStarted | MemorySaved | LookedUp | Searched | Cited | ToolAnswered | ToolFailed | TurnFailed


async def events_of(parts: AsyncIterator[StreamPart]) -> AsyncIterator[Event]:
    """Read a run's stream (mode ``messages-tuple``)."""
    calls: set[str] = set()
    async for part in parts:
        if part.event == "error":
            yield TurnFailed(str(part.data.get("error", "ERROR")), str(part.data.get("message", "")))
        elif part.event.split("|", 1)[0] == "messages":
            for event in _of_message(part.data[0], calls):
                yield event


def _of_message(message: Mapping[str, Any], calls: set[str]) -> Iterator[Event]:
    kind = message.get("type")
    if kind in ("AIMessageChunk", "ai"):
        if text := text_of(message.get("content")):
            yield Token(text)
        for call in [*(message.get("tool_call_chunks") or []), *(message.get("tool_calls") or [])]:
            name, call_id = call.get("name"), call.get("id")
            if name and call_id and call_id not in calls:
                calls.add(call_id)
                yield ToolStarted(name)
        if cited := (message.get("additional_kwargs") or {}).get("citations"):
            yield Cited(tuple((each["number"], each["name"], each["pageFrom"], each["pageTo"]) for each in cited))
    elif kind == "tool":
        yield _of_result(str(message.get("name") or "tool"), text_of(message.get("content")))


def _of_result(name: str, content: str) -> Event:
    try:
        result = json.loads(content)
    except ValueError:
        result = None
    if not isinstance(result, dict):
        return ToolFailed(name, content) if name in (SAVE_MEMORY, LOOKUP) else ToolAnswered(name)
    if result.get("ok") is False:
        return ToolFailed(name, str(result.get("message") or result.get("error") or result.get("code") or ""))
    if name == SAVE_MEMORY:
        return MemorySaved(result.get("before", {}), result.get("after", {}))
    if name == LOOKUP:
        return LookedUp(
            tuple(
                (
                    str(turn.get("ref", "")),
                    tuple((str(said.get("role")), text_of(said.get("content"))) for said in turn.get("messages", [])),
                )
                for turn in result.get("turns", [])
            )
        )
    if name == SEARCH:
        return Searched(len(result.get("passages", ())))
    return ToolAnswered(name)


def text_of(content: object) -> str:
    """Give the text of a message's content, be it a string or blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            block if isinstance(block, str) else str(block.get("text", ""))
            for block in content
            if isinstance(block, str) or block.get("type") == "text"
        )
    return ""
