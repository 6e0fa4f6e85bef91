"""Vectors in a byte for each dimension.

A search compares directions only, so each vector is scaled to use the whole range of a byte and its length is
forgotten. Beside 32-bit floats that is a quarter of the storage and of what a read costs; what it does to the order of
results is measured in ``bench/retrieval.py``.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from shared.domain.kb.hits import Vector

Matrix: TypeAlias = npt.NDArray[np.float32]

_LARGEST: Final = 127


def pack(vector: Vector) -> bytes:
    """Give a vector's direction, one signed byte a dimension."""
    numbers = np.asarray(vector, dtype=np.float32)
    largest = np.abs(numbers).max(initial=0.0)
    return np.rint(numbers * (_LARGEST / largest if largest else 0.0)).astype(np.int8).tobytes()


def unpack(packed: Sequence[bytes], dimension: int) -> Matrix:
    """Give one row of length 1 for each packed vector; all zeros for one without a direction."""
    rows = np.frombuffer(b"".join(packed), dtype=np.int8).reshape(len(packed), dimension)
    return unit_rows(rows.astype(np.float32))


def unit_rows(rows: Matrix) -> Matrix:
    """Scale each row to length 1, but for rows of zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths, lengths, 1.0)).astype(np.float32, copy=False)
