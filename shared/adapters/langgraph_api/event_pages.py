"""Events of a run packed into pages that fit the database, and read back.

A token's event is some 350 bytes that differ from the one before in a few; each event is written as what lies between
its beginning and its end that it shares with the last one of its kind, and the page is compressed. So two hundred
words take about a kilobyte. A page says everything itself but the messages of earlier pages.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shared.adapters.langgraph_api.event_texts import EventTexts, new_marks
from shared.adapters.langgraph_api.json_encoding import message_text
from shared.domain.errors import CorruptItemError

PAGE_BYTES: Final = 256 * 1024
"""What the events of a page take before they are compressed; some data does not compress at all."""
LINE_BYTES: Final = 128 * 1024
"""What one event, or one message, may take to be kept. Of a larger message the thread has it, once it is stored."""

_EVENT: Final = b"e"
_LEFT_OUT: Final = b"x"
_MESSAGE: Final = b"m"
_ELSEWHERE: Final = b"s"
_FIELD: Final = b"\x1f"


@dataclass(frozen=True, slots=True)
class EventText:
    """One event.

    Parameters
    ----------
    number : int
        Its place in the run, from 1.
    name : str
        What kind it is.
    text : bytes
        Its data, with marks in place of messages.
    """

    number: int
    name: str
    text: bytes


@dataclass(frozen=True, slots=True)
class PackedEvents:
    """The first and the last number, and the body, of a page."""

    first: int
    last: int
    body: bytes


def pack(events: Sequence[EventText], texts: EventTexts, told: set[int]) -> list[PackedEvents]:
    """Pack events that follow one another.

    Parameters
    ----------
    events : sequence of EventText
        In order, without gaps.
    texts : EventTexts
        Has the messages that are marked.
    told : set of int
        The new messages that earlier pages have; those of these pages are added.
    """
    pages: list[PackedEvents] = []
    lines: list[bytes] = []
    size, first, last = 0, 0, 0
    before: dict[str, bytes] = {}
    for event in events:
        messages = [number for number in dict.fromkeys(new_marks(event.text)) if number not in told]
        added = [_message_line(number, texts) for number in messages]
        full = sum(map(len, added)) + len(event.text)
        if lines and size + full > PAGE_BYTES:
            pages.append(_page(first, last, lines))
            lines, size, before = [], 0, {}
        told.update(messages)
        lines += [*added, _event_line(event, before)]
        first = first if size else event.number
        size += full
        last = event.number
    if lines:
        pages.append(_page(first, last, lines))
    return pages


class EventReader:
    """Reads the pages of one run, from the first on. A page that was read before may come again, and be longer.

    Attributes
    ----------
    messages
        The JSON of the new messages, by number.
    elsewhere
        The ids of those new messages that are too large for a page.
    """

    def __init__(self) -> None:
        self.messages: dict[int, bytes] = {}
        self.elsewhere: dict[int, str] = {}

    def read(self, body: bytes, first: int) -> Iterator[EventText]:
        """Give the events of a page whose first event has this number.

        Raises
        ------
        CorruptItemError
            When it cannot be understood.
        """
        number = first
        before: dict[str, bytes] = {}
        try:
            for line in zlib.decompress(body).split(b"\n"):
                kind, rest = line[:1], line[1:]
                if kind == _MESSAGE:
                    place, _, said = rest.partition(_FIELD)
                    self.messages[int(place)] = said
                elif kind == _ELSEWHERE:
                    place, _, named = rest.partition(_FIELD)
                    self.elsewhere[int(place)] = named.decode()
                else:
                    if kind == _EVENT:
                        yield _event(number, rest, before)
                    number += 1
        except (zlib.error, ValueError) as error:
            raise CorruptItemError("A page of events cannot be understood.") from error


def _page(first: int, last: int, lines: Sequence[bytes]) -> PackedEvents:
    return PackedEvents(first, last, zlib.compress(b"\n".join(lines)))


def _message_line(number: int, texts: EventTexts) -> bytes:
    message = texts.new[number]
    said = message_text(message)
    if len(said) <= LINE_BYTES or message.id is None:
        return b"%b%d%b%b" % (_MESSAGE, number, _FIELD, said if len(said) <= LINE_BYTES else b"null")
    return b"%b%d%b%b" % (_ELSEWHERE, number, _FIELD, message.id.encode())


def _event_line(event: EventText, before: dict[str, bytes]) -> bytes:
    if len(event.text) > LINE_BYTES:
        return _LEFT_OUT
    last = before.get(event.name, b"")
    before[event.name] = event.text
    start = _shared(last, event.text)
    longest = min(len(last), len(event.text)) - start
    end = _shared(last[::-1][:longest], event.text[::-1][:longest])
    middle = event.text[start : len(event.text) - end]
    return _FIELD.join((_EVENT + event.name.encode(), b"%d" % start, b"%d" % end, middle))


def _event(number: int, line: bytes, before: dict[str, bytes]) -> EventText:
    name, start, end, middle = line.split(_FIELD, 3)
    last = before.get(name.decode(), b"")
    text = last[: int(start)] + middle + last[len(last) - int(end) :]
    before[name.decode()] = text
    return EventText(number, name.decode(), text)


def _shared(one: bytes, other: bytes) -> int:
    """Give how many bytes two texts begin with alike, by halves: comparing is quick, counting is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
