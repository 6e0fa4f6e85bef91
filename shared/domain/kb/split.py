"""Cutting a document into chunks.

Along its headings, then by sentences packed to about one length. A table stays whole when it fits; else it is cut
between rows, and each part gets the table's head. Each chunk says under which headings it stands. Nothing overlaps, and
nothing is left out but white space, rules, and headings that the chunk below them names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.ids import DocumentId
from shared.domain.kb.blocks import Block, blocks_of
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.pages import DocumentText, Page
from shared.domain.kb.sentences import pieces_of, sentences_of

MAX_CHARS: Final = 1400
"""How long a chunk may be: longer ones blur in the index, shorter ones lose what they are about."""

MIN_MAX_CHARS: Final = 100

_PATH_SEPARATOR: Final = " > "


def split(pages: Sequence[Page], document_id: DocumentId, version: int, *, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """Cut a document into chunks.

    The same pages give the same chunks.

    Parameters
    ----------
    pages : sequence of Page
        All pages, in order.
    document_id : str
        The document.
    version : int
        Which reading of it.
    max_chars : int
        How long a chunk's text may be, its headings and table head included.

    Raises
    ------
    ValueError
        When ``max_chars`` leaves no room for text beside headings and heads.
    """
    if max_chars < MIN_MAX_CHARS:
        raise ValueError(f"Chunks of {max_chars} characters are too short; {MIN_MAX_CHARS} are the least.")
    document = DocumentText(tuple(pages))
    cuts = _Packing(document.text, max_chars).cuts(document)
    return [
        Chunk(
            id=chunk_id(document_id, version, number),
            text=cut.text,
            heading_path=cut.path,
            page_from=document.page_at(cut.start),
            page_to=document.page_at(cut.end - 1),
            start=cut.start,
            end=cut.end,
        )
        for number, cut in enumerate(cuts)
    ]


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is not cut any further.

    ``path`` are the headings above it, for a heading its own too. ``head`` is what a part of a table repeats
    when the part begins here.
    """

    start: int
    end: int
    path: tuple[str, ...]
    is_heading: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    path: tuple[str, ...]
    text: str


class _Packing:
    """One run over a document."""

    def __init__(self, text: str, max_chars: int) -> None:
        self._text = text
        self._max = max_chars
        # A section begins a chunk of its own unless the last chunk would be a scrap.
        self._least = max_chars // 3
        self._units: list[_Unit] = []

    def cuts(self, document: DocumentText) -> Iterator[_Cut]:
        path = _Path()
        for page, start in zip(document.pages, document.starts, strict=True):
            if page.label:
                # A slide or a sheet stands for itself, and is cited as such.
                yield from self._flush()
                path = _Path(page.label)
            for block in blocks_of(self._text, start, start + len(page.text)):
                if block.kind == "heading" and block.title and block.end - block.start <= self._max // 2:
                    path = path.below(block)
                    yield from self._add_heading(_Unit(block.start, block.end, path.titles, is_heading=True))
                elif block.kind == "table":
                    yield from self._add_table(block, path.titles)
                else:
                    yield from self._add_text(block, path.titles)
        yield from self._flush()

    def _add_heading(self, unit: _Unit) -> Iterator[_Cut]:
        # Headings in a row stay together, so that a title keeps its subtitle.
        if self._length() >= self._least and not self._units[-1].is_heading:
            yield from self._flush()
        yield from self._add(unit)

    def _add_text(self, block: Block, path: tuple[str, ...]) -> Iterator[_Cut]:
        longest = self._room(path)
        spans = block.lines if block.kind == "code" else sentences_of(self._text, block.start, block.end)
        for start, end in spans:
            for piece in pieces_of(self._text, start, end, longest):
                yield from self._add(_Unit(*piece, path))

    def _add_table(self, block: Block, path: tuple[str, ...]) -> Iterator[_Cut]:
        whole = _Unit(block.start, block.end, path)
        if self._fits(whole) or block.end - block.start <= self._room(path):
            yield from self._add(whole)
            return
        head_end = block.lines[block.head_lines - 1][1]
        head = self._head(block.start, head_end)
        for piece in pieces_of(self._text, block.start, head_end, self._room(path)):
            yield from self._add(_Unit(*piece, path))
        for row in block.lines[block.head_lines :]:
            for piece in pieces_of(self._text, *row, self._room(path, head)):
                yield from self._add(_Unit(*piece, path, head=head))

    def _head(self, start: int, end: int) -> str:
        """Give what a table's later parts repeat: its head, less the columns that would leave no room for rows."""
        rows = self._text[start:end].split("\n")
        longest = self._max // 2 // len(rows) - 1
        return "".join(f"{row if len(row) <= longest else row[:longest].rpartition('|')[0] + '|'}\n" for row in rows)

    def _add(self, unit: _Unit) -> Iterator[_Cut]:
        if self._units and not self._fits(unit):
            # A heading goes with what follows it.
            ahead: list[_Unit] = []
            while self._units and self._units[-1].is_heading:
                ahead.insert(0, self._units.pop())
            if self._units:
                yield from self._flush()
            self._units = ahead
            if ahead and not self._fits(unit):
                if _is_said_by(ahead, unit):
                    self._units = []
                yield from self._flush()
        self._units.append(unit)

    def _fits(self, unit: _Unit) -> bool:
        first = self._units[0] if self._units else unit
        return len(self._context(first)) + unit.end - first.start <= self._max

    def _length(self) -> int:
        return self._units[-1].end - self._units[0].start if self._units else 0

    def _room(self, path: tuple[str, ...], head: str = "") -> int:
        return self._max - len(self._prefix(path)) - len(head)

    def _flush(self) -> Iterator[_Cut]:
        if not self._units:
            return
        first, last = self._units[0], self._units[-1]
        body = self._text[first.start : last.end]
        path = next((unit.path for unit in self._units if not unit.is_heading), last.path)
        # What has no letter and no digit is a rule, or the remains of a picture.
        if any(map(str.isalnum, body)):
            yield _Cut(first.start, last.end, path, self._context(first) + body)
        self._units = []

    def _context(self, first: _Unit) -> str:
        """Give what comes before a chunk's own text."""
        return self._prefix(first.path[:-1] if first.is_heading else first.path) + first.head

    def _prefix(self, path: tuple[str, ...]) -> str:
        """Give the line with the headings above a chunk; of a path too long, its inner end."""
        longest = self._max // 5
        line = _PATH_SEPARATOR.join(path)
        if len(line) > longest:
            line = "\u2026" + line[len(line) - longest + 1 :]
        return f"{line}\n\n" if line else ""


def _is_said_by(headings: Sequence[_Unit], unit: _Unit) -> bool:
    """Whether the headings are all above a unit, so that the line with its path says them."""
    return all(heading.path == unit.path[: len(heading.path)] for heading in headings)


@dataclass(frozen=True, slots=True)
class _Path:
    """The headings in force, with their levels; under a page's label, if it has one."""

    label: str = ""
    headings: tuple[tuple[int, str], ...] = ()

    @property
    def titles(self) -> tuple[str, ...]:
        titles = tuple(title for _, title in self.headings)
        return (self.label, *titles) if self.label and titles[:1] != (self.label,) else titles

    def below(self, block: Block) -> "_Path":
        above = tuple(heading for heading in self.headings if heading[0] < block.level)
        return replace(self, headings=(*above, (block.level, block.title)))
