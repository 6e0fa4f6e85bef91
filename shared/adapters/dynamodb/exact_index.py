"""An index without a service of its own: vectors in the memory table, every chunk of the user compared.

Right for tests, for one machine, and for deployments whose users have some thousands of chunks each. Needs numpy,
which no other module of the product does: the functions of a deployment that searches elsewhere do not carry it.
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import uuid4

from shared.adapters.aws import in_thread
from shared.adapters.chunk_places import chunk_at, place_of
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.exact_search import Part, ranked
from shared.adapters.dynamodb.items import Key, StoredItem, row_of
from shared.adapters.dynamodb.packed_vectors import pack, unpack
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    INDEX_PART_ROW,
    INDEXED_CHUNK_ROW,
    PLACE,
    TEXT,
    TOKEN,
    TTL,
    VECTOR,
    decode_key,
    encode_part,
    row_key,
    row_prefix,
)
from shared.adapters.dynamodb.writes import Put, Update
from shared.domain.errors import CorruptItemError, InvalidInputError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.bm25 import Postings
from shared.domain.kb.chunks import Chunk, chunk_id, parse_chunk_id
from shared.domain.kb.hits import Hit, Vector
from shared.kb_ports import MAX_HITS
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CACHE_BYTES: Final = 256 * 1024 * 1024
"""About how much a process keeps in memory of the users it searched last."""

# With more parts than this to read, the whole of the user's index is read in one go.
_FEW_PARTS: Final = 8

_PartKey: TypeAlias = tuple[str, str]
"""Document and version, as they stand in a sort key."""

_log = logging.getLogger(__name__)


class DynamoExactIndex:
    """The port ``Index`` on the memory table.

    A user's chunks are rows of the user's partition. Beside them each part (what one version of a document has) has
    a small row with a token that changes with every write. A query reads those, and of the chunks only what this
    process has not got, or not as it is now.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    dimension : int
        Of the vectors. Chunks that were stored with another are not found.
    clock : Clock, optional
        The time of day; the system's unless told otherwise.
    pause : callable
        Waits between tries.
    cache_bytes : int
        About how much to keep in memory. The user that is being searched is kept, whatever that takes.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        dimension: int,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._clock = clock or SystemClock()
        self._rows = Rows(client, table_name, clock=self._clock, pause=pause)
        self._dimension = dimension
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[UserId, dict[_PartKey, Part]] = OrderedDict()

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        return self._dimension

    async def upsert(self, user: UserId, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        """Write the chunks' rows, then their parts' tokens, which make them found."""
        if len(chunks) != len(vectors):
            raise InvalidInputError("Each chunk needs one vector.")
        for vector in vectors:
            self._check(vector)
        puts = {
            chunk.id: Put(
                key=_chunk_row(user, chunk.id),
                attributes={TEXT: chunk.text, PLACE: place_of(chunk), VECTOR: pack(vector)},
            )
            for chunk, vector in zip(chunks, vectors, strict=True)
        }
        await self._rows.write_all(puts.values())
        for part in dict.fromkeys(map(_part_of, puts)):
            await self._rows.update(_new_token(user, part))

    async def delete(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Remove the chunks' rows; a part without chunks is forgotten."""
        doomed: defaultdict[_PartKey, list[Key]] = defaultdict(list)
        for each in dict.fromkeys(chunk_ids):
            doomed[_part_of(each)].append(_chunk_row(user, each))
        for part, keys in doomed.items():
            known = await self._rows.get(_part_row(user, part))
            await self._rows.write_all(deletes=keys)
            # Without the part's row no query looks at the chunks.
            if known is not None:
                await self._retoken(user, part, known.text(TOKEN))

    async def query(
        self,
        user: UserId,
        *,
        vector: Vector | None = None,
        text: str = "",
        k: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> Sequence[Hit]:
        """Compare every chunk; one read when nothing has changed since the last query."""
        if vector is not None:
            self._check(vector)
        if documents is not None and not documents:
            return ()
        library = await self._library(user)
        parts = [part for (document, _), part in library.items() if documents is None or document in documents]
        return await in_thread(ranked, parts, vector=vector, text=text, k=min(k, MAX_HITS))

    async def purge(self, user: UserId) -> None:
        """Remove every row of the index in the user's partition."""
        self._cache.pop(user, None)
        for kind in (INDEX_PART_ROW, INDEXED_CHUNK_ROW):
            async for page in self._rows.pages(encode_part(user), row_prefix(kind), attributes=(TOKEN,), expired=True):
                await self._rows.write_all(deletes=[item.key for item in page])

    def _check(self, vector: Vector) -> None:
        if len(vector) != self._dimension:
            raise InvalidInputError(f"The index has {self._dimension} dimensions and the vector {len(vector)}.")

    async def _retoken(self, user: UserId, part: _PartKey, token: str) -> None:
        """Let queries see that chunks went away; with the last of them the part goes."""
        remaining = self._rows.pages(encode_part(user), _part_prefix(part), attributes=(TOKEN,), page_size=1)
        if not [item async for page in remaining for item in page]:
            gone = Update(
                key=_part_row(user, part),
                sets=(f"#{TTL} = :now",),
                # Somebody may have written to the part meanwhile.
                condition=f"#{TOKEN} = :token",
                values={"now": int(self._clock.now().timestamp()), "token": token},
            )
            try:
                await self._rows.update(gone)
            except ConditionFailedError:
                pass
            else:
                return
        await self._rows.update(_new_token(user, part))

    async def _library(self, user: UserId) -> Mapping[_PartKey, Part]:
        """Give the user's parts as they are now."""
        tokens = {
            _part_key(item): item.text(TOKEN)
            async for page in self._rows.pages(encode_part(user), row_prefix(INDEX_PART_ROW))
            for item in page
        }
        known = self._cache.get(user, {})
        library = {key: known[key] for key in tokens if key in known and known[key].token == tokens[key]}
        library |= await self._read(user, {key: token for key, token in tokens.items() if key not in library})
        self._keep(user, library)
        return library

    async def _read(self, user: UserId, tokens: Mapping[_PartKey, str]) -> dict[_PartKey, Part]:
        prefixes = map(_part_prefix, tokens) if len(tokens) <= _FEW_PARTS else [row_prefix(INDEXED_CHUNK_ROW)]
        items: defaultdict[_PartKey, list[StoredItem]] = defaultdict(list)
        for page in await asyncio.gather(*(self._all(user, prefix) for prefix in prefixes)):
            for item in page:
                items[_part_key(item)].append(item)
        return {key: await in_thread(_part, token, items[key], self._dimension) for key, token in tokens.items()}

    async def _all(self, user: UserId, prefix: str) -> list[StoredItem]:
        return [item async for page in self._rows.pages(encode_part(user), prefix) for item in page]

    def _keep(self, user: UserId, library: dict[_PartKey, Part]) -> None:
        self._cache[user] = library
        self._cache.move_to_end(user)
        sizes = {each: sum(part.size for part in parts.values()) for each, parts in self._cache.items()}
        while len(self._cache) > 1 and sum(sizes.values()) > self._cache_bytes:
            forgotten, _ = self._cache.popitem(last=False)
            del sizes[forgotten]


def _part(token: str, items: Sequence[StoredItem], dimension: int) -> Part:
    chunks: list[Chunk] = []
    packed: list[bytes] = []
    for item in items:
        document, version = _part_key(item)
        try:
            vector = item.blob(VECTOR)
            if len(vector) != dimension:
                raise CorruptItemError("The vector has another dimension than the index.")
            number = decode_key(item.key[1])[1]
            chunks.append(
                chunk_at(chunk_id(DocumentId(document), int(version), int(number)), item.text(TEXT), item.text(PLACE))
            )
        except CorruptItemError as error:
            # One chunk less to be found; the document can be processed again.
            _log.warning("indexed chunk skipped", extra={"document_id": document, "reason": str(error)})
            continue
        packed.append(vector)
    return Part(token, tuple(chunks), unpack(packed, dimension), Postings(chunk.text for chunk in chunks))


def _part_of(chunk: str) -> _PartKey:
    place = parse_chunk_id(chunk)
    return place.document_id, str(place.version)


def _part_key(item: StoredItem) -> _PartKey:
    leading, last = decode_key(item.key[1])
    # Behind the kind of the row; a chunk's key ends with its number.
    document, version = (*leading[2:], last)[:2]
    return document, version


def _chunk_row(user: UserId, chunk: str) -> Key:
    return row_of(user, row_key(INDEXED_CHUNK_ROW, *_part_of(chunk), str(parse_chunk_id(chunk).number)))


def _part_row(user: UserId, part: _PartKey) -> Key:
    return row_of(user, row_key(INDEX_PART_ROW, *part))


def _part_prefix(part: _PartKey) -> str:
    return row_prefix(INDEXED_CHUNK_ROW, *part)


def _new_token(user: UserId, part: _PartKey) -> Update:
    return Update(
        key=_part_row(user, part),
        sets=(f"#{TOKEN} = :token",),
        removes=(TTL,),
        values={"token": uuid4().hex},
    )
