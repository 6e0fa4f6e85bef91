"""Where a chunk is in its document, as one text to be stored beside the chunk's own."""

import json
from typing import Any, Final

from shared.domain.errors import CorruptItemError
from shared.domain.kb.chunks import Chunk

# Short, because an index keeps one for every chunk.
_HEADINGS: Final = "h"
_PAGES: Final = "p"
_OFFSETS: Final = "o"


def place_of(chunk: Chunk) -> str:
    """Write down pages, offsets and headings, as compact JSON."""
    place = {
        _HEADINGS: chunk.heading_path,
        _PAGES: (chunk.page_from, chunk.page_to),
        _OFFSETS: (chunk.start, chunk.end),
    }
    return json.dumps(place, ensure_ascii=False, separators=(",", ":"))


def chunk_at(chunk_id: str, text: str, place: str) -> Chunk:
    """Give back the chunk that :func:`place_of` was given.

    Raises
    ------
    CorruptItemError
        When the place is nothing that :func:`place_of` writes.
    """
    try:
        read: dict[str, Any] = json.loads(place)
        page_from, page_to = map(int, read[_PAGES])
        start, end = map(int, read[_OFFSETS])
        headings = tuple(map(str, read[_HEADINGS]))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptItemError("A chunk's place cannot be read.") from error
    return Chunk(
        id=chunk_id,
        text=text,
        heading_path=headings,
        page_from=page_from,
        page_to=page_to,
        start=start,
        end=end,
    )
