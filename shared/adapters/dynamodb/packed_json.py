"""JSON in few bytes, for what is kept of documents and runs: a write costs by the kilobyte."""

import json
import zlib
from typing import Any, Final

from shared.domain.json_text import compact_json

SMALLEST: Final = 9
"""A level for what is small and should stay within a write unit."""


def pack(value: object, *, level: int = zlib.Z_DEFAULT_COMPRESSION) -> bytes:
    """Write a value as JSON, compressed.

    Parameters
    ----------
    value : object
        Anything that JSON can say.
    level : int, optional
        As ``zlib`` takes it.

    Raises
    ------
    NotJsonError
        When it is no JSON value.
    """
    return zlib.compress(compact_json(value).encode(), level)


def unpack(packed: bytes, *, limit: int) -> Any:  # noqa: ANN401 - any JSON
    """Read back what :func:`pack` wrote.

    Parameters
    ----------
    packed : bytes
        As it was stored.
    limit : int
        Bytes of JSON that are taken; a damaged item must not fill the memory.

    Raises
    ------
    ValueError
        When it is damaged, not whole, or more than the limit.
    """
    inflate = zlib.decompressobj()
    try:
        text = inflate.decompress(packed, limit)
    except zlib.error as error:
        raise ValueError("It cannot be unpacked.") from error
    if not inflate.eof:
        raise ValueError("It is not whole, or too large.")
    return json.loads(text)
