"""The events of one run as texts in which a message stands once, however often it is sent.

A run sends its whole state after every step, and most of that is the thread's past. In a text a message is a mark: one
of the checkpoint that the run began with, or one that is new. The marks are control characters, which JSON never
holds, so nothing that anybody says can be taken for one.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from langchain_core.messages import BaseMessage

from shared.adapters.langgraph_api.json_encoding import encode, message_text

_MARK: Final = re.compile(rb"\x01([bn])(\d+)\x01")
_BASE: Final = b"b"
_NEW: Final = b"n"


def filled(text: bytes, base: Callable[[int], bytes], new: Callable[[int], bytes]) -> bytes:
    """Give a text with its messages in place of their marks.

    Parameters
    ----------
    text : bytes
        As :class:`EventTexts` writes it.
    base, new : callable
        Give the JSON of a message by its number.
    """
    return _MARK.sub(lambda mark: (base if mark[1] == _BASE else new)(int(mark[2])), text)


def has_base_marks(text: bytes) -> bool:
    """Say whether a text holds messages of the checkpoint that the run began with."""
    return any(kind == _BASE for kind, _ in _MARK.findall(text))


def new_marks(text: bytes) -> list[int]:
    """Give the numbers of the new messages that a text holds, in order of appearance."""
    return [int(number) for kind, number in _MARK.findall(text) if kind == _NEW]


class EventTexts:
    """Writes the texts of one run's events.

    Attributes
    ----------
    new
        The new messages, by number.
    """

    def __init__(self) -> None:
        self.new: list[BaseMessage] = []
        self._base: Sequence[BaseMessage] = ()
        # By identity; what a mark stands for is kept, so that its identity stays taken.
        self._marks: dict[int, bytes] = {}
        self._alike: list[BaseMessage] = []
        self._by_id: dict[str, tuple[BaseMessage, bytes]] = {}
        self._json: dict[bytes, bytes] = {}

    def begin(self, base: Sequence[BaseMessage]) -> None:
        """Hear of the messages that the run began with, before the first text."""
        self._base = base
        for number, message in enumerate(base):
            self._know(message, b"\x01b%d\x01" % number)

    def text(self, data: object) -> bytes:
        """Give the text of an event's data."""
        return encode(data, self._mark)

    def whole(self, text: bytes) -> bytes:
        """Give the JSON of a text."""
        return filled(
            text,
            lambda number: self._written(b"b%d" % number, self._base[number]),
            lambda number: self._written(b"n%d" % number, self.new[number]),
        )

    def _mark(self, message: BaseMessage) -> bytes:
        known = self._marks.get(id(message))
        if known is not None:
            return known
        # LangGraph may hand out a copy.
        other = self._by_id.get(message.id) if message.id is not None else None
        if other is not None and other[0] == message:
            self._alike.append(message)
            self._marks[id(message)] = other[1]
            return other[1]
        mark = b"\x01n%d\x01" % len(self.new)
        self.new.append(message)
        self._know(message, mark)
        return mark

    def _know(self, message: BaseMessage, mark: bytes) -> None:
        self._marks[id(message)] = mark
        if message.id is not None:
            self._by_id[message.id] = (message, mark)

    def _written(self, name: bytes, message: BaseMessage) -> bytes:
        known = self._json.get(name)
        if known is None:
            known = self._json[name] = message_text(message)
        return known
