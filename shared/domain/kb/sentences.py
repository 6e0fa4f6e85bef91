"""Where a text may be cut."""

import re
from collections.abc import Iterator
from typing import Final

# After a full stop of any script, and before an item of a list. Of the full stops that Latin uses, one before a small
# letter ends an abbreviation; those of Chinese and Japanese need no space after them.
_SENTENCE_END: Final = re.compile(
    r"""
    [.!?]+ ["'\u2019\u201d)\]*_]* \s+ (?![a-z])
    | [\u061f\u06d4\u0964\u0965] \s*
    | \u3002 ["'\u300d\u300f\u201d)]* \s*
    | \n (?= [ \t]* (?: [-*+\u2022] | \d{1,3}[.)] ) [ \t] )
    """,
    re.VERBOSE,
)


def sentences_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Give the places of a paragraph's sentences, without the white space around them.

    Parameters
    ----------
    text : str
        The document's text.
    start, end : int
        Where the paragraph is in it.
    """
    at = start
    for stop in _SENTENCE_END.finditer(text, start, end):
        yield from _trimmed(text, at, stop.end())
        at = stop.end()
    yield from _trimmed(text, at, end)


def pieces_of(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for one chunk: between words where there is space, else anywhere.

    Parameters
    ----------
    text : str
        The document's text.
    start, end : int
        What to cut.
    longest : int
        Characters a piece may have; at least 1.
    """
    while end - start > longest:
        stop = start + longest
        space = max(text.rfind(" ", start + longest // 2, stop + 1), text.rfind("\n", start + longest // 2, stop + 1))
        cut = space if space > start else stop
        yield from _trimmed(text, start, cut)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
