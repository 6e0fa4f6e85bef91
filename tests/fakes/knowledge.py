"""The whole ingestion over fakes: what tests upload, run and look at."""

from collections.abc import Callable
from typing import Any

from shared.domain.documents import document_id_for
from shared.domain.errors import StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep, UserRemoval
from shared.domain.kb.records import DocumentRecord
from shared.domain.uploads import ObjectChange
from shared.graphs.knowledge.nodes import Pipeline
from shared.graphs.knowledge.runner import Bounds, IngestionOutcome, IngestionRunner
from shared.graphs.knowledge.topology import build
from shared.services.complete_markdown import CompleteMarkdown
from shared.services.embed_document import EmbedDocument
from shared.services.embed_texts import EmbedTexts
from shared.services.ingest_documents import IngestDocuments
from shared.services.ingestion import Progress
from shared.services.manage_documents import ManageDocuments
from shared.services.manage_folders import ManageFolders
from shared.services.ocr_document import OcrDocument
from shared.services.prepare_document import PrepareDocument
from shared.services.remove_documents import RemoveDocuments
from tests.fakes.clock import FixedClock
from tests.fakes.document_parser import InProcessParser
from tests.fakes.document_parts import InMemoryChunks, InMemoryOcrTexts, InMemoryPages, InMemorySpans
from tests.fakes.documents import InMemoryDocuments
from tests.fakes.embedder import WordEmbedder
from tests.fakes.folders import InMemoryFolders
from tests.fakes.index import InMemoryIndex
from tests.fakes.metrics import CountingMetrics
from tests.fakes.objects import InMemoryObjects
from tests.fakes.ocr import PlannedOcr

ANNA = UserId("anna")
BUCKET = "everthread-uploads"


class RecordingIngestionQueue:
    """Implements ``IngestionQueue``; ``steps`` and ``removals`` hold what waits, steps with their delay."""

    def __init__(self) -> None:
        self.steps: list[tuple[IngestionStep, int]] = []
        self.removals: list[DocumentRemoval] = []
        self.users: list[UserRemoval] = []
        self.failure: StoreError | None = None

    async def take_on(self, step: IngestionStep, *, after_seconds: int = 0) -> None:
        if self.failure:
            raise self.failure
        self.steps.append((step, after_seconds))

    async def remove(self, removal: DocumentRemoval) -> None:
        if self.failure:
            raise self.failure
        self.removals.append(removal)

    async def remove_user(self, removal: UserRemoval) -> None:
        if self.failure:
            raise self.failure
        self.users.append(removal)


