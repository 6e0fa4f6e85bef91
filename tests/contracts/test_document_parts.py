"""What every implementation of the stores of a document's parts keeps: the fakes and those on DynamoDB."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from shared.adapters.dynamodb.chunks import DynamoChunks
from shared.adapters.dynamodb.ocr_texts import DynamoOcrTexts
from shared.adapters.dynamodb.pages import DynamoPages
from shared.adapters.dynamodb.spans import DynamoSpans
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.ocr import OcrText
from shared.domain.kb.pages import Page
from shared.domain.spans import Span, SpanKind, SpanStatus
from tests.fakes.clock import FixedClock
from tests.fakes.document_parts import InMemoryChunks, InMemoryOcrTexts, InMemoryPages, InMemorySpans
from tests.fakes.dynamodb import mocked_dynamodb, no_pause

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE = DocumentId("d-00000000-0000-4000-8000-000000000001")
TWO = DocumentId("d-00000000-0000-4000-8000-000000000002")


def kept(fake, adapter):
    def both(request):
        if request.param == "fake":
            yield fake()
            return
        with mocked_dynamodb() as client:
            yield adapter(client)

    return pytest.fixture(both, params=["fake", "dynamodb"])


chunks = kept(InMemoryChunks, lambda client: DynamoChunks(client, "memory", pause=no_pause))
pages = kept(InMemoryPages, lambda client: DynamoPages(client, "memory", pause=no_pause))

texts = kept(InMemoryOcrTexts, lambda client: DynamoOcrTexts(client, "memory", pause=no_pause))


@pytest.fixture
def clock():
    return FixedClock(AT)


@pytest.fixture(params=["fake", "dynamodb"])
def spans(request, clock):
    if request.param == "fake":
        yield InMemorySpans(clock)
        return
    with mocked_dynamodb() as client:
        yield DynamoSpans(client, "memory", clock=clock, pause=no_pause)


def chunk(number, *, document=ONE, version=1, text="words"):
    return Chunk(
        id=chunk_id(document, version, number),
        text=f"{text} {number}",
        heading_path=("Über uns", "1 > 2"),
        page_from=2,
        page_to=3,
        start=10 * number,
        end=10 * number + 9,
    )


async def numbers(chunks, document=ONE, version=1, *, user=ANNA, limit=1000):
    return [each.place.number for each in await chunks.of_document(user, document, version, limit=limit)]


async def test_chunks_come_back_as_they_were_in_the_order_of_their_numbers(chunks):
    every = [chunk(number) for number in range(120)]
    await chunks.save(ANNA, list(reversed(every)))
    assert await chunks.of_document(ANNA, ONE, 1, limit=1000) == every


async def test_only_the_first_chunks_that_are_wanted_are_read(chunks):
    await chunks.save(ANNA, [chunk(number) for number in range(12)])
    assert await numbers(chunks, limit=11) == list(range(11))
    assert await numbers(chunks, limit=0) == []


async def test_chunks_of_other_versions_documents_and_users_are_others(chunks):
    await chunks.save(ANNA, [chunk(0), chunk(1, version=10), chunk(2, document=TWO)])
    await chunks.save(BEN, [chunk(3)])
    assert await numbers(chunks) == [0]
    assert await numbers(chunks, version=10) == [1]
    assert await numbers(chunks, user=BEN) == [3]
    assert sorted(await chunks.ids(ANNA, ONE)) == sorted([chunk_id(ONE, 1, 0), chunk_id(ONE, 10, 1)])


async def test_removed_chunks_are_gone_and_the_others_are_not(chunks):
    await chunks.save(ANNA, [chunk(number) for number in range(60)])
    await chunks.remove(ANNA, [chunk_id(ONE, 1, number) for number in range(1, 60)] + [chunk_id(ONE, 2, 0)] * 2)
    await chunks.remove(BEN, [chunk_id(ONE, 1, 0)])
    assert await numbers(chunks) == [0]


async def test_a_purge_removes_the_chunks_of_one_user(chunks):
    await chunks.save(ANNA, [chunk(0), chunk(0, document=TWO)])
    await chunks.save(BEN, [chunk(0)])
    await chunks.purge(ANNA)
    assert [await chunks.ids(ANNA, document) for document in (ONE, TWO)] == [[], []]
    assert await numbers(chunks, user=BEN) == [0]


def page(number, text="text"):
    return Page.read(number, f"{text} {number}", image_cover=0.25, rotation=90, label="Blatt 1")


async def test_pages_come_back_as_they_were_in_order(pages):
    every = [page(number) for number in range(1, 31)]
    await pages.save(ANNA, ONE, 1, every[20:])
    await pages.save(ANNA, ONE, 1, every[:20])
    assert await pages.of_reading(ANNA, ONE, 1) == every
    assert await pages.of_reading(BEN, ONE, 1) == []
    assert await pages.of_reading(ANNA, TWO, 1) == []


async def test_of_many_pages_only_as_many_are_read_as_are_wanted(pages):
    every = [page(number, "a text of some length") for number in range(1, 101)]
    await pages.save(ANNA, ONE, 1, every)
    first = await pages.of_reading(ANNA, ONE, 1, characters=100)
    assert sum(len(each.text) for each in first) >= 100
    assert len(first) < 60
    assert first == every[: len(first)]
    assert await pages.of_reading(ANNA, ONE, 1, characters=1_000_000) == every


async def test_a_page_in_many_items_is_whole_also_when_little_of_it_is_wanted(pages):
    large = page(1, "".join(sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(30_000)))
    await pages.save(ANNA, ONE, 1, [large, page(2)])
    assert (await pages.of_reading(ANNA, ONE, 1, characters=100))[0] == large


async def test_a_page_that_is_written_again_is_replaced(pages):
    # KB10: so that pages that have their text are not read again.
    await pages.save(ANNA, ONE, 1, [page(1), page(2)])
    await pages.save(ANNA, ONE, 1, [page(2).with_ocr("a much longer text, from OCR")])
    first, second = await pages.of_reading(ANNA, ONE, 1)
    assert (first, second.ocr_done) == (page(1), True)


async def test_a_page_may_be_larger_than_an_item_and_become_small_again(pages):
    # A document of a kind without pages is one page.
    # Hexadecimal of no pattern: packing leaves half of it.
    large = page(1, "".join(sha256(bytes([n % 256, n // 256])).hexdigest() for n in range(30_000)))
    await pages.save(ANNA, ONE, 1, [large])
    assert await pages.of_reading(ANNA, ONE, 1) == [large]
    await pages.save(ANNA, ONE, 1, [page(1)])
    assert await pages.of_reading(ANNA, ONE, 1) == [page(1)]


async def test_pages_are_removed_by_document_or_up_to_a_reading(pages):
    for reading in (2, 9, 10):
        await pages.save(ANNA, ONE, reading, [page(1)])
    await pages.save(ANNA, TWO, 2, [page(1)])
    await pages.remove(ANNA, ONE, before=10)
    assert [len(await pages.of_reading(ANNA, ONE, reading)) for reading in (2, 9, 10)] == [0, 0, 1]
    await pages.remove(ANNA, ONE)
    assert await pages.of_reading(ANNA, ONE, 10) == []
    assert await pages.of_reading(ANNA, TWO, 2) == [page(1)]


async def test_a_purge_removes_the_pages_of_one_user(pages):
    await pages.save(ANNA, ONE, 1, [page(1)])
    await pages.save(BEN, ONE, 1, [page(1)])
    await pages.purge(ANNA)
    assert await pages.of_reading(ANNA, ONE, 1) == []
    assert await pages.of_reading(BEN, ONE, 1) == [page(1)]


def span(name, *, run="r1", minutes=0, status=SpanStatus.OK):
    return Span(
        id=f"0-{name}",
        run=run,
        name=name,
        kind=SpanKind.NODE,
        status=status,
        started_at=AT + timedelta(minutes=minutes),
        ended_at=None if status is SpanStatus.RUNNING else AT + timedelta(minutes=minutes, seconds=1),
        parent="0",
        error="",
        facts={"pages": 3, "cpu_seconds": 0.25, "state": "PREPARED"},
    )


async def test_spans_come_back_as_they_were_by_the_time_they_began(spans):
    # OB01
    every = [span("c", minutes=1), span("a", minutes=2), span("b", run="r2", minutes=3)]
    await spans.save(ANNA, ONE, every[::-1])
    assert await spans.of_document(ANNA, ONE) == every
    assert await spans.of_document(ANNA, TWO) == []
    assert await spans.of_document(BEN, ONE) == []


async def test_a_span_that_is_written_again_takes_its_own_place(spans):
    # OB03, OB07: and that of another run is another.
    await spans.save(ANNA, ONE, [span("a", status=SpanStatus.RUNNING), span("a"), span("a", run="r2")])
    await spans.save(ANNA, ONE, [replace(span("a"), error="OCR_DENIED", status=SpanStatus.FAILED)])
    found = {each.run: each.status for each in await spans.of_document(ANNA, ONE)}
    assert found == {"r1": SpanStatus.FAILED, "r2": SpanStatus.OK}


async def test_spans_expire(spans, clock):
    # OB06
    await spans.save(ANNA, ONE, [span("a")])
    clock.advance(timedelta(days=29))
    assert len(await spans.of_document(ANNA, ONE)) == 1
    clock.advance(timedelta(days=2))
    assert await spans.of_document(ANNA, ONE) == []


async def test_spans_are_removed_by_document_and_by_user(spans):
    await spans.save(ANNA, ONE, [span("a")])
    await spans.save(ANNA, TWO, [span("a")])
    await spans.save(BEN, ONE, [span("a")])
    await spans.remove(ANNA, ONE)
    assert (await spans.of_document(ANNA, ONE), await spans.of_document(ANNA, TWO)) == ([], [span("a")])
    await spans.purge(ANNA)
    assert await spans.of_document(ANNA, TWO) == []
    assert await spans.of_document(BEN, ONE) == [span("a")]


DIGEST, OTHER_DIGEST = "5a" * 32, "5b" * 32


def read(*numbers, text="Über the heron."):
    return {number: OcrText(text=f"{text} {number}", confidence=0.5) for number in numbers}


async def test_what_was_read_comes_back_by_file_and_page(texts):
    await texts.save(ANNA, DIGEST, read(*range(1, 121)))
    await texts.save(ANNA, DIGEST, {7: OcrText(text="")})
    assert await texts.get(ANNA, DIGEST, range(2, 5)) == read(2, 3, 4)
    assert await texts.get(ANNA, DIGEST, [7, 121]) == {7: OcrText(text="")}
    assert len(await texts.get(ANNA, DIGEST, range(1, 200))) == 120
    assert await texts.get(ANNA, DIGEST, []) == {}
    assert await texts.get(ANNA, OTHER_DIGEST, [1]) == await texts.get(BEN, DIGEST, [1]) == {}


async def test_whether_anything_was_read_is_known_of_each_file_and_user(texts):
    assert not await texts.has_any(ANNA)
    await texts.save(ANNA, DIGEST, read(3))
    assert [await texts.has_any(ANNA), await texts.has_any(ANNA, DIGEST)] == [True, True]
    assert not await texts.has_any(ANNA, OTHER_DIGEST)
    assert not await texts.has_any(BEN)


async def test_only_the_texts_of_some_files_are_kept(texts):
    digests = [f"{number:064x}" for number in (1, 2, 16, 17)]
    for digest in digests:
        await texts.save(ANNA, digest, read(*range(1, 31)))
    await texts.save(BEN, digests[0], read(1))
    await texts.keep_only(ANNA, [digests[1], digests[3], "nothing"])
    assert [len(await texts.get(ANNA, digest, range(1, 31))) for digest in digests] == [0, 30, 0, 30]
    assert await texts.get(BEN, digests[0], [1]) == read(1)
    await texts.keep_only(ANNA, [])
    assert [len(await texts.get(ANNA, digest, range(1, 31))) for digest in digests] == [0, 0, 0, 0]


async def test_a_purge_removes_the_texts_of_one_user(texts):
    await texts.save(ANNA, DIGEST, read(1))
    await texts.save(BEN, DIGEST, read(1))
    await texts.purge(ANNA)
    assert (await texts.get(ANNA, DIGEST, [1]), await texts.get(BEN, DIGEST, [1])) == ({}, read(1))
