"""Documents whose pages have to be read by OCR, through the whole graph."""

import pytest

from shared.domain.errors import StoreError
from shared.domain.ids import UserId
from shared.domain.kb.failures import CorruptDocumentError
from shared.domain.kb.ocr import OcrDeniedError, OcrError, OcrRefusedError, OcrThrottledError
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import DocumentKind, PageScan, ParsedDocument
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


class PagesWithoutAFile:
    """Implements ``DocumentParser`` for a scan of many pages, which would take long to make and to cut up."""

    def __init__(self, pages):
        self.pages = tuple(Page.read(number, "", image_cover=0.9) for number in range(1, pages + 1))

    async def parse(self, data, name):
        return ParsedDocument(kind=DocumentKind.PDF, pages=self.pages)

    async def scans(self, data, name, numbers):
        return [PageScan(number=number, data=data, media_type="application/pdf") for number in numbers]


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


async def again(kb, name, mode=ReprocessMode.FULL):
    """Ask for a document to be gone over again, and do it."""
    await kb.manage.reprocess(ANNA, kb.id_of(name), mode)
    await kb.next_step()
    return await kb.record(name)


async def removed(kb, name):
    await kb.manage.delete(ANNA, kb.id_of(name))
    await kb.removal.remove(kb.queue.removals.pop())


async def test_a_second_reading_pays_for_no_page_again(kb, ocr):
    await kb.upload("scan.pdf", scanned(12))
    ocr.failure = AssertionError("paid for twice")
    reads = kb.objects.calls["read"]
    after = await again(kb, "scan.pdf")
    assert (after.state, after.live_version, after.pages_done) == (DocumentState.READY, 2, 12)
    assert kb.objects.calls["read"] == reads + 1, "to be parsed; no page is cut out"
    assert await kb.found("heron")
    (known,) = (span for span in kb.spans.kept.values() if span.name == "pages-read-before")
    assert known.facts == {"pages": 12}


async def test_a_second_reading_pays_for_what_the_first_did_not_read(kb, ocr):
    ocr.errors = {2: OcrRefusedError("too large"), 3: OcrError("no answer")}
    await kb.upload("scan.pdf", scanned(4))
    while kb.queue.steps:
        await kb.next_step()
    ocr.errors.clear()
    ocr.read_pages.clear()
    assert (await again(kb, "scan.pdf")).pages_done == 4
    assert ocr.read_pages == [2, 3]


async def test_pages_that_were_paid_for_are_kept_even_if_the_run_dies_at_once(kb, ocr):
    saves = iter([False, True])

    class DyingPages(type(kb.pages)):
        async def save(self, *args):
            if next(saves, False):
                raise StoreError("down")
            await super().save(*args)

    kb.pages = DyingPages()
    with pytest.raises(StoreError):
        await kb.upload("scan.pdf", scanned(3))
    ocr.failure = AssertionError("paid for twice")
    record = await kb.record("scan.pdf")
    await kb.runner.run(ANNA, record.id, Bounds(seconds_left=lambda: 600.0))
    assert (await kb.record("scan.pdf")).state is DocumentState.READY


async def test_the_same_bytes_under_another_name_are_read_once_and_forgotten_with_the_last(kb, ocr):
    await kb.upload("scan.pdf", scanned(3))
    await kb.upload("copy.pdf", scanned(3))
    await removed(kb, "scan.pdf")
    await kb.next_step()
    assert (await kb.record("copy.pdf")).state is DocumentState.READY
    assert ocr.read_pages == [1, 2, 3]
    assert await kb.found("heron")
    await removed(kb, "copy.pdf")
    assert kb.texts.kept == {}


async def test_what_was_read_of_bytes_that_others_take_the_place_of_is_forgotten(kb):
    await kb.upload("scan.pdf", scanned(3))
    record = await kb.upload("scan.pdf", scanned(2))
    assert {(digest, number) for _, digest, number in kb.texts.kept} == {(record.sha256, 1), (record.sha256, 2)}
    await kb.upload("scan.pdf", b"Only text by now.")
    assert kb.texts.kept == {}


async def test_what_was_read_for_one_user_is_read_again_for_another(kb, ocr):
    await kb.upload("scan.pdf", scanned(2))
    await kb.upload("scan.pdf", scanned(2), user=UserId("ben"))
    assert ocr.read_pages == [1, 2, 1, 2]


async def test_a_scan_of_500_pages_goes_on_at_the_page_where_time_ran_out(kb, ocr):
    """Each step has the time for 64 pages or so; the queue carries the document over."""
    ocr.texts = {number: f"Page {number} tells of the heron." for number in range(1, 501)}
    kb.parser = PagesWithoutAFile(500)
    one_step = [600.0] * 9 + [30.0]

    def time_for_a_while():
        left = iter(one_step)
        return lambda: next(left, 30.0)

    half = await kb.upload("scan.pdf", b"%PDF a long scan", seconds_left=time_for_a_while())
    assert (half.state, half.pages, half.pages_done) == (DocumentState.OCR, 500, 72)
    steps = [half.pages_done]
    while kb.queue.steps and (await kb.record("scan.pdf")).state is DocumentState.OCR:
        assert kb.queue.steps[0][1] == 0, "not a moment is waited"
        await kb.next_step(seconds_left=time_for_a_while())
        steps.append((await kb.record("scan.pdf")).pages_done)
    while kb.queue.steps:
        await kb.next_step()
    record = await kb.record("scan.pdf")
    assert (record.state, record.pages_done) == (DocumentState.READY, 500)
    assert steps == [72, 144, 216, 288, 360, 432, 500]
    assert ocr.read_pages == list(range(1, 501)), "each page once, in order"
