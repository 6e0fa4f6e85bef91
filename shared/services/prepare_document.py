"""The first step: what is in the object, whether it is known already, and its pages."""

import hashlib
import logging
from dataclasses import replace
from typing import Final

from shared.domain.ids import DocumentId
from shared.domain.kb.failures import DocumentError, IngestionFailedError
from shared.domain.kb.ingestion import ObjectGoneError
from shared.domain.kb.pages import Page, pages_for_ocr
from shared.domain.kb.records import NOTHING, DocumentNotFoundError, DocumentRecord, RunOrigin, unread_reason
from shared.domain.kb.states import DocumentState
from shared.kb_ports import DocumentParser, DocumentRecords, ObjectStore, OcrTexts, PageStore
from shared.services.ingestion import Ingestion, Progress
from shared.services.remove_documents import forget_unused_texts

# States that have nothing to do for a document whose text and vectors are there already.
_ALL_THE_WAY: Final = (
    DocumentState.PREPARED,
    DocumentState.MARKDOWN,
    DocumentState.EMBEDDING,
    DocumentState.READY,
)

_log = logging.getLogger(__name__)


class PrepareDocument:
    """Takes a document from ``PENDING`` to ``PREPARED``, or to ``READY`` when its bytes are known (row KB04).

    Parameters
    ----------
    records : DocumentRecords
        Who has which bytes.
    progress : Progress
        Writes down how far it has come.
    objects : ObjectStore
        The uploads.
    parser : DocumentParser
        Reads files.
    pages : PageStore
        Keeps their pages.
    texts : OcrTexts
        What OCR has read; of bytes that others took the place of, it is forgotten.
    max_bytes : int
        Larger objects are not even read.
    """

    def __init__(
        self,
        *,
        records: DocumentRecords,
        progress: Progress,
        objects: ObjectStore,
        parser: DocumentParser,
        pages: PageStore,
        texts: OcrTexts,
        max_bytes: int,
    ) -> None:
        self._records = records
        self._progress = progress
        self._objects = objects
        self._parser = parser
        self._pages = pages
        self._texts = texts
        self._max_bytes = max_bytes

    async def run(self, ingestion: Ingestion) -> Ingestion:
        """Prepare the document, if that was not done.

        Raises
        ------
        StaleRunError, IllegalTransitionError
            When somebody else has the document, or has come further.
        StoreError
            When store or database cannot answer.
        """
        if not ingestion.waits_for(DocumentState.PENDING):
            return ingestion
        if ingestion.record.reading and (kept := await self._kept_pages(ingestion)):
            return await self._go_on_with(ingestion, kept)
        try:
            data = await self.object_of(ingestion)
        except DocumentError as error:
            return await self._progress.end(ingestion, error)
        record, digest = ingestion.record, hashlib.sha256(data).hexdigest()
        forced = record.origin is RunOrigin.REPROCESS
        if not forced and record.sha256 == digest and record.is_whole:
            # The same file again under the same name: what is live is of these bytes.
            return await self._progress.to(
                ingestion, *_ALL_THE_WAY, reading=record.text_reading, reason=unread_reason(record)
            )
        replaced = record.sha256 not in ("", digest)
        if replaced:
            await self._records.release_bytes(ingestion.user, record.sha256, record.id)
        prepared = await self._first_look(replace(ingestion, data=data), digest, forced=forced)
        if replaced:
            await forget_unused_texts(self._records, self._texts, ingestion.user, record.sha256)
        return prepared

    async def _first_look(self, ingestion: Ingestion, digest: str, *, forced: bool) -> Ingestion:
        record = ingestion.record
        anew = replace(ingestion, record=record.read_anew(digest))
        if not forced and (twin := await self._twin(ingestion, digest)) is not None:
            _log.info("document is a duplicate", extra={"document_id": record.id})
            return await self._progress.to(anew, *_ALL_THE_WAY, duplicate_of=twin, live_version=0, text_reading=0)
        return await self._parse(anew)

    async def object_of(self, ingestion: Ingestion) -> bytes:
        """Read the object, once a step.

        Raises
        ------
        DocumentError
            When it is too large or gone.
        """
        if ingestion.data is not None:
            return ingestion.data
        record = ingestion.record
        try:
            return await self._objects.read(record.key, record.object_version, max_bytes=self._max_bytes)
        except ObjectGoneError:
            raise IngestionFailedError("The uploaded file is gone.") from None

    async def _parse(self, ingestion: Ingestion) -> Ingestion:
        record, data = ingestion.record, ingestion.data or b""
        try:
            parsed = await self._parser.parse(data, record.name)
        except DocumentError as error:
            return await self._progress.end(ingestion, error)
        await self._pages.save(ingestion.user, record.id, record.version, parsed.pages)
        prepared = await self._progress.to(
            ingestion,
            DocumentState.PREPARED,
            kind=parsed.kind,
            reading=record.version,
            pages=len(parsed.pages),
            pages_done=_done(parsed.pages),
        )
        return replace(prepared, pages=parsed.pages)

    async def _kept_pages(self, ingestion: Ingestion) -> tuple[Page, ...]:
        record = ingestion.record
        return tuple(await self._pages.of_reading(ingestion.user, record.id, record.reading))

    async def _go_on_with(self, ingestion: Ingestion, pages: tuple[Page, ...]) -> Ingestion:
        """Keep the pages, for those that lack their text to be tried again (row KB10)."""
        prepared = await self._progress.to(
            ingestion,
            DocumentState.PREPARED,
            version=ingestion.record.counter,
            chunks=0,
            embedded=NOTHING,
            refused=NOTHING,
            pages_done=_done(pages),
        )
        return replace(prepared, pages=pages)

    async def _twin(self, ingestion: Ingestion, digest: str) -> DocumentId | None:
        """Give the other document that is found by these bytes; with none, this one has them from now on."""
        user, document = ingestion.user, ingestion.record.id
        holder = await self._records.claim_bytes(user, digest, document)
        if holder == document:
            return None
        try:
            other = await self._records.get(user, holder)
        except DocumentNotFoundError:
            other = None
        if other is not None and _is_found_by(digest, other):
            return holder
        # It failed, is on its way, or has other bytes by now.
        if other is None or other.state.is_final or other.sha256 != digest:
            await self._records.release_bytes(user, digest, holder)
            await self._records.claim_bytes(user, digest, document)
        return None


def _is_found_by(digest: str, record: DocumentRecord) -> bool:
    return record.state is DocumentState.READY and record.sha256 == digest and record.duplicate_of is None


def _done(pages: tuple[Page, ...]) -> int:
    return len(pages) - len(pages_for_ocr(pages))
