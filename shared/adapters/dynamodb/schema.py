"""Table, key, index and attribute names, and the encoding of keys; infra reads this module too.

The memory table holds everything a user has but the checkpoints: store items (LangGraph's namespaces) and the
product's own rows stand in one partition, so that export and purge are queries. Store items' sort keys start with
the encoding of a namespace label or key, which never starts with ``!``; rows of our own start with ``!``.

Encoding
--------
A tuple of strings becomes one string. ``!`` (U+0021) ends a part and sorts before everything that may stand in one;
the characters up to ``#`` (U+0023) are written as ``"`` (U+0022) and one more character. So no part can forge a
boundary, equal strings come only from equal tuples, and DynamoDB's order (UTF-8 bytes, which is code point order)
is the tuples' order.
"""

from collections.abc import Sequence
from typing import Final

from shared.domain.errors import InvalidIdError

PK: Final = "pk"
SK: Final = "sk"
TTL: Final = "ttl"
SCHEMA_VERSION: Final = "schema_version"

VALUE: Final = "value"
"""A store item's value as one compact JSON string: numbers, nulls and nesting come back exactly as they were put."""
CREATED_AT: Final = "created_at"
UPDATED_AT: Final = "updated_at"

LAST_MESSAGE_INDEX: Final = "by_last_message"
"""Local secondary index of the memory table: a user's thread rows by last message. Sparse: only they carry the key.
Local, because a list must show a created thread and hide a deleted one at once, which needs consistent reads."""
LAST_MESSAGE_AT: Final = "last_message_at"

END: Final = "!"
_ESCAPE: Final = '"'
_LAST_ESCAPED: Final = "#"
_SHIFT: Final = 0x40


def encode_part(text: str) -> str:
    """Encode one part of a key.

    Raises
    ------
    InvalidIdError
        When the text holds a lone surrogate, which has no UTF-8 form.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidIdError("A key may not hold a lone surrogate.") from error
    return "".join(_ESCAPE + chr(_SHIFT + ord(char)) if char <= _LAST_ESCAPED else char for char in text)


def decode_part(encoded: str) -> str:
    """Give back what :func:`encode_part` was given."""
    chars = iter(encoded)
    return "".join(chr(ord(next(chars)) - _SHIFT) if char == _ESCAPE else char for char in chars)


def encode_prefix(parts: Sequence[str]) -> str:
    """Encode the leading parts of a key; no key of other parts starts with the result."""
    return "".join(encode_part(part) + END for part in parts)


def encode_key(parts: Sequence[str], last: str) -> str:
    """Encode a whole key: leading parts, then the last one."""
    return encode_prefix(parts) + encode_part(last)


def decode_key(encoded: str) -> tuple[tuple[str, ...], str]:
    """Give back what :func:`encode_key` was given."""
    *parts, last = encoded.split(END)
    return tuple(decode_part(part) for part in parts), decode_part(last)


def row_key(kind: str, *parts: str) -> str:
    """Encode the sort key of a row of our own, which no store item can have."""
    return END + encode_key((kind, *parts[:-1]), parts[-1])


def row_prefix(kind: str, *parts: str) -> str:
    """Encode the common start of the sort keys of rows of our own."""
    return END + encode_prefix((kind, *parts))
