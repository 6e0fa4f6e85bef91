"""The chunks of documents."""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from shared.adapters.chunk_places import chunk_at, place_of
from shared.adapters.dynamodb.items import Key, StoredItem, row_of
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import CHUNK_ROW, END, PLACE, TEXT, decode_key, encode_part, row_key, row_prefix
from shared.adapters.dynamodb.writes import Put
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id, parse_chunk_id

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# As many digits as a chunk's id may have, so that the order of the text is that of the numbers.
_DIGITS: Final = 18


class DynamoChunks:
    """The port ``ChunkStore`` on the memory table.

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

    async def save(self, user: UserId, chunks: Sequence[Chunk]) -> None:
        """Write rows, 25 a request."""
        await self._rows.write_all(
            Put(key=_key(user, chunk.id), attributes={TEXT: chunk.text, PLACE: place_of(chunk)}) for chunk in chunks
        )

    async def of_document(self, user: UserId, document: DocumentId, version: int, *, limit: int) -> Sequence[Chunk]:
        """Read the first rows of a version: one query a megabyte, no further than the last that is wanted."""
        chunks: list[Chunk] = []
        prefix = row_prefix(CHUNK_ROW, document, _padded(version))
        pages = self._rows.pages(encode_part(user), prefix, page_size=max(limit, 1))
        async with aclosing(pages):
            async for page in pages:
                chunks += [chunk_at(_id(item), item.text(TEXT), item.text(PLACE)) for item in page]
                if len(chunks) >= limit:
                    break
        return chunks[:limit]

    async def ids(self, user: UserId, document: DocumentId) -> Sequence[str]:
        """Read the keys of a document's rows."""
        pages = self._rows.pages(encode_part(user), row_prefix(CHUNK_ROW, document), attributes=(PLACE,))
        return [_id(item) async for page in pages for item in page]

    async def remove(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Remove rows, 25 a request."""
        await self._rows.write_all(deletes=[_key(user, each) for each in dict.fromkeys(chunk_ids)])

    async def purge(self, user: UserId) -> None:
        """Remove every chunk's row of a user."""
        await remove_rows(self._rows, user, row_prefix(CHUNK_ROW))


def _key(user: UserId, chunk: str) -> Key:
    place = parse_chunk_id(chunk)
    return row_of(user, row_key(CHUNK_ROW, place.document_id, _padded(place.version), _padded(place.number)))


def _id(item: StoredItem) -> str:
    (_, document, version), number = decode_key(item.key[1].removeprefix(END))
    return chunk_id(DocumentId(document), int(version), int(number))


def _padded(number: int) -> str:
    return f"{number:0{_DIGITS}d}"
