"""The second step: pages that are pictures of text are read, a few at a time, and kept as they come."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.domain.kb.failures import DocumentError
from shared.domain.kb.ocr import OcrDeniedError, OcrError, OcrRefusedError, OcrText
from shared.domain.kb.pages import pages_for_ocr
from shared.domain.kb.parsed import PageScan
from shared.domain.kb.states import DocumentState
from shared.domain.spans import SpanKind
from shared.kb_ports import DocumentParser, Ocr, OcrTexts, PageStore
from shared.services.ingestion import Ingestion, Progress
from shared.services.prepare_document import PrepareDocument

PAGES_AT_ONCE: Final = 8
"""How many pages are cut out, sent and kept together; each may have ten megabytes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of a few pages: those that OCR read, and those that it does not take."""

    answers: Mapping[int, OcrText]
    refused: Sequence[int]

    @property
    def texts(self) -> Mapping[int, str]:
        return {number: answer.text for number, answer in self.answers.items()} | dict.fromkeys(self.refused, "")


class OcrDocument:
    """Reads the pages of a ``PREPARED`` document that need OCR. What cannot be read keeps nothing else from going on.

    Parameters
    ----------
    progress : Progress
        Writes down how far it has come.
    prepare : PrepareDocument
        Has the object.
    parser : DocumentParser
        Cuts pages out.
    pages : PageStore
        Keeps what was read, page by page, so that no page is paid for twice (row KB10).
    texts : OcrTexts
        What was read before of the same bytes, by whichever run of whichever document of the user.
    ocr : Ocr or None
        Reads pictures; ``None`` where there is nothing that does.
    reserve_seconds : float
        No page is begun when no more than this is left.
    """

    def __init__(
        self,
        *,
        progress: Progress,
        prepare: PrepareDocument,
        parser: DocumentParser,
        pages: PageStore,
        texts: OcrTexts,
        ocr: Ocr | None,
        reserve_seconds: float = 30.0,
    ) -> None:
        self._progress = progress
        self._prepare = prepare
        self._parser = parser
        self._pages = pages
        self._texts = texts
        self._ocr = ocr
        self._reserve = reserve_seconds

    async def run(self, ingestion: Ingestion) -> Ingestion:
        """Read what needs OCR, as far as time and quota allow.

        Raises
        ------
        StaleRunError, IllegalTransitionError, StoreError
            As the other steps.
        """
        if not ingestion.waits_for(DocumentState.PREPARED, DocumentState.OCR):
            return ingestion
        ingestion = await self.with_pages(ingestion)
        if not pages_for_ocr(ingestion.pages or ()) or self._ocr is None:
            return ingestion
        ingestion = await self._read_before(ingestion)
        wanted = pages_for_ocr(ingestion.pages or ())
        if not wanted:
            return ingestion
        try:
            ingestion = replace(ingestion, data=await self._prepare.object_of(ingestion))
        except DocumentError as error:
            return await self._progress.end(ingestion, error)
        ingestion = await self._progress.to(ingestion, DocumentState.OCR)
        for start in range(0, len(wanted), PAGES_AT_ONCE):
            if ingestion.seconds_left() <= self._reserve:
                return replace(ingestion, pause="time")
            numbers = wanted[start : start + PAGES_AT_ONCE]
            read, error = await self._read(ingestion, numbers, self._ocr)
            # First what was paid for: a run that dies here does not pay again.
            await self._texts.save(ingestion.user, ingestion.record.sha256, read.answers)
            ingestion = await self._keep(ingestion, read.texts)
            if isinstance(error, OcrDeniedError):
                # The same for every page.
                _log.warning("OCR may not be used", extra={"code": error.code})
                break
            if error is not None and error.retryable and ingestion.patient:
                return replace(ingestion, pause="ocr")
        return ingestion

    async def with_pages(self, ingestion: Ingestion) -> Ingestion:
        """Give the ingestion with its pages, read if this step has not got them."""
        if ingestion.pages is not None:
            return ingestion
        record = ingestion.record
        return replace(ingestion, pages=tuple(await self._pages.of_reading(ingestion.user, record.id, record.reading)))

    async def _read_before(self, ingestion: Ingestion) -> Ingestion:
        """Give the pages that were read in another run the texts that they got there."""
        since = ingestion.spans.now()
        wanted = pages_for_ocr(ingestion.pages or ())
        known = await self._texts.get(ingestion.user, ingestion.record.sha256, wanted)
        if not known:
            return ingestion
        ingestion.spans.note("pages-read-before", SpanKind.PAGE, since=since, pages=len(known))
        return await self._keep(ingestion, {number: answer.text for number, answer in known.items()})

    async def _read(self, ingestion: Ingestion, numbers: Sequence[int], ocr: Ocr) -> tuple[_Read, OcrError | None]:
        """Give the texts of the pages that could be read, and the worst of what kept the others from it."""
        since = ingestion.spans.now()
        scans = await self._scans(ingestion, numbers)
        answers = await asyncio.gather(*(ocr.read(scan) for scan in scans), return_exceptions=True)
        read: dict[int, OcrText] = {}
        refused: list[int] = []
        errors: list[OcrError] = []
        for scan, answer in zip(scans, answers, strict=True):
            code, confidence = "", 0.0
            match answer:
                case OcrRefusedError() as error:
                    # Another time it would be refused again: the page stays with the text that it has.
                    refused.append(scan.number)
                    code = error.code
                case OcrError() as error:
                    errors.append(error)
                    code = error.code
                case BaseException() as error:
                    raise error
                case text:
                    read[scan.number], confidence = text, text.confidence
            ingestion.spans.note(
                f"page-{scan.number}", SpanKind.PAGE, since=since, error=code, confidence=round(confidence, 3)
            )
        for number in set(numbers) - {scan.number for scan in scans}:
            ingestion.spans.note(f"page-{number}", SpanKind.PAGE, since=since, error=DocumentState.CORRUPT)
        denied = next((error for error in errors if isinstance(error, OcrDeniedError)), None)
        return _Read(read, refused), denied or (errors[0] if errors else None)

    async def _scans(self, ingestion: Ingestion, numbers: Sequence[int]) -> Sequence[PageScan]:
        """Cut pages out; when one of them cannot be, each by itself, and that one is left as it is."""
        data, name = ingestion.data or b"", ingestion.record.name
        try:
            return await self._parser.scans(data, name, numbers)
        except DocumentError as error:
            _log.warning("page not cut out", extra={"code": error.code, "pages": len(numbers)})
            if len(numbers) == 1:
                return []
        return [scan for number in numbers for scan in await self._scans(ingestion, [number])]

    async def _keep(self, ingestion: Ingestion, texts: Mapping[int, str]) -> Ingestion:
        if not texts:
            return ingestion
        before = ingestion.pages or ()
        pages = tuple(page.with_ocr(texts[page.number]) if page.number in texts else page for page in before)
        record = ingestion.record
        await self._pages.save(
            ingestion.user, record.id, record.reading, [page for page in pages if page.number in texts]
        )
        done = len(pages) - len(pages_for_ocr(pages))
        return replace(await self._progress.to(ingestion, DocumentState.OCR, pages_done=done), pages=pages)
