"""The blocks of a page's Markdown, with their places: as much of Markdown as cutting it well takes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

_HEADING: Final = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_TABLE_ROW: Final = re.compile(r"[ \t]*\|.*")
_TABLE_RULE: Final = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_MARKUP: Final = re.compile(r"\[(?P<text>[^\]]*)\]\([^)]*\)|[*_`~]{1,3}|<[^>]{1,80}>")

_LEADING_ROWS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of whole lines.

    Parameters
    ----------
    kind : {'heading', 'table', 'code', 'text'}
        ``text`` is everything that is none of the others: paragraphs, lists, quotes.
    start, end : int
        Its place; the last line's end is not part of it.
    lines : tuple of (int, int)
        The place of each of its lines.
    level : int
        Of a heading, 1 to 6.
    title : str
        Of a heading, without markup.
    head_lines : int
        Of a table: how many lines at its top name the columns.
    """

    kind: Literal["heading", "table", "code", "text"]
    start: int
    end: int
    lines: tuple[tuple[int, int], ...]
    level: int = 0
    title: str = ""
    head_lines: int = 0


def blocks_of(text: str, start: int, end: int) -> Iterator[Block]:
    """Read the blocks of one page.

    Parameters
    ----------
    text : str
        The document's text.
    start, end : int
        Where the page is in it. A block never goes over a page's end.
    """
    lines = list(_lines(text, start, end))
    at = 0
    while at < len(lines):
        here, stop = lines[at]
        line = text[here:stop]
        if not line.strip():
            at += 1
            continue
        if heading := _HEADING.fullmatch(line):
            last = at + 1
            title = _plain(heading["title"])
            yield Block(
                kind="heading", start=here, end=stop, lines=((here, stop),), level=len(heading["level"]), title=title
            )
        elif fence := _FENCE.fullmatch(line):
            last = _end_of_fence(text, lines, at, fence["fence"])
            yield _block("code", lines[at:last])
        elif _begins_table(text, lines, at):
            last = _end_of_table(text, lines, at)
            yield _table(text, lines[at:last])
        else:
            last = at + 1
            while last < len(lines) and not _begins_block(text, lines, last):
                last += 1
            yield _block("text", lines[at:last])
        at = last


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _plain(title: str) -> str:
    return " ".join(_MARKUP.sub(lambda match: match["text"] or "", title).split())


def _block(kind: Literal["code", "text"], lines: list[tuple[int, int]]) -> Block:
    return Block(kind=kind, start=lines[0][0], end=lines[-1][1], lines=tuple(lines))


def _begins_block(text: str, lines: list[tuple[int, int]], at: int) -> bool:
    line = text[slice(*lines[at])]
    return (
        not line.strip()
        or _HEADING.fullmatch(line) is not None
        or _FENCE.fullmatch(line) is not None
        or _begins_table(text, lines, at)
    )


def _end_of_fence(text: str, lines: list[tuple[int, int]], at: int, fence: str) -> int:
    for n in range(at + 1, len(lines)):
        line = text[slice(*lines[n])].strip()
        if len(line) >= len(fence) and not line.strip(fence[0]):
            return n + 1
    return len(lines)


def _begins_table(text: str, lines: list[tuple[int, int]], at: int) -> bool:
    return (
        at + 1 < len(lines)
        and _TABLE_ROW.fullmatch(text, *lines[at]) is not None
        and _TABLE_RULE.fullmatch(text, *lines[at + 1]) is not None
    )


def _end_of_table(text: str, lines: list[tuple[int, int]], at: int) -> int:
    last = at + 2
    while last < len(lines) and _TABLE_ROW.fullmatch(text, *lines[last]):
        last += 1
    return last


def _table(text: str, lines: list[tuple[int, int]]) -> Block:
    head = 2
    if not any(_cells(text[slice(*lines[0])])):
        # Markdown wants a head where the source had none; then the first full row is it, under what titles it may have.
        rows = lines[2 : 2 + _LEADING_ROWS]
        full = (n for n, row in enumerate(rows) if 2 * sum(map(bool, cells := _cells(text[slice(*row)]))) > len(cells))
        head += next(full, -1) + 1
    return Block(kind="table", start=lines[0][0], end=lines[-1][1], lines=tuple(lines), head_lines=head)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL_END.split(row.strip().removeprefix("|").removesuffix("|"))]
