"""The index that a deployment's settings name."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from shared.adapters import aws
from shared.adapters.s3vectors.index import S3VectorsIndex
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.hits import Hit, Vector
from shared.kb_ports import Index
from shared.settings import KnowledgeIndexKnobs


def knowledge_index(
    knobs: KnowledgeIndexKnobs, memory_table: str, *, client_of: Callable[[str], Any] = aws.client
) -> Index:
    """Make the index.

    Parameters
    ----------
    knobs : KnowledgeIndexKnobs
        Name an index on S3 Vectors, or none for the exact one.
    memory_table : str
        Where the exact index keeps its vectors.
    client_of : callable
        Gives the client of a service by boto3's name for it.
    """
    if knobs.vector_index_arn:
        return S3VectorsIndex(client_of("s3vectors"), knobs.vector_index_arn, dimension=knobs.embedding_dimension)
    # Not at the top: it needs numpy, which functions that search elsewhere do not carry.
    from shared.adapters.dynamodb.exact_index import DynamoExactIndex

    return DynamoExactIndex(client_of("dynamodb"), memory_table, dimension=knobs.embedding_dimension)


class DeferredIndex:
    """The port ``Index``, made when it is first used: a function that seldom searches starts without paying for it.

    Parameters
    ----------
    make : callable
        Makes the index; called in a thread, once.
    dimension : int
        Of its vectors.
    """

    def __init__(self, make: Callable[[], Index], *, dimension: int) -> None:
        self._make = make
        self._dimension = dimension
        self._index: Index | None = None
        self._making = asyncio.Lock()

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        return self._dimension

    async def upsert(self, user: UserId, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        """Have it done."""
        await (await self._made()).upsert(user, chunks, vectors)

    async def delete(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Have it done."""
        await (await self._made()).delete(user, chunk_ids)

    async def query(
        self,
        user: UserId,
        *,
        vector: Vector | None = None,
        text: str = "",
        k: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> Sequence[Hit]:
        """Have it done."""
        return await (await self._made()).query(user, vector=vector, text=text, k=k, documents=documents)

    async def purge(self, user: UserId) -> None:
        """Have it done."""
        await (await self._made()).purge(user)

    async def _made(self) -> Index:
        async with self._making:
            if self._index is None:
                # Importing numpy takes a tenth of a second, in which other answers are streamed.
                self._index = await aws.in_thread(self._make)
        return self._index
