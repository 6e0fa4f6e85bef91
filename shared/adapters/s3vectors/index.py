"""The port ``Index`` on Amazon S3 Vectors: the service finds by vector and by words, and fuses the two."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.adapters.chunk_places import chunk_at, place_of
from shared.adapters.s3vectors.schema import (
    DOCUMENT_ID,
    FILTER_VALUES,
    PLACE,
    QUERY_TEXT_CHARS,
    TEXT,
    USER_ID,
    VECTORS_A_WRITE,
)
from shared.domain.errors import CorruptItemError, InvalidInputError, StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.fusion import fuse_ranks
from shared.domain.kb.hits import Hit, Vector
from shared.kb_ports import MAX_HITS

if TYPE_CHECKING:
    from mypy_boto3_s3vectors import S3VectorsClient

T = TypeVar("T")

# A user id holds no white space, so a user's keys start as no other's do.
_USER_END: Final = " "

_log = logging.getLogger(__name__)


class S3VectorsIndex:
    """The port ``Index`` on one vector index that all users share.

    Every key starts with its user and every query filters by one, which the service does before it searches. The
    role needs ``s3vectors:QueryVectors``, ``GetVectors`` (for filters, texts and metadata), ``PutVectors`` and
    ``DeleteVectors``.

    Parameters
    ----------
    client : S3VectorsClient
        A low-level client.
    index_arn : str
        The index, set up as ``shared.adapters.s3vectors.schema`` says.
    dimension : int
        The index's.
    """

    def __init__(self, client: "S3VectorsClient", index_arn: str, *, dimension: int) -> None:
        self._client = client
        self._arn = index_arn
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        return self._dimension

    async def upsert(self, user: UserId, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        """Put the vectors with their chunks as metadata, 500 a call."""
        if len(chunks) != len(vectors):
            raise InvalidInputError("Each chunk needs one vector.")
        for vector in vectors:
            self._check(vector)
        # One call may not name a key twice; of a chunk that comes twice the last counts.
        puts = {
            chunk.id: {
                "key": _key(user, chunk.id),
                "data": _data(vector),
                "metadata": {
                    USER_ID: user,
                    DOCUMENT_ID: chunk.place.document_id,
                    TEXT: chunk.text,
                    PLACE: place_of(chunk),
                },
            }
            for chunk, vector in zip(chunks, vectors, strict=True)
        }
        for batch in _batches(list(puts.values()), VECTORS_A_WRITE):
            await self._send(self._client.put_vectors, vectors=batch)

    async def delete(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Delete by key, 500 a call."""
        await self._delete_keys([_key(user, chunk_id) for chunk_id in dict.fromkeys(chunk_ids)])

    async def query(
        self,
        user: UserId,
        *,
        vector: Vector | None = None,
        text: str = "",
        k: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> Sequence[Hit]:
        """Search, in one call unless it is narrowed to more documents than one filter may name."""
        if vector is not None:
            self._check(vector)
        request: dict[str, Any] = {"topK": min(k, MAX_HITS), "returnMetadata": True}
        if text.strip():
            request["queryTexts"] = [{"text": text[:QUERY_TEXT_CHARS], "metadataKey": TEXT}]
            request["returnScores"] = True
        if vector is not None:
            request["queryVector"] = _data(vector)
            request["returnDistance"] = True
        if "queryTexts" not in request and vector is None:
            return ()
        found = [
            _Found(user, reply) for scope in _scopes(user, documents) for reply in await self._query(request, scope)
        ]
        if documents is None or len(documents) <= FILTER_VALUES:
            return _hits((each, each.score) for each in found)
        return _hits(_merged(found)[:k])

    async def purge(self, user: UserId) -> None:
        """Delete what a search for the user finds, until it finds nothing.

        Raises
        ------
        StoreError
            Also when what was deleted is still found.
        """
        anything: Vector = [1.0, *[0.0] * (self._dimension - 1)]
        request = {"topK": MAX_HITS, "queryVector": _data(anything)}
        deleted: set[str] = set()
        while keys := {reply["key"] for reply in await self._query(request, _filter(user))}:
            if keys <= deleted:
                raise StoreError("S3 Vectors still finds what was deleted.")
            deleted |= keys
            await self._delete_keys(sorted(keys))

    def _check(self, vector: Vector) -> None:
        if len(vector) != self._dimension:
            raise InvalidInputError(f"The index has {self._dimension} dimensions and the vector {len(vector)}.")

    async def _delete_keys(self, keys: Sequence[str]) -> None:
        for batch in _batches(keys, VECTORS_A_WRITE):
            await self._send(self._client.delete_vectors, keys=batch)

    async def _query(self, request: Mapping[str, Any], scope: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        reply = await self._send(self._client.query_vectors, filter=scope, **request)
        return reply["vectors"]

    async def _send(self, call: Callable[..., Any], **request: Any) -> Mapping[str, Any]:  # noqa: ANN401
        try:
            return await in_thread(call, indexArn=self._arn, **request)
        except ClientError as error:
            # The code only: the service's messages may quote what was sent.
            code = error.response.get("Error", {}).get("Code", "")
            raise StoreError(f"S3 Vectors refused {error.operation_name}: {code}.") from error
        except BotoCoreError as error:
            raise StoreError(f"S3 Vectors did not answer: {type(error).__name__}.") from error


class _Found:
    """One vector of a reply, with the scores that the request's kind of search has."""

    __slots__ = ("_id", "_metadata", "distance", "fused", "words")

    def __init__(self, user: UserId, reply: Mapping[str, Any]) -> None:
        scores: Mapping[str, Any] = reply.get("scores", {})
        by_words: Sequence[Mapping[str, Any]] = scores.get("bm25Scores", ())
        self._id: str = reply["key"][len(_key(user, "")) :]
        self._metadata: Mapping[str, str] = reply["metadata"]
        self.distance: float | None = scores.get("vectorDistance", reply.get("distance"))
        self.words: float | None = by_words[0]["score"] if by_words else None
        self.fused: float | None = scores.get("fused")

    @property
    def score(self) -> float:
        if self.fused is not None:
            return self.fused
        if self.words is not None:
            return self.words
        return 1.0 - (1.0 if self.distance is None else self.distance)

    def chunk(self) -> Chunk:
        return chunk_at(self._id, self._metadata.get(TEXT, ""), self._metadata.get(PLACE, ""))


def _hits(scored: Iterable[tuple[_Found, float]]) -> list[Hit]:
    hits: list[Hit] = []
    for found, score in scored:
        try:
            hits.append(Hit(found.chunk(), score))
        except CorruptItemError as error:
            # One chunk less to be found; the document can be processed again.
            _log.warning("indexed chunk skipped", extra={"reason": str(error)})
    return hits


def _merged(found: Sequence[_Found]) -> list[tuple[_Found, float]]:
    """Rank what several searches found: a fused score tells a rank in one of them, the scores behind it compare."""
    nearest = sorted((each for each in found if each.distance is not None), key=lambda each: each.distance or 0.0)
    wordiest = sorted((each for each in found if each.words is not None), key=lambda each: -(each.words or 0.0))
    if nearest and wordiest:
        return fuse_ranks(wordiest, nearest)
    return [(each, each.score) for each in nearest or wordiest]


def _scopes(user: UserId, documents: Sequence[DocumentId] | None) -> Iterator[Mapping[str, Any]]:
    if documents is None:
        yield _filter(user)
    else:
        for some in _batches(documents, FILTER_VALUES):
            yield _filter(user, some)


def _filter(user: UserId, documents: Sequence[DocumentId] | None = None) -> Mapping[str, Any]:
    mine = {USER_ID: {"$eq": user}}
    return mine if documents is None else {"$and": [mine, {DOCUMENT_ID: {"$in": list(documents)}}]}


def _key(user: UserId, chunk_id: str) -> str:
    return f"{user}{_USER_END}{chunk_id}"


def _data(vector: Vector) -> dict[str, list[float]]:
    # Plain floats: JSON knows no others.
    return {"float32": [float(number) for number in vector]}


def _batches(things: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(things), size):
        yield list(things[start : start + size])
