"""Document rows, kept in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from shared.domain.documents import document_id_for, sequencer_order
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
from shared.domain.kb.states import DocumentState, IllegalTransitionError, may_become
from tests.fakes.faults import Faults


class InMemoryDocuments(Faults):
    """Implements ``Documents``, ``DocumentRecords`` and ``LiveDocuments``.

    Attributes
    ----------
    records
        What is there, by user and document.
    markers
        Of each object that events spoke of: their order, and the counter of its document.
    """

    def __init__(self) -> None:
        super().__init__()
        self.records: dict[tuple[UserId, DocumentId], DocumentRecord] = {}
        self.markers: dict[tuple[UserId, DocumentId], tuple[str, int]] = {}
        self.bytes: dict[tuple[UserId, str], DocumentId] = {}

    def of_key(self, user: UserId, key: str) -> DocumentRecord | None:
        return self.records.get((user, document_id_for(user, key)))

    async def record_upload(
        self, user: UserId, key: str, *, version_id: str | None, sequencer: str, size: int, now: datetime
    ) -> DocumentId | None:
        self._called("record_upload")
        document, order = document_id_for(user, key), sequencer_order(sequencer)
        known, counter = self.markers.get((user, document), ("", 0))
        record = self.records.get((user, document))
        if known >= order:
            same = known == order and record is not None and record.run != EXPECTED_RUN
            return document if same else None
        self.markers[user, document] = (order, counter + 1)
        blank = DocumentRecord(
            id=document,
            key=key,
            object_version=version_id,
            size=size,
            run=order,
            origin=origin_of(key),
            counter=counter + 1,
            created_at=now,
            updated_at=now,
        )
        self.records[user, document] = (
            blank
            if record is None
            else replace(
                record,
                state=DocumentState.PENDING,
                reason="",
                reading=0,
                run=order,
                origin=origin_of(key),
                mode=ReprocessMode.FULL,
                counter=counter + 1,
                object_version=version_id,
                size=size,
                updated_at=now,
            )
        )
        return document

    async def expect_upload(self, user: UserId, key: str, *, size: int, now: datetime) -> bool:
        self._called("expect_upload")
        document = document_id_for(user, key)
        if (record := self.records.get((user, document))) is not None:
            return record.run == EXPECTED_RUN
        deleted = (user, document) in self.markers
        _, counter = self.markers.setdefault((user, document), ("", 0))
        self.records[user, document] = DocumentRecord(
            id=document,
            key=key,
            object_version=None,
            size=size,
            run=EXPECTED_RUN,
            origin=origin_of(key),
            counter=counter,
            created_at=now,
            updated_at=now,
        )
        return deleted

    async def record_delete(self, user: UserId, key: str, *, sequencer: str, now: datetime) -> int | None:
        self._called("record_delete")
        document, order = document_id_for(user, key), sequencer_order(sequencer)
        known, counter = self.markers.get((user, document), ("", 0))
        if known >= order:
            return counter if known == order and (user, document) not in self.records else None
        self.markers[user, document] = (order, counter)
        self.records.pop((user, document), None)
        return counter

    async def get(self, user: UserId, document: DocumentId) -> DocumentRecord:
        self._called("get")
        try:
            return self.records[user, document]
        except KeyError:
            raise DocumentNotFoundError from None

    async def of_user(self, user: UserId) -> Sequence[DocumentRecord]:
        self._called("of_user")
        mine = [record for (owner, _), record in self.records.items() if owner == user]
        return sorted(mine, key=lambda record: (record.created_at, record.id), reverse=True)

    async def save(self, user: UserId, record: DocumentRecord, *, now: datetime, run: str | None = None) -> None:
        self._called("save")
        current = self.records.get((user, record.id))
        if current is None or current.run != (record.run if run is None else run):
            raise StaleRunError
        if not may_become(current.state, record.state):
            raise IllegalTransitionError(current.state, record.state)
        kept = {name: getattr(current, name) for name in ("key", "object_version", "size", "created_at")}
        self.records[user, record.id] = replace(record, updated_at=now, **kept)
        self.markers[user, record.id] = (self.markers[user, record.id][0], record.counter)

    async def remove(self, user: UserId, document: DocumentId, *, run: str, now: datetime) -> int:
        self._called("remove")
        current = self.records.get((user, document))
        if current is not None and current.run != run:
            raise StaleRunError
        self.records.pop((user, document), None)
        return self.markers.get((user, document), ("", 0))[1]

    async def claim_bytes(self, user: UserId, sha256: str, document: DocumentId) -> DocumentId:
        self._called("claim_bytes")
        return self.bytes.setdefault((user, sha256), document)

    async def release_bytes(self, user: UserId, sha256: str, document: DocumentId) -> None:
        self._called("release_bytes")
        if self.bytes.get((user, sha256)) == document:
            del self.bytes[user, sha256]

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        for kept in (self.records, self.markers, self.bytes):
            for key in [key for key in kept if key[0] == user]:
                del kept[key]

    async def live(self, user: UserId, documents: Iterable[DocumentId]) -> Mapping[DocumentId, LiveDocument]:
        self._called("live")
        found = {document: self.records.get((user, document)) for document in documents}
        return {
            document: LiveDocument(record.name, record.live_version)
            for document, record in found.items()
            if record is not None and record.live_version
        }
