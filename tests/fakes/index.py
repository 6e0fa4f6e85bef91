"""An index, kept in memory and without numpy: what every index has to give."""

import math
from collections.abc import Iterable, Sequence

from shared.domain.errors import InvalidInputError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.bm25 import Postings, bm25_scores
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.fusion import fuse_ranks
from shared.domain.kb.hits import Hit, Vector
from tests.fakes.faults import Faults


class InMemoryIndex(Faults):
    """Implements ``Index``; ``kept`` holds every user's chunks by their ids."""

    def __init__(self, dimension: int = 3) -> None:
        super().__init__()
        self._dimension = dimension
        self.kept: dict[UserId, dict[str, tuple[Chunk, tuple[float, ...]]]] = {}

    @property
    def dimension(self) -> int:
        return self._dimension

    async def upsert(self, user: UserId, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        self._called("upsert")
        if len(chunks) != len(vectors) or any(len(vector) != self._dimension for vector in vectors):
            raise InvalidInputError("One vector of the index's dimension for each chunk.")
        for chunk, vector in zip(chunks, vectors, strict=True):
            self.kept.setdefault(user, {})[chunk.id] = (chunk, tuple(vector))

    async def delete(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        self._called("delete")
        for chunk_id in chunk_ids:
            self.kept.get(user, {}).pop(chunk_id, None)

    async def query(
        self,
        user: UserId,
        *,
        vector: Vector | None = None,
        text: str = "",
        k: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> Sequence[Hit]:
        self._called("query")
        if vector is not None and len(vector) != self._dimension:
            raise InvalidInputError("The vector has another dimension than the index.")
        kept = [
            each
            for each in self.kept.get(user, {}).values()
            if documents is None or each[0].place.document_id in documents
        ]
        rankings: list[dict[int, float]] = []
        if text:
            scores = bm25_scores(text, [Postings(chunk.text for chunk, _ in kept)])
            rankings.append({place: score for (_, place), score in scores.items()})
        if vector is not None:
            rankings.append({n: _cosine(vector, other) for n, (_, other) in enumerate(kept)})
        if len(rankings) == 1:
            ranked = sorted(rankings[0].items(), key=lambda scored: -scored[1])
        else:
            ranked = fuse_ranks(*(sorted(scores, key=lambda n, by=scores: -by[n]) for scores in rankings))
        return [Hit(kept[n][0], score) for n, score in ranked[:k]]

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept.pop(user, None)


def _cosine(one: Vector, other: Vector) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
