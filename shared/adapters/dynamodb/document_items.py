"""What a document's row looks like in the table."""

from typing import Final

from shared.adapters.dynamodb.items import Key, Plain, StoredItem, row_of
from shared.adapters.dynamodb.number_sets import packed, unpacked
from shared.adapters.dynamodb.schema import (
    CHUNKS,
    COUNTER,
    CREATED_AT,
    DOCUMENT_ROW,
    DUPLICATE_OF,
    EMBEDDED,
    END,
    KIND,
    LIVE_VERSION,
    MODE,
    OBJECT_KEY,
    OBJECT_VERSION,
    ORIGIN,
    PAGES,
    PAGES_DONE,
    READING,
    REASON,
    REFUSED,
    RUN,
    SHA256,
    SIZE,
    STATUS,
    TEXT_READING,
    UPDATED_AT,
    VERSION,
    decode_key,
    row_key,
)
from shared.domain.errors import CorruptItemError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.records import DocumentRecord, RunOrigin
from shared.domain.kb.reprocess import ReprocessMode
from shared.domain.kb.states import DocumentState

DELETED: Final = "DELETED"
"""The status of a marker; no state of a document."""

OF_THE_UPLOAD: Final = (CREATED_AT, OBJECT_KEY, OBJECT_VERSION, SIZE)
OF_THE_RUNS: Final = (
    RUN,
    ORIGIN,
    MODE,
    REASON,
    VERSION,
    KIND,
    SHA256,
    READING,
    PAGES,
    PAGES_DONE,
    TEXT_READING,
    CHUNKS,
    EMBEDDED,
    REFUSED,
    LIVE_VERSION,
    DUPLICATE_OF,
)
"""What a marker has not got either. Its counter stays: a version's chunks are never another version's."""


def document_key(user: UserId, document: DocumentId) -> Key:
    """Give the key of a document's row."""
    # The id stands for the object's key, which may be as long as a sort key and longer once encoded.
    return row_of(user, row_key(DOCUMENT_ROW, document))


def is_there(item: StoredItem | None) -> bool:
    """Say whether there is a row and it is no marker."""
    return item is not None and item.text(STATUS) != DELETED


def attributes_of(record: DocumentRecord) -> tuple[dict[str, Plain], tuple[str, ...]]:
    """Give what a run writes of a record: the attributes that have a value, and the names of those that have none."""
    every: dict[str, Plain | None] = {
        RUN: record.run,
        ORIGIN: record.origin,
        MODE: record.mode,
        COUNTER: record.counter,
        STATUS: record.state,
        REASON: record.reason or None,
        VERSION: record.version or None,
        KIND: record.kind,
        SHA256: record.sha256 or None,
        READING: record.reading or None,
        PAGES: record.pages or None,
        PAGES_DONE: record.pages_done or None,
        TEXT_READING: record.text_reading or None,
        CHUNKS: record.chunks or None,
        EMBEDDED: packed(record.embedded) or None,
        REFUSED: packed(record.refused) or None,
        LIVE_VERSION: record.live_version or None,
        DUPLICATE_OF: record.duplicate_of,
    }
    return (
        {name: value for name, value in every.items() if value is not None},
        tuple(name for name, value in every.items() if value is None),
    )


def record_from(item: StoredItem) -> DocumentRecord:
    """Read a document's row.

    Raises
    ------
    CorruptItemError
        When it cannot be understood.
    """
    kind, duplicate_of = item.text_or_none(KIND), item.text_or_none(DUPLICATE_OF)
    try:
        return DocumentRecord(
            id=DocumentId(decode_key(item.key[1].removeprefix(END))[1]),
            key=item.text(OBJECT_KEY),
            object_version=item.text_or_none(OBJECT_VERSION),
            size=item.number(SIZE),
            run=item.text(RUN),
            origin=RunOrigin(item.text(ORIGIN)),
            mode=ReprocessMode(item.text(MODE)),
            counter=item.number(COUNTER),
            created_at=item.moment(CREATED_AT),
            updated_at=item.moment(UPDATED_AT),
            state=DocumentState(item.text(STATUS)),
            reason=item.text(REASON, ""),
            version=item.number(VERSION, 0),
            kind=None if kind is None else DocumentKind(kind),
            sha256=item.text(SHA256, ""),
            reading=item.number(READING, 0),
            pages=item.number(PAGES, 0),
            pages_done=item.number(PAGES_DONE, 0),
            text_reading=item.number(TEXT_READING, 0),
            chunks=item.number(CHUNKS, 0),
            embedded=_numbers(item, EMBEDDED),
            refused=_numbers(item, REFUSED),
            live_version=item.number(LIVE_VERSION, 0),
            duplicate_of=None if duplicate_of is None else DocumentId(duplicate_of),
        )
    except ValueError as error:
        raise CorruptItemError("A document's row cannot be understood.") from error


def _numbers(item: StoredItem, name: str) -> frozenset[int]:
    return unpacked(item.blob(name)) if item.has(name) else frozenset()
