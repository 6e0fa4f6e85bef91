"""A chunk: the part of a document that is embedded, found and cited as one."""

import re
from dataclasses import dataclass
from typing import Final

from shared.domain.errors import InvalidIdError
from shared.domain.ids import DocumentId, parse_document_id

_CHUNK_ID: Final = re.compile(r"(?P<document>[^:]+):(?P<version>0|[1-9]\d{0,17}):(?P<number>0|[1-9]\d{0,17})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """What a chunk's id says.

    Parameters
    ----------
    document_id : str
        The document.
    version : int
        Which reading of the document; chunks of one that is not live are never shown.
    number : int
        Counts the chunks of that version, from 0.
    """

    document_id: DocumentId
    version: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document.

    Parameters
    ----------
    id : str
        ``document:version:number``; the same bytes give the same chunks under the same ids.
    text : str
        What is embedded, searched and shown: the headings it stands under, for the later part of a table the table's
        head, and the document's text from ``start`` to ``end``.
    heading_path : tuple of str
        The headings it stands under, outermost first.
    page_from, page_to : int
        The first and the last page it is on; pages are counted from 1.
    start, end : int
        Where it is in the document's text (``shared.domain.kb.pages.DocumentText``), in characters.
    """

    id: str
    text: str
    heading_path: tuple[str, ...]
    page_from: int
    page_to: int
    start: int
    end: int

    @property
    def place(self) -> ChunkPlace:
        """What the id says."""
        return parse_chunk_id(self.id)


def chunk_id(document_id: DocumentId, version: int, number: int) -> str:
    """Give the id of a document's chunk."""
    return f"{document_id}:{version}:{number}"


def parse_chunk_id(value: str) -> ChunkPlace:
    """Read a chunk's id.

    Raises
    ------
    InvalidIdError
        When :func:`chunk_id` never gave it.
    """
    match = _CHUNK_ID.fullmatch(value)
    if match is None:
        raise InvalidIdError("A chunk's id is its document's id, a version and a number.")
    return ChunkPlace(parse_document_id(match["document"]), int(match["version"]), int(match["number"]))
