"""Documents whose pages have to be read by OCR, through the whole graph."""

import pytest

from shared.domain.kb.failures import CorruptDocumentError
from shared.domain.kb.ocr import OcrDeniedError, OcrError, OcrRefusedError, OcrThrottledError
from shared.domain.kb.reprocess import Reprocess, ReprocessMode
from shared.domain.kb.states import DocumentState
from shared.domain.spans import SpanKind
from shared.graphs.knowledge.runner import Bounds
from tests.fakes.knowledge import ANNA, KnowledgeBase
from tests.fakes.made_files import PdfPage, pdf
from tests.fakes.ocr import PlannedOcr

SCANNED = PdfPage(picture=0.9)
TYPED = PdfPage(["This page is typed, and tells of the egret at some length."])


def scanned(pages):
    return pdf(*[SCANNED] * pages)


@pytest.fixture
def ocr():
    ocr = PlannedOcr()
    ocr.texts = {number: f"Page {number} tells of the heron." for number in range(1, 99)}
    return ocr


@pytest.fixture
def kb(ocr):
    return KnowledgeBase(ocr=ocr)


async def test_only_pages_that_are_pictures_are_sent(kb, ocr):
    record = await kb.upload("mixed.pdf", pdf(TYPED, SCANNED, TYPED, SCANNED))
    assert ocr.read_pages == [2, 4]
    assert (record.state, record.pages, record.pages_done) == (DocumentState.READY, 4, 4)
    assert await kb.found("heron")
    pages = {span.name: span for span in kb.spans.kept.values() if span.kind is SpanKind.PAGE}
    assert pages.keys() == {"page-2", "page-4"}
    assert pages["page-2"].facts == {"confidence": 0.99}


async def test_a_scan_where_nothing_reads_pictures_says_what_it_needs():
    kb = KnowledgeBase()
    record = await kb.upload("scan.pdf", scanned(2))
    assert (record.state, record.state.may_be_retried) == (DocumentState.NEEDS_OCR, True)
    assert "OCR" in record.reason
    assert (record.pages, record.pages_done) == (2, 0)


async def test_without_the_right_to_ocr_one_page_is_asked_for_and_no_more(kb, ocr):
    ocr.failure = OcrDeniedError("no rights")
    assert (await kb.upload("scan.pdf", scanned(30))).state is DocumentState.NEEDS_OCR
    assert ocr.calls["read"] == 8, "those that were on their way together"


async def test_without_the_right_to_ocr_what_is_typed_is_found(kb, ocr):
    ocr.failure = OcrDeniedError("no rights")
    record = await kb.upload("mixed.pdf", pdf(TYPED, SCANNED, SCANNED))
    assert (record.state, record.reason) == (DocumentState.READY, "2 of 3 pages could not be read.")
    assert await kb.found("egret")


async def test_a_page_that_ocr_does_not_take_keeps_no_other_from_being_read(kb, ocr):
    ocr.errors[2] = OcrRefusedError("too large")
    record = await kb.upload("scan.pdf", scanned(3))
    assert record.state is DocumentState.READY
    assert ocr.read_pages == [1, 2, 3]
    assert len(await kb.pages.of_reading(ANNA, record.id, 1)) == 3


async def test_pages_without_a_word_are_an_empty_document(kb, ocr):
    # KB12
    ocr.texts.clear()
    assert (await kb.upload("scan.pdf", scanned(3))).state is DocumentState.EMPTY


async def test_throttled_pages_are_read_later_and_the_others_are_not_paid_for_twice(kb, ocr):
    # KB10
    ocr.errors[3] = OcrThrottledError("slow down")
    half = await kb.upload("scan.pdf", scanned(12))
    assert (half.state, half.pages_done) == (DocumentState.OCR, 7)
    ocr.errors.clear()
    assert await kb.next_step() == "ended"
    record = await kb.record("scan.pdf")
    assert (record.state, record.pages_done) == (DocumentState.READY, 12)
    assert sorted(ocr.read_pages) == sorted([*range(1, 13), 3])


async def test_a_page_that_stays_unread_is_at_last_not_waited_for(kb, ocr):
    ocr.errors[2] = OcrError("no answer")
    await kb.upload("scan.pdf", scanned(3))
    while kb.queue.steps:
        await kb.next_step()
    record = await kb.record("scan.pdf")
    assert (record.state, record.reason) == (DocumentState.READY, "1 of 3 pages could not be read.")


async def test_little_time_left_between_pages_queues_the_rest(kb, ocr):
    left = iter([600.0, 600.0, 29.0])
    half = await kb.upload("scan.pdf", scanned(20), seconds_left=lambda: next(left))
    assert (half.state, half.pages_done) == (DocumentState.OCR, 16)
    assert [wait for _, wait in kb.queue.steps] == [0]
    await kb.next_step()
    assert (await kb.record("scan.pdf")).pages_done == 20
    assert len(ocr.read_pages) == 20


async def test_a_page_that_cannot_be_cut_out_keeps_no_other_from_being_read(kb, ocr):
    scans = kb.parser.scans

    async def scans_but_one(data, name, numbers):
        if 2 in numbers:
            raise CorruptDocumentError
        return await scans(data, name, numbers)

    kb.parser.scans = scans_but_one
    record = await kb.upload("scan.pdf", scanned(3))
    assert (record.state, record.reason) == (DocumentState.READY, "1 of 3 pages could not be read.")
    assert ocr.read_pages == [1, 3]


async def test_a_retry_of_what_failed_reads_only_the_pages_without_text(kb, ocr):
    # KB20 retryFailed, KB10
    ocr.failure = OcrDeniedError("no rights")
    record = await kb.upload("scan.pdf", scanned(2))
    assert (record.state, record.reading) == (DocumentState.NEEDS_OCR, 1)
    ocr.failure = None
    again = record.restarted(ReprocessMode.RETRY_FAILED, Reprocess.FROM_PAGES, "again")
    await kb.documents.save(ANNA, again, now=kb.clock.now(), run=record.run)
    await kb.runner.run(ANNA, record.id, Bounds(seconds_left=lambda: 600.0, run="again"))
    after = await kb.record("scan.pdf")
    assert (after.state, after.live_version, after.reading) == (DocumentState.READY, 2, 1)
    assert ocr.read_pages[-2:] == [1, 2]
    assert await kb.found("heron")
