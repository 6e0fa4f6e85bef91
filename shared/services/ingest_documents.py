"""Take note of uploads, so that each object has a document row that says where it stands."""

import logging
from typing import Literal

from shared.domain import counters
from shared.domain.uploads import ObjectChange, owner_of
from shared.ports import Clock, Documents, Metrics

IngestOutcome = Literal["recorded", "removed", "late", "ignored"]
"""``late``: a later change of the same object is known. ``ignored``: the object is no user's upload."""

_COUNTED = {
    "recorded": counters.UPLOAD_RECORDED,
    "removed": counters.UPLOAD_REMOVED,
    "late": counters.UPLOAD_EVENT_LATE,
    "ignored": counters.UPLOAD_EVENT_IGNORED,
}

_log = logging.getLogger(__name__)


class IngestDocuments:
    """Records what happens to uploads.

    Changes of one object may arrive twice and in any order: the document rows order them by S3's own sequencer.

    Parameters
    ----------
    documents : Documents
        The document rows.
    clock : Clock
        The time of day.
    metrics : Metrics
        See ``shared.domain.counters``.
    bucket : str
        The bucket of the uploads; others' events are ignored.
    """

    def __init__(self, *, documents: Documents, clock: Clock, metrics: Metrics, bucket: str) -> None:
        self._documents = documents
        self._clock = clock
        self._metrics = metrics
        self._bucket = bucket

    async def note(self, change: ObjectChange) -> IngestOutcome:
        """Record one change.

        Parameters
        ----------
        change : ObjectChange
            What happened to which object. Whose document it is stands in its key, which the presigned upload fixed.

        Raises
        ------
        StoreError
            When the database cannot answer.
        InvalidInputError
            When the change has no legal sequencer.
        """
        outcome = await self._note(change)
        self._metrics.count(_COUNTED[outcome])
        # Without the key: people write into file names what they would not have in a log.
        _log.info("object change noted", extra={"kind": change.kind, "outcome": outcome, "size": change.size})
        return outcome

    async def _note(self, change: ObjectChange) -> IngestOutcome:
        owner = owner_of(change.key)
        if change.bucket != self._bucket or owner is None:
            return "ignored"
        now = self._clock.now()
        if change.kind == "deleted":
            removed = await self._documents.record_delete(owner, change.key, sequencer=change.sequencer, now=now)
            return "removed" if removed else "late"
        document = await self._documents.record_upload(
            owner,
            change.key,
            version_id=change.version_id,
            sequencer=change.sequencer,
            size=change.size,
            now=now,
        )
        return "late" if document is None else "recorded"
