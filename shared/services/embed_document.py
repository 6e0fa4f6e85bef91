"""The last step: chunks, their vectors, and the moment from which readers see them."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shared.domain.kb.chunks import Chunk
from shared.domain.kb.failures import DocumentTooLargeError, EmptyDocumentError
from shared.domain.kb.records import StaleRunError
from shared.domain.kb.split import split
from shared.domain.kb.states import DocumentState
from shared.domain.spans import SpanKind
from shared.kb_ports import ChunkStore, Index, PageStore
from shared.services.embed_texts import EmbeddedBatch, EmbedTexts
from shared.services.ingestion import Ingestion, Progress
from shared.services.ocr_document import OcrDocument
from shared.services.remove_documents import remove_versions

MAX_CHUNKS: Final = 20_000

_log = logging.getLogger(__name__)


class EmbedDocument:
    """Takes a document from ``MARKDOWN`` to ``READY``.

    Chunks and vectors are written first, then one conditional write lets readers see them, then what they replace is
    removed. Readers drop what is not of the live version, so that nothing half-written or half-removed ever shows.

    Parameters
    ----------
    progress : Progress
        Writes down how far it has come: with each batch, so that a step that dies loses one batch at most.
    ocr : OcrDocument
        Has the pages.
    chunks : ChunkStore
        Keeps the chunks.
    pages : PageStore
        Pages of earlier readings go with their chunks.
    index : Index
        Finds them.
    embed : EmbedTexts
        Gives the vectors.
    max_chunks : int
        More than this is too large a document.
    """

    def __init__(
        self,
        *,
        progress: Progress,
        ocr: OcrDocument,
        chunks: ChunkStore,
        pages: PageStore,
        index: Index,
        embed: EmbedTexts,
        max_chunks: int = MAX_CHUNKS,
    ) -> None:
        self._progress = progress
        self._ocr = ocr
        self._chunks = chunks
        self._pages = pages
        self._index = index
        self._embed = embed
        self._max_chunks = max_chunks

    async def run(self, ingestion: Ingestion) -> Ingestion:
        """Cut, embed and publish, as far as time and quota allow.

        Raises
        ------
        StaleRunError, IllegalTransitionError, StoreError
            As the other steps.
        """
        chunks: Sequence[Chunk] | None = None
        if ingestion.waits_for(DocumentState.MARKDOWN):
            ingestion, chunks = await self._cut(ingestion)
        if ingestion.waits_for(DocumentState.EMBEDDING):
            ingestion = await self._fill(ingestion, chunks)
        if ingestion.waits_for(DocumentState.EMBEDDING):
            ingestion = await self._publish(ingestion)
        record = ingestion.record
        if record.state.is_final and (record.live_version or record.duplicate_of):
            # Also after a delivery that died between the two.
            await self._sweep(ingestion)
        return ingestion

    async def _cut(self, ingestion: Ingestion) -> tuple[Ingestion, Sequence[Chunk]]:
        ingestion = await self._ocr.with_pages(ingestion)
        record, since = ingestion.record, ingestion.spans.now()
        chunks = split(ingestion.pages or (), record.id, record.version)
        if not chunks:
            return await self._progress.end(ingestion, EmptyDocumentError()), ()
        if len(chunks) > self._max_chunks:
            too_long = DocumentTooLargeError("This document has more text than can be indexed.")
            return await self._progress.end(ingestion, too_long), ()
        await self._chunks.save(ingestion.user, chunks)
        ingestion.spans.note("cut", SpanKind.CHUNKS, since=since, chunks=len(chunks))
        return await self._progress.to(ingestion, DocumentState.EMBEDDING, chunks=len(chunks)), chunks

    async def _fill(self, ingestion: Ingestion, chunks: Sequence[Chunk] | None) -> Ingestion:
        user, record = ingestion.user, ingestion.record
        pending = record.pending_chunks
        if not pending:
            return ingestion
        if chunks is None:
            chunks = await self._chunks.of_document(user, record.id, record.version, limit=record.chunks)
        by_number = {chunk.place.number: chunk for chunk in chunks}
        now = ingestion

        async def keep(batch: EmbeddedBatch[int]) -> None:
            nonlocal now
            since, known = now.spans.now(), now.record
            found = sorted(batch.vectors)
            await self._index.upsert(user, [by_number[n] for n in found], [batch.vectors[n] for n in found])
            try:
                now = await self._progress.to(
                    now,
                    DocumentState.EMBEDDING,
                    embedded=known.embedded | batch.vectors.keys(),
                    refused=known.refused | batch.refused.keys(),
                )
            except StaleRunError:
                if await self._progress.is_gone(now):
                    # The list of its chunks went before these vectors came: only here their keys are known.
                    await self._index.delete(user, [by_number[n].id for n in found])
                raise
            first = min([*batch.vectors, *batch.refused])
            error = next(iter(batch.refused.values()), "")
            now.spans.note(f"chunks-{first}", SpanKind.CHUNKS, since=since, error=error, embedded=len(found))

        outcome = await self._embed.run(
            {number: by_number[number].text for number in pending},
            checkpoint=keep,
            seconds_left=ingestion.seconds_left,
        )
        if outcome.reason == "finished":
            return now
        return replace(now, pause=outcome.reason)

    async def _publish(self, ingestion: Ingestion) -> Ingestion:
        record = ingestion.record
        refused = len(record.refused)
        if refused == record.chunks:
            return await self._progress.to(
                ingestion, DocumentState.FAILED, reason="The text of this document could not be indexed."
            )
        if refused:
            # Searchable, but not READY: not every chunk has its vector (rows KB14, HID-32 and HID-33).
            return await self._progress.to(
                ingestion,
                DocumentState.FAILED,
                live_version=record.version,
                reason=f"{refused} of {record.chunks} passages could not be indexed; the others can be found.",
            )
        return await self._progress.to(ingestion, DocumentState.READY, live_version=record.version)

    async def _sweep(self, ingestion: Ingestion) -> None:
        """Remove what the live version replaces. What a later run has written meanwhile is above it, and stays."""
        record = ingestion.record
        # A duplicate has nothing of its own.
        below = record.live_version or record.version + 1
        removed = await remove_versions(self._index, self._chunks, ingestion.user, record.id, below=below)
        # The text of the last reading that has one stays, even if that is not the last.
        await self._pages.remove(ingestion.user, record.id, before=record.text_reading or below)
        if removed:
            _log.info("old chunks removed", extra={"document_id": record.id, "chunks": removed})
