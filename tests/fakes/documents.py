"""Document rows, kept in memory."""

from dataclasses import dataclass
from datetime import datetime

from shared.domain.documents import document_id_for, sequencer_order
from shared.domain.ids import DocumentId, UserId
from tests.fakes.faults import Faults


@dataclass(frozen=True)
class DocumentRow:
    status: str
    order: str
    updated_at: datetime
    version_id: str | None = None
    size: int | None = None


class InMemoryDocuments(Faults):
    """Implements ``Documents``; ``rows`` holds what is known of each object, deletions included."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[tuple[UserId, str], DocumentRow] = {}

    async def record_upload(
        self, user: UserId, key: str, *, version_id: str | None, sequencer: str, size: int, now: datetime
    ) -> DocumentId | None:
        self._called("record_upload")
        order, known = sequencer_order(sequencer), self.rows.get((user, key))
        if known is None or known.order < order:
            self.rows[user, key] = DocumentRow("PENDING", order, now, version_id, size)
        elif known.order > order or known.status == "DELETED":
            return None
        return document_id_for(user, key)

    async def record_delete(self, user: UserId, key: str, *, sequencer: str, now: datetime) -> bool:
        self._called("record_delete")
        order, known = sequencer_order(sequencer), self.rows.get((user, key))
        if known is None or known.order < order:
            self.rows[user, key] = DocumentRow("DELETED", order, now)
            return True
        return known.order == order and known.status == "DELETED"