class KnowledgeBase:
    """Everything behind ``functions/kb_ingest``, in memory."""

    def __init__(self, *, ocr: PlannedOcr | None = None, max_bytes: int = 10_000_000, max_chunks: int = 1000) -> None:
        self.clock = FixedClock()
        self.metrics = CountingMetrics()
        self.documents = InMemoryDocuments()
        self.folders = InMemoryFolders()
        self.chunks = InMemoryChunks()
        self.pages = InMemoryPages()
        self.texts = InMemoryOcrTexts()
        self.spans = InMemorySpans(self.clock)
        self.embedder = WordEmbedder(64)
        self.index = InMemoryIndex(64)
        self.objects = InMemoryObjects()
        self.queue = RecordingIngestionQueue()
        self.parser: Any = InProcessParser()
        self.ocr = ocr
        self.limits = {"max_bytes": max_bytes, "max_chunks": max_chunks}
        self._sequencer = 0

    @property
    def removal(self) -> RemoveDocuments:
        return RemoveDocuments(
            records=self.documents,
            folders=self.folders,
            chunks=self.chunks,
            pages=self.pages,
            spans=self.spans,
            texts=self.texts,
            index=self.index,
            objects=self.objects,
            queue=self.queue,
            clock=self.clock,
        )

    @property
    def uploads(self) -> IngestDocuments:
        return IngestDocuments(
            documents=self.documents, removal=self.removal, clock=self.clock, metrics=self.metrics, bucket=BUCKET
        )

    @property
    def manage(self) -> ManageDocuments:
        return ManageDocuments(
            records=self.documents,
            folders=self.folders,
            spans=self.spans,
            objects=self.objects,
            offers=self.objects,
            queue=self.queue,
            clock=self.clock,
            max_bytes=self.limits["max_bytes"],
        )

    @property
    def manage_folders(self) -> ManageFolders:
        return ManageFolders(folders=self.folders, records=self.documents, documents=self.manage, clock=self.clock)

    def pipeline(self) -> Pipeline:
        progress = Progress(self.documents, self.clock)
        prepare = PrepareDocument(
            records=self.documents,
            progress=progress,
            objects=self.objects,
            parser=self.parser,
            pages=self.pages,
            texts=self.texts,
            max_bytes=self.limits["max_bytes"],
        )
        ocr = OcrDocument(
            progress=progress,
            prepare=prepare,
            parser=self.parser,
            pages=self.pages,
            texts=self.texts,
            ocr=self.ocr,
        )
        return Pipeline(
            prepare=prepare,
            ocr=ocr,
            markdown=CompleteMarkdown(progress=progress, ocr=ocr),
            embed=EmbedDocument(
                progress=progress,
                ocr=ocr,
                chunks=self.chunks,
                pages=self.pages,
                index=self.index,
                embed=EmbedTexts(self.embedder, concurrency=1, batch_size=8),
                max_chunks=self.limits["max_chunks"],
            ),
        )

    @property
    def runner(self) -> IngestionRunner:
        return IngestionRunner(
            graph=build(self.pipeline()),
            records=self.documents,
            spans=self.spans,
            queue=self.queue,
            removal=self.removal,
            clock=self.clock,
            metrics=self.metrics,
        )

    def change(self, name: str, data: bytes | None, *, user: UserId = ANNA) -> ObjectChange:
        """Put an object, or delete it, and give the event that tells of it."""
        key = f"users/{user}/uploads/{name}"
        self._sequencer += 1
        sequencer = f"{self._sequencer:016X}"
        if data is None:
            self.objects.kept.pop(key, None)
            return ObjectChange(kind="deleted", bucket=BUCKET, key=key, sequencer=sequencer)
        version = self.objects.put(key, data)
        return ObjectChange(
            kind="created", bucket=BUCKET, key=key, sequencer=sequencer, version_id=version, size=len(data)
        )

    async def deliver(
        self, change: ObjectChange, *, seconds_left: Callable[[], float] = lambda: 600.0
    ) -> IngestionOutcome | None:
        """Take one delivery of an event, as the function does."""
        noted = await self.uploads.note(change)
        if noted is None:
            return None
        return await self.runner.run(noted.user, noted.document, Bounds(seconds_left=seconds_left))

    async def upload(self, name: str, data: bytes, *, user: UserId = ANNA, **how: Any) -> DocumentRecord:
        """Upload, process, and give what is known then."""
        await self.deliver(self.change(name, data, user=user), **how)
        return await self.documents.get(user, self.id_of(name, user=user))

    async def next_step(self, *, seconds_left: Callable[[], float] = lambda: 600.0) -> IngestionOutcome:
        """Take the next message of the queue."""
        step, _ = self.queue.steps.pop(0)
        bounds = Bounds(seconds_left=seconds_left, run=step.run, stalls=step.stalls)
        return await self.runner.run(step.user_id, step.document_id, bounds)

    async def record(self, name: str, *, user: UserId = ANNA) -> DocumentRecord:
        return await self.documents.get(user, self.id_of(name, user=user))

    async def found(self, question: str, *, user: UserId = ANNA) -> list[str]:
        """Give the texts of live chunks that have words of a question, as readers see them."""
        hits = await self.index.query(user, text=question, k=50)
        live = await self.documents.live(user, {hit.chunk.place.document_id for hit in hits})
        return [
            hit.chunk.text
            for hit in hits
            if (place := hit.chunk.place).document_id in live and live[place.document_id].version == place.version
        ]

    def id_of(self, name: str, *, user: UserId = ANNA) -> DocumentId:
        return document_id_for(user, f"users/{user}/uploads/{name}")
