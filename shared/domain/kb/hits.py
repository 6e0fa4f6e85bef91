"""What a search of the knowledge base finds, before it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from shared.domain.kb.chunks import Chunk

Vector: TypeAlias = Sequence[float]
"""Plain floats, as many as the index has dimensions; only the direction counts."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that fits a question.

    Parameters
    ----------
    chunk : Chunk
        Of any version of its document: whether that is live is for the caller to look up.
    score : float
        The higher, the better; means nothing outside its query.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """A document that can be searched.

    Parameters
    ----------
    name : str
        What its user calls it.
    version : int
        The version that readers see.
    """

    name: str
    version: int
