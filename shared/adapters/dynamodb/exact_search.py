"""Ranking chunks in memory, every one of them: by cosine, by BM25, by both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, TypeAlias

import numpy as np

from shared.adapters.dynamodb.packed_vectors import Matrix, unit_rows
from shared.domain.kb.bm25 import Postings, bm25_scores
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.fusion import fuse_ranks
from shared.domain.kb.hits import Hit, Vector

# How far down each ranking is looked at when they are fused.
_DEPTH: Final = 200

_Place: TypeAlias = tuple[int, int]
"""Number of the part, number of the chunk in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The chunks of one version of a document, ready to be ranked.

    Parameters
    ----------
    token : str
        Changes with what is stored; tells whether this is still it.
    chunks : tuple of Chunk
        The chunks.
    directions : array
        A row of length 1 for each.
    postings : Postings
        Their words.
    """

    token: str
    chunks: tuple[Chunk, ...]
    directions: Matrix
    postings: Postings

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        # The words take about as much as the text they are of.
        return self.directions.nbytes + 2 * sum(len(chunk.text) for chunk in self.chunks)


def ranked(parts: Sequence[Part], *, vector: Vector | None, text: str, k: int) -> list[Hit]:
    """Rank the chunks of some parts, the best first."""
    depth = max(k, _DEPTH)
    rankings: list[list[tuple[_Place, float]]] = []
    # Words first: of two chunks that are first and second the other way round, the one with the very words is named.
    if text:
        rankings.append(_best(bm25_scores(text, [part.postings for part in parts]).items(), depth))
    if vector is not None:
        rankings.append(_by_direction(parts, vector, depth))
    if len(rankings) != 1:
        rankings = [fuse_ranks(*([place for place, _ in ranking] for ranking in rankings))]
    return [Hit(parts[part].chunks[chunk], score) for (part, chunk), score in rankings[0][:k]]


def _by_direction(parts: Sequence[Part], vector: Vector, depth: int) -> list[tuple[_Place, float]]:
    if not parts:
        return []
    direction = unit_rows(np.asarray([vector], dtype=np.float32))[0]
    cosines = np.concatenate([part.directions @ direction for part in parts])
    nearest = np.argsort(-cosines, kind="stable")[:depth]
    # From the place in all the cosines to the part and the place in it.
    sizes = np.array([len(part.chunks) for part in parts])
    ends = np.cumsum(sizes)
    of_part = np.searchsorted(ends, nearest, side="right")
    starts = ends - sizes
    places = zip(of_part.tolist(), (nearest - starts[of_part]).tolist(), strict=True)
    return list(zip(places, cosines[nearest].tolist(), strict=True))


def _best(scored: Iterable[tuple[_Place, float]], depth: int) -> list[tuple[_Place, float]]:
    return nsmallest(depth, scored, key=lambda each: (-each[1], each[0]))
