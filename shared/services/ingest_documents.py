"""Note what happens to uploads, in the order in which it happened."""

import logging
from dataclasses import dataclass
from typing import Literal

from shared.domain import counters
from shared.domain.documents import document_id_for
from shared.domain.ids import DocumentId, UserId
from shared.domain.uploads import ObjectChange, owner_of
from shared.ports import Clock, Documents, Metrics
from shared.services.remove_documents import RemoveDocuments

IngestOutcome = Literal["recorded", "removed", "late", "ignored"]
"""``late``: a later change of the same object is known. ``ignored``: the object is no user's upload."""

_COUNTED = {
    "recorded": counters.UPLOAD_RECORDED,
    "removed": counters.UPLOAD_REMOVED,
    "late": counters.UPLOAD_EVENT_LATE,
    "ignored": counters.UPLOAD_EVENT_IGNORED,
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NotedDocument:
    """A document that was uploaded.

    Parameters
    ----------
    user, document : str
        Whose, and which.
    """

    user: UserId
    document: DocumentId


class IngestDocuments:
    """Records what happens to uploads, and removes what deleted ones have left.

    Changes of one object may arrive twice and in any order: the document rows order them by S3's own sequencer.

    Parameters
    ----------
    documents : Documents
        The document rows.
    removal : RemoveDocuments
        Clears up after a deletion.
    clock : Clock
        The time of day.
    metrics : Metrics
        See ``shared.domain.counters``.
    bucket : str
        The bucket of the uploads; others' events are ignored.
    """

    def __init__(
        self, *, documents: Documents, removal: RemoveDocuments, clock: Clock, metrics: Metrics, bucket: str
    ) -> None:
        self._documents = documents
        self._removal = removal
        self._clock = clock
        self._metrics = metrics
        self._bucket = bucket

    async def note(self, change: ObjectChange) -> NotedDocument | None:
        """Record one change.

        Parameters
        ----------
        change : ObjectChange
            What happened to which object. Whose document it is stands in its key, which the presigned upload fixed.

        Returns
        -------
        NotedDocument or None
            The document that is now to be processed, or was by an earlier delivery of this event; else ``None``.

        Raises
        ------
        StoreError
            When the database cannot answer.
        InvalidInputError
            When the change has no legal sequencer.
        """
        outcome, noted = await self._note(change)
        self._metrics.count(_COUNTED[outcome])
        # Without the key: people write into file names what they would not have in a log.
        _log.info("object change noted", extra={"kind": change.kind, "outcome": outcome, "size": change.size})
        return noted

    async def _note(self, change: ObjectChange) -> tuple[IngestOutcome, NotedDocument | None]:
        owner = owner_of(change.key)
        if change.bucket != self._bucket or owner is None:
            return "ignored", None
        if change.kind == "deleted":
            return await self._remove(owner, change), None
        document = await self._documents.record_upload(
            owner,
            change.key,
            version_id=change.version_id,
            sequencer=change.sequencer,
            size=change.size,
            now=self._clock.now(),
        )
        return ("late", None) if document is None else ("recorded", NotedDocument(owner, document))

    async def _remove(self, owner: UserId, change: ObjectChange) -> IngestOutcome:
        document = document_id_for(owner, change.key)
        sha256 = await self._removal.forget_bytes(owner, document)
        last = await self._documents.record_delete(owner, change.key, sequencer=change.sequencer, now=self._clock.now())
        if last is None:
            return "late"
        await self._removal.clear(owner, document, last=last, sha256=sha256)
        return "removed"
