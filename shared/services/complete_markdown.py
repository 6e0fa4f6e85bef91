"""The third step: every page that can be read has its text, and a chat may use it."""

from dataclasses import replace

from shared.domain.kb.failures import DocumentError
from shared.domain.kb.pages import pages_for_ocr, require_text
from shared.domain.kb.records import unread_reason
from shared.domain.kb.states import DocumentState
from shared.services.ingestion import Ingestion, Progress
from shared.services.ocr_document import OcrDocument


class CompleteMarkdown:
    """Takes a document to ``MARKDOWN``, or to where one without text ends (rows KB12 and KB15).

    Parameters
    ----------
    progress : Progress
        Writes down how far it has come.
    ocr : OcrDocument
        Has the pages.
    """

    def __init__(self, *, progress: Progress, ocr: OcrDocument) -> None:
        self._progress = progress
        self._ocr = ocr

    async def run(self, ingestion: Ingestion) -> Ingestion:
        """Look at what the pages have come to.

        Raises
        ------
        StaleRunError, IllegalTransitionError, StoreError
            As the other steps.
        """
        if not ingestion.waits_for(DocumentState.PREPARED, DocumentState.OCR):
            return ingestion
        ingestion = await self._ocr.with_pages(ingestion)
        pages = ingestion.pages or ()
        try:
            require_text(pages)
        except DocumentError as error:
            return await self._progress.end(ingestion, error)
        record = ingestion.record
        record = replace(record, text_reading=record.reading, pages_done=len(pages) - len(pages_for_ocr(pages)))
        return await self._progress.to(
            replace(ingestion, record=record), DocumentState.MARKDOWN, reason=unread_reason(record)
        )
