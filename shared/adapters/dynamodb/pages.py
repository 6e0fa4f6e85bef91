"""The pages of documents. A document of a kind that has no pages is one page, which may not fit one item."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamodb.items import StoredItem, row_of
from shared.adapters.dynamodb.packed_json import pack, unpack
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    BODY,
    END,
    PAGE_ROW,
    PARTS,
    decode_key,
    encode_part,
    row_key,
    row_prefix,
)
from shared.adapters.dynamodb.writes import Put
from shared.domain.errors import CorruptItemError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.pages import Page

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PART_BYTES: Final = 350 * 1024
# Of most documents a page is one item of a few kilobytes.
_ITEMS_A_LOOK: Final = 25
_READING_DIGITS: Final = 18
_NUMBER_DIGITS: Final = 8
# A page may be unpacked to this and no further, whoever wrote it: the parser's own limit on all it gives back.
_MAX_UNPACKED: Final = 128 * 1024 * 1024


class DynamoPages:
    """The port ``PageStore`` on the memory table: a page is packed, and cut into as many items as it takes.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    pause : callable
        Waits between tries.
    """

    def __init__(self, client: "DynamoDBClient", table_name: str, *, pause: Pause = jittered_pause) -> None:
        self._rows = Rows(client, table_name, pause=pause)

    async def save(self, user: UserId, document: DocumentId, reading: int, pages: Sequence[Page]) -> None:
        """Write pages, 25 items a request."""
        await self._rows.write_all(put for page in pages for put in _puts(user, document, reading, page))

    async def of_reading(
        self, user: UserId, document: DocumentId, reading: int, *, characters: int | None = None
    ) -> Sequence[Page]:
        """Read pages, one query a megabyte; when only the first are wanted, a few items a query."""
        parts: defaultdict[int, list[StoredItem]] = defaultdict(list)
        pages: dict[int, Page] = {}
        prefix = row_prefix(PAGE_ROW, document, _padded(reading))
        page_size = None if characters is None else _ITEMS_A_LOOK
        async for items in self._rows.pages(encode_part(user), prefix, page_size=page_size):
            for item in items:
                number = _place(item)[1]
                parts[number].append(item)
                if number not in pages and _is_whole(parts[number]):
                    pages[number] = _page(parts[number])
            if characters is not None and sum(len(page.text) for page in pages.values()) >= characters:
                return [pages[number] for number in sorted(pages)]
        # What is not whole says so.
        return [pages.get(number) or _page(parts[number]) for number in sorted(parts)]

    async def remove(self, user: UserId, document: DocumentId, *, before: int | None = None) -> None:
        """Remove the pages of a document, or of its readings below a number."""
        if before is None:
            await remove_rows(self._rows, user, row_prefix(PAGE_ROW, document))
            return
        pages = self._rows.pages(encode_part(user), row_prefix(PAGE_ROW, document), attributes=(PARTS,))
        async for items in pages:
            await self._rows.write_all(deletes=[item.key for item in items if _place(item)[0] < before])

    async def purge(self, user: UserId) -> None:
        """Remove every page of a user."""
        await remove_rows(self._rows, user, row_prefix(PAGE_ROW))


def _puts(user: UserId, document: DocumentId, reading: int, page: Page) -> Iterator[Put]:
    body = pack(asdict(page))
    parts = [body[start : start + _PART_BYTES] for start in range(0, len(body), _PART_BYTES)]
    for n, part in enumerate(parts):
        key = row_key(PAGE_ROW, document, _padded(reading), f"{page.number:0{_NUMBER_DIGITS}d}", f"{n:03d}")
        yield Put(key=row_of(user, key), attributes={BODY: part, PARTS: len(parts)})


def _place(item: StoredItem) -> tuple[int, int]:
    """Give the reading and the page's number."""
    (_, _, reading, number), _ = decode_key(item.key[1].removeprefix(END))
    return int(reading), int(number)


def _is_whole(items: Sequence[StoredItem]) -> bool:
    return len(items) >= items[0].number(PARTS)


def _page(items: Sequence[StoredItem]) -> Page:
    # Written before with more parts than now: the others are left over.
    count = items[0].number(PARTS)
    try:
        return Page(**unpack(b"".join(item.blob(BODY) for item in items[:count]), limit=_MAX_UNPACKED))
    except (ValueError, TypeError) as error:
        raise CorruptItemError("A page cannot be read.") from error


def _padded(reading: int) -> str:
    return f"{reading:0{_READING_DIGITS}d}"
