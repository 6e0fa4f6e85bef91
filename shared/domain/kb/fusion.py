"""One ranking from several."""

from collections.abc import Hashable, Iterable
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

RANK_OFFSET: Final = 60
"""k of reciprocal rank fusion: the larger, the less a first place counts."""


def fuse_ranks(*rankings: Iterable[T]) -> list[tuple[T, float]]:
    """Fuse rankings by reciprocal rank (row KB24).

    Parameters
    ----------
    *rankings : iterable
        Each the best first and each thing once; what one does not name gets nothing from it.

    Returns
    -------
    list of tuple
        Every thing that was named and its score, the best first; of equals, the one named first.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, thing in enumerate(ranking, start=1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (RANK_OFFSET + rank)
    return sorted(scores.items(), key=lambda scored: -scored[1])
