"""Which documents are live, and their chunks, kept in memory."""

from collections.abc import Iterable, Mapping, Sequence

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.hits import LiveDocument
from tests.fakes.faults import Faults


class InMemoryLiveDocuments(Faults):
    """Implements ``LiveDocuments`` and ``ChunkReader``; ``rows`` and ``chunks`` are filled by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[UserId, dict[DocumentId, LiveDocument]] = {}
        self.chunks: dict[UserId, list[Chunk]] = {}

    async def live(self, user: UserId, documents: Iterable[DocumentId]) -> Mapping[DocumentId, LiveDocument]:
        self._called("live")
        rows = self.rows.get(user, {})
        return {document: rows[document] for document in documents if document in rows}

    async def of_document(self, user: UserId, document: DocumentId, version: int, *, limit: int) -> Sequence[Chunk]:
        self._called("of_document")
        chunks = [
            chunk
            for chunk in self.chunks.get(user, [])
            if (chunk.place.document_id, chunk.place.version) == (document, version)
        ]
        return sorted(chunks, key=lambda chunk: chunk.place.number)[:limit]
