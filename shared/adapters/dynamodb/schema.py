"""Table, key, index and attribute names, and the encoding of keys; infra reads this module too.

The memory table holds everything a user has but the checkpoints: store items (LangGraph's namespaces) and the
product's own rows stand in one partition, so that export and purge are queries. Store items' sort keys start with
the encoding of a namespace label or key, which never starts with ``!``; rows of our own start with ``!``.

Encoding
--------
A tuple of strings becomes one string. ``!`` (U+0021) ends a part and sorts before everything that may stand in one;
the characters up to ``#`` (U+0023) are written as ``"`` (U+0022) and one more character. So no part can forge a
boundary, equal strings come only from equal tuples, and DynamoDB's order (UTF-8 bytes, which is code point order)
is the tuples' order. An empty part is written as ``"#``, because DynamoDB refuses empty keys.

Moments are ISO 8601 in UTC with six digits of fraction (:func:`moment`), so that DynamoDB can compare them as text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from shared.domain.errors import InvalidIdError
from shared.domain.json_text import has_utf8_form

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

TTL_SECONDS: Final = "ttl_seconds"
"""How long a store item lives after it was last read or written; moves ``ttl`` on."""

# The profile's item, beside its value.
VERSION: Final = "version"
TOMBSTONES: Final = "tombstones"
ORIGINS: Final = "origins"

# Rows of our own. ``STATE`` is a claim's, ``STATUS`` a thread's or a document's.
THREAD_ROW: Final = "thread"
CLAIM_ROW: Final = "claim"
DOCUMENT_ROW: Final = "document"
RUN_ROW: Final = "run"
RUN_EVENTS_ROW: Final = "run_events"
TRACE_ROW: Final = "trace"

TOKEN: Final = "token"  # noqa: S105 - the name of an attribute
"""Unique to the call that wrote the row, so that the SDK's repeat of a lost reply can be told from a rival."""
STATUS: Final = "status"

TITLE: Final = "title"
PREVIEW: Final = "preview"
METADATA: Final = "metadata"
POLICY: Final = "policy"
CHECKPOINT_ID: Final = "checkpoint_id"
LEASE_RUN: Final = "lease_run"
LEASE_NUMBER: Final = "lease_number"
LEASE_UNTIL: Final = "lease_until"
PENDING: Final = "pending"
CANCEL_REQUESTED: Final = "cancel_requested"
ROLLBACK_REQUESTED: Final = "rollback_requested"
EVENTS_REQUESTED: Final = "events_requested"
PRESENT_RUN: Final = "present_run"
LEFT_RUN: Final = "left_run"
STATUS_BEFORE: Final = "status_before"
DELETING_AT: Final = "deleting_at"
BURIED_AT: Final = "buried_at"

STRATEGY: Final = "strategy"
LAST_EVENT: Final = "last_event"
BODY: Final = "body"
BASE: Final = "base"

STATE: Final = "state"
ATTEMPTS: Final = "attempts"
UNTIL: Final = "until"

# The exact index: a part is what one version of a document has in it.
INDEX_PART_ROW: Final = "index_part"
INDEXED_CHUNK_ROW: Final = "indexed_chunk"
VECTOR: Final = "vector"
TEXT: Final = "text"
PLACE: Final = "place"
"""Pages, offsets and headings of a chunk, as one compact JSON string."""

SEQUENCER: Final = "sequencer"
OBJECT_KEY: Final = "object_key"
OBJECT_VERSION: Final = "object_version"
SIZE: Final = "size"
RUN: Final = "run"
ORIGIN: Final = "origin"
MODE: Final = "mode"
COUNTER: Final = "counter"
REASON: Final = "reason"
KIND: Final = "kind"
SHA256: Final = "sha256"
READING: Final = "reading"
PAGES: Final = "pages"
PAGES_DONE: Final = "pages_done"
TEXT_READING: Final = "text_reading"
CHUNKS: Final = "chunks"
EMBEDDED: Final = "embedded"
REFUSED: Final = "refused"
LIVE_VERSION: Final = "live_version"
DUPLICATE_OF: Final = "duplicate_of"

# What a document is found by its bytes with, its pages, its chunks, and what happened to it.
DOCUMENT_BYTES_ROW: Final = "document_bytes"
PAGE_ROW: Final = "page"
CHUNK_ROW: Final = "chunk"
SPAN_ROW: Final = "span"
FOLDERS_ROW: Final = "folders"
OCR_TEXT_ROW: Final = "ocr_text"
DOCUMENT: Final = "document"
PARTS: Final = "parts"

CURRENT_SCHEMA: Final = 1
"""What this code writes as ``schema_version``."""

ITEM_MAX_BYTES: Final = 400 * 1024
PARTITION_KEY_MAX_BYTES: Final = 2048
SORT_KEY_MAX_BYTES: Final = 1024

END: Final = "!"
FIRST_STORE_KEY: Final = '"'
"""The lowest sort key a store item can have; rows of our own stand before it."""
_ESCAPE: Final = '"'
_LAST_ESCAPED: Final = "#"
_SHIFT: Final = 0x40
_EMPTY: Final = _ESCAPE + _LAST_ESCAPED


@dataclass(frozen=True, slots=True)
class LocalIndex:
    """A second order of the items of one partition; read consistently, fixed when the table is made.

    Parameters
    ----------
    name : str
        The index's name.
    sort_key : str
        The string attribute it is ordered by; items without it are not in the index.
    projected : tuple of str
        What it holds beside the keys. A write that changes none of these costs nothing here.
    """

    name: str
    sort_key: str
    projected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a table is made from, by the data stack and by the tests; every key is a string.

    Parameters
    ----------
    partition_key, sort_key : str
        The table's key attributes.
    ttl : str
        The attribute DynamoDB expires items by, in epoch seconds.
    local_indexes : tuple of LocalIndex
        Its local secondary indexes. A table with one holds at most 10 GB per partition key.
    """

    partition_key: str = PK
    sort_key: str = SK
    ttl: str = TTL
    local_indexes: tuple[LocalIndex, ...] = ()


# What a list of threads shows. The lease's end is left out, or each renewal would write to the index as well.
_LISTED: Final = (TITLE, PREVIEW, CREATED_AT, UPDATED_AT, STATUS, METADATA, POLICY, CHECKPOINT_ID)

MEMORY_TABLE: Final = TableSpec(local_indexes=(LocalIndex(LAST_MESSAGE_INDEX, LAST_MESSAGE_AT, _LISTED),))
CHECKPOINT_TABLE: Final = TableSpec()


def moment(at: datetime) -> str:
    """Write a moment so that text order is time order.

    Raises
    ------
    ValueError
        When it has no time zone: which moment it is would depend on where the code runs.
    """
    if at.tzinfo is None:
        raise ValueError("A moment needs a time zone.")
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def encode_part(text: str) -> str:
    """Encode one part of a key.

    Raises
    ------
    InvalidIdError
        When the text holds a lone surrogate, which has no UTF-8 form.
    """
    if not has_utf8_form(text):
        raise InvalidIdError("A key may not hold a lone surrogate.")
    if not text:
        return _EMPTY
    return "".join(_ESCAPE + chr(_SHIFT + ord(char)) if char <= _LAST_ESCAPED else char for char in text)


def decode_part(encoded: str) -> str:
    """Give back what :func:`encode_part` was given."""
    if encoded == _EMPTY:
        return ""
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
