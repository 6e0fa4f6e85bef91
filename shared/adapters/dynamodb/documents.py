"""Document rows of the knowledge base: ordered by what S3 says of their objects, written by one run at a time."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamodb.document_items import (
    DELETED,
    OF_THE_RUNS,
    OF_THE_UPLOAD,
    attributes_of,
    document_key,
    is_there,
    record_from,
)
from shared.adapters.dynamodb.items import Key, Plain, StoredItem, row_of
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    COUNTER,
    CREATED_AT,
    DOCUMENT,
    DOCUMENT_BYTES_ROW,
    DOCUMENT_ROW,
    LIVE_VERSION,
    MODE,
    OBJECT_KEY,
    OBJECT_VERSION,
    ORIGIN,
    READING,
    REASON,
    RUN,
    SEQUENCER,
    SIZE,
    STATUS,
    TTL,
    UPDATED_AT,
    encode_part,
    row_key,
    row_prefix,
)
from shared.adapters.dynamodb.writes import ABSENT, Put, Update
from shared.domain.documents import document_id_for, sequencer_order
from shared.domain.errors import CorruptItemError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.hits import LiveDocument
from shared.domain.kb.records import (
    EXPECTED_RUN,
    DocumentNotFoundError,
    DocumentRecord,
    StaleRunError,
    origin_of,
)
from shared.domain.kb.reprocess import ReprocessMode
from shared.domain.kb.states import DocumentState, IllegalTransitionError, states_before
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Longer than any event is on its way: SQS keeps one for at most 14 days, here and in the dead letters.
_REMEMBER_DELETION: Final = timedelta(days=30)

_NEXT_COUNTER: Final = f"#{COUNTER} = if_not_exists(#{COUNTER}, :none) + :one"

_log = logging.getLogger(__name__)


class DynamoDocuments:
    """The ports ``Documents``, ``DocumentRecords`` and ``LiveDocuments`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    clock : Clock, optional
        Tells which markers have expired; the system's unless told otherwise.
    pause : callable
        Waits between tries.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._rows = Rows(client, table_name, clock=clock, pause=pause)

    async def record_upload(
        self, user: UserId, key: str, *, version_id: str | None, sequencer: str, size: int, now: datetime
    ) -> DocumentId | None:
        """Keep a ``PENDING`` row under a new run, in one conditional write; what readers see of it stays."""
        sets = (
            f"#{CREATED_AT} = if_not_exists(#{CREATED_AT}, :now)",
            f"#{OBJECT_KEY} = :object",
            f"#{SIZE} = :size",
            # The event's own order: the same event again is the same run.
            f"#{RUN} = :order",
            f"#{ORIGIN} = :origin",
            f"#{MODE} = :mode",
            _NEXT_COUNTER,
            *([] if version_id is None else [f"#{OBJECT_VERSION} = :object_version"]),
        )
        values: dict[str, Plain] = {"object": key, "size": size, "none": 0, "one": 1}
        values |= {"origin": origin_of(key), "mode": ReprocessMode.FULL}
        if version_id is not None:
            values["object_version"] = version_id
        removes = (TTL, REASON, READING, *((OBJECT_VERSION,) if version_id is None else ()))
        taken = await self._record(user, key, sequencer, "PENDING", now, sets=sets, removes=removes, values=values)
        return None if taken is None else document_id_for(user, key)

    async def expect_upload(self, user: UserId, key: str, *, size: int, now: datetime) -> bool:
        """Put a row without an order, which any event takes over; in a marker's place one with the marker's."""
        expected: dict[str, Plain] = {
            STATUS: DocumentState.PENDING,
            OBJECT_KEY: key,
            SIZE: size,
            RUN: EXPECTED_RUN,
            ORIGIN: origin_of(key),
            MODE: ReprocessMode.FULL,
            CREATED_AT: now,
            UPDATED_AT: now,
        }
        row = document_key(user, document_id_for(user, key))
        try:
            await self._rows.put(Put(key=row, attributes={**expected, COUNTER: 0}, condition=ABSENT))
        except ConditionFailedError as failed:
            current = failed.current
        else:
            return False
        if current is not None and is_there(current):
            return current.text(RUN) == EXPECTED_RUN
        # Order and counter stay: events of the object that was deleted are late, and versions are never called alike.
        sets = (*(f"#{name} = :{name}" for name in expected), f"#{COUNTER} = if_not_exists(#{COUNTER}, :none)")
        values: dict[str, Plain] = {**expected, "none": 0, "deleted": DELETED}
        condition = f"#{STATUS} = :deleted"
        with suppress(ConditionFailedError):
            await self._rows.update(Update(key=row, sets=sets, removes=(TTL,), condition=condition, values=values))
        return True

    async def record_delete(self, user: UserId, key: str, *, sequencer: str, now: datetime) -> int | None:
        """Leave a marker for a while, without anything of the document, in one conditional write."""
        marker = await self._record(
            user,
            key,
            sequencer,
            DELETED,
            now,
            sets=(f"#{TTL} = :forgotten",),
            removes=(*OF_THE_UPLOAD, *OF_THE_RUNS),
            values={"forgotten": _forgotten(now)},
        )
        return None if marker is None else marker.number(COUNTER, 0)

    async def get(self, user: UserId, document: DocumentId) -> DocumentRecord:
        """Read a row."""
        item = await self._rows.get(document_key(user, document))
        if item is None or not is_there(item):
            raise DocumentNotFoundError
        return record_from(item)

    async def of_user(self, user: UserId) -> Sequence[DocumentRecord]:
        """Read all rows, one query a megabyte; those that cannot be understood are left out."""
        records: list[DocumentRecord] = []
        async for page in self._rows.pages(encode_part(user), row_prefix(DOCUMENT_ROW)):
            for item in page:
                try:
                    records += [record_from(item)] if is_there(item) else []
                except CorruptItemError as error:
                    _log.warning("document row skipped", extra={"reason": str(error)})
        return sorted(records, key=lambda record: (record.created_at, record.id), reverse=True)

    async def save(self, user: UserId, record: DocumentRecord, *, now: datetime, run: str | None = None) -> None:
        """Write what runs know of a document, in one conditional write."""
        attributes, absent = attributes_of(record)
        before = {f"state{n}": state for n, state in enumerate(sorted(states_before(record.state)))}
        write = Update(
            key=document_key(user, record.id),
            sets=(*(f"#{name} = :{name}" for name in attributes), f"#{UPDATED_AT} = :now"),
            removes=absent,
            condition=f"#{RUN} = :run_before AND #{STATUS} IN ({', '.join(f':{name}' for name in before)})",
            values={**attributes, **before, "now": now, "run_before": record.run if run is None else run},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError as failed:
            current = failed.current
            if current is None or not is_there(current):
                raise StaleRunError from None
            if run is not None and current.text(RUN) == record.run:
                # The SDK's own repeat of a write whose answer was lost: nobody else could know of the new run.
                return
            if current.text(RUN) != write.values["run_before"]:
                raise StaleRunError from None
            raise IllegalTransitionError(DocumentState(current.text(STATUS)), record.state) from None

    async def remove(self, user: UserId, document: DocumentId, *, run: str, now: datetime) -> int:
        """Leave a marker in place of the row, in one conditional write."""
        write = Update(
            key=document_key(user, document),
            sets=(f"#{STATUS} = :deleted", f"#{TTL} = :forgotten", f"#{UPDATED_AT} = :now"),
            removes=(*OF_THE_UPLOAD, *OF_THE_RUNS),
            condition=f"#{RUN} = :run",
            values={"deleted": DELETED, "forgotten": _forgotten(now), "now": now, "run": run},
        )
        try:
            return (await self._rows.update(write)).number(COUNTER)
        except ConditionFailedError as failed:
            if is_there(failed.current):
                raise StaleRunError from None
            return 0 if failed.current is None else failed.current.number(COUNTER, 0)

    async def claim_bytes(self, user: UserId, sha256: str, document: DocumentId) -> DocumentId:
        """Take the claim if it is free, in one conditional write."""
        write = Put(key=_bytes_key(user, sha256), attributes={DOCUMENT: document}, condition=ABSENT)
        try:
            await self._rows.put(write)
        except ConditionFailedError as failed:
            if failed.current is not None:
                return DocumentId(failed.current.text(DOCUMENT))
        return document

    async def release_bytes(self, user: UserId, sha256: str, document: DocumentId) -> None:
        """Remove the claim unless it is another's."""
        claim = await self._rows.get(_bytes_key(user, sha256))
        if claim is not None and claim.text(DOCUMENT) == document:
            await self._rows.delete(_bytes_key(user, sha256))

    async def purge(self, user: UserId) -> None:
        """Remove rows, markers and claims."""
        for kind in (DOCUMENT_ROW, DOCUMENT_BYTES_ROW):
            await remove_rows(self._rows, user, row_prefix(kind))

    async def live(self, user: UserId, documents: Iterable[DocumentId]) -> Mapping[DocumentId, LiveDocument]:
        """Read which version of each counts, a hundred rows a request."""
        keys = {document_key(user, document): document for document in documents}
        found = await self._rows.get_many(keys, attributes=(STATUS, LIVE_VERSION, OBJECT_KEY))
        return {keys[key]: _live(item) for key, item in found.items() if is_there(item) and item.has(LIVE_VERSION)}

    async def _record(
        self,
        user: UserId,
        key: str,
        sequencer: str,
        status: str,
        now: datetime,
        *,
        sets: Sequence[str],
        removes: Sequence[str],
        values: Mapping[str, Plain],
    ) -> StoredItem | None:
        """Write what an event says and give the row as it is now; ``None`` when a later event came first."""
        order = sequencer_order(sequencer)
        write = Update(
            key=document_key(user, document_id_for(user, key)),
            sets=(*sets, f"#{STATUS} = :status", f"#{SEQUENCER} = :order", f"#{UPDATED_AT} = :now"),
            removes=removes,
            condition=f"attribute_not_exists(#{SEQUENCER}) OR #{SEQUENCER} < :order",
            values={**values, "status": status, "order": order, "now": now},
        )
        try:
            return await self._rows.update(write)
        except ConditionFailedError as failed:
            current = failed.current
            # The same event again, or the SDK's own repeat of a write whose answer was lost. What has become of the
            # document since is none of its business.
            same = (
                current is not None
                and current.text(SEQUENCER) == order
                and (current.text(STATUS) == DELETED) == (status == DELETED)
                # Of the object that was deleted before this one was expected.
                and current.text(RUN, "") != EXPECTED_RUN
            )
            return current if same else None


def _live(item: StoredItem) -> LiveDocument:
    return LiveDocument(item.text(OBJECT_KEY).rpartition("/")[2], item.number(LIVE_VERSION))


def _bytes_key(user: UserId, sha256: str) -> Key:
    return row_of(user, row_key(DOCUMENT_BYTES_ROW, sha256))


def _forgotten(now: datetime) -> int:
    return int((now + _REMEMBER_DELETION).timestamp())
