"""What every implementation of ``Runs`` keeps: the fake and the one on DynamoDB."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.adapters.dynamodb.runs import KEEP_EVENTS, KEEP_ROWS, DynamoRuns
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.runs import PAGE_MAX_BYTES, EventPage, RunRow
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.run_rows import InMemoryRuns

ANNA, BEN = UserId("anna"), UserId("ben")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE, TWO = (ThreadId(str(UUID(int=number, version=4))) for number in (1, 2))


def run_number(number):
    return RunId(str(UUID(int=(number << 80) | (7 << 76) | (8 << 60))))


def row(number=1, *, thread=ONE, **fields):
    ended = NOW + timedelta(seconds=number)
    return RunRow(
        **{
            "run_id": run_number(number),
            "thread_id": thread,
            "created_at": NOW,
            "updated_at": ended,
            "status": "success",
            **fields,
        }
    )


def page(first, last, body=b"events", *, number=1, thread=ONE, base=None):
    return EventPage(run_id=run_number(number), thread_id=thread, first=first, last=last, body=body, base=base)


@pytest.fixture
def clock():
    return FixedClock(NOW)


@pytest.fixture(params=["fake", "dynamodb"])
def runs(request, clock):
    if request.param == "fake":
        yield InMemoryRuns(clock)
        return
    with mocked_dynamodb() as client:
        yield DynamoRuns(client, "memory", clock=clock, pause=no_pause)


async def test_a_row_comes_back_whole(runs):
    kept = row(status="interrupted", strategy="rollback", metadata={"ü": [1, 1.5, None, {"a": True}]})

    await runs.save(ANNA, rows=[kept], now=NOW)

    assert await runs.get(ANNA, ONE, kept.run_id) == kept


async def test_a_row_written_again_takes_the_place_of_the_first(runs):
    await runs.save(ANNA, rows=[row(status="error")], now=NOW)
    await runs.save(ANNA, rows=[row(status="success")], now=NOW)

    assert [each.status for each in await runs.search(ANNA, ONE)] == ["success"]


async def test_runs_are_their_owners_and_their_threads(runs):
    """HID-12."""
    await runs.save(ANNA, rows=[row()], pages=[page(1, 3)], now=NOW)

    for user, thread in ((BEN, ONE), (ANNA, TWO)):
        assert await runs.get(user, thread, run_number(1)) is None
        assert list(await runs.search(user, thread)) == []
        assert list(await runs.pages(user, thread, run_number(1))) == []


async def test_rows_are_listed_newest_first_and_page_by_page(runs):
    await runs.save(ANNA, rows=[row(number) for number in (2, 30, 1, 4, 3)], now=NOW)

    async def numbers(**options):
        return [UUID(each.run_id).int >> 80 for each in await runs.search(ANNA, ONE, **options)]

    assert await numbers() == await numbers(limit=5) == [30, 4, 3, 2, 1]
    assert await numbers(limit=2) == [30, 4]
    assert await numbers(limit=2, offset=2) == [3, 2]
    assert await numbers(limit=2, offset=5) == []


async def test_rows_are_listed_by_status(runs):
    rows = [row(number, status="error" if number % 2 else "success") for number in range(1, 8)]
    await runs.save(ANNA, rows=rows, now=NOW)

    found = await runs.search(ANNA, ONE, status="error", limit=2, offset=1)

    assert [each.run_id for each in found] == [run_number(5), run_number(3)]


async def test_pages_come_back_in_the_order_of_their_numbers(runs):
    body = bytes(range(256))
    pages = [page(1, 9), page(10, 99, body, base="c1"), page(100, 1000)]
    await runs.save(ANNA, pages=list(reversed(pages)), now=NOW)

    assert list(await runs.pages(ANNA, ONE, run_number(1))) == pages
    assert list(await runs.pages(ANNA, ONE, run_number(1), since=10)) == pages[1:]
    assert list(await runs.pages(ANNA, ONE, run_number(1), since=11)) == pages[2:]
    assert list(await runs.pages(ANNA, ONE, run_number(1), since=1001)) == []


async def test_a_page_that_begins_alike_takes_the_place_of_the_first(runs):
    await runs.save(ANNA, pages=[page(1, 3, b"short")], now=NOW)
    await runs.save(ANNA, pages=[page(1, 8, b"longer")], now=NOW)

    assert [(each.last, each.body) for each in await runs.pages(ANNA, ONE, run_number(1))] == [(8, b"longer")]


async def test_pages_as_large_as_they_may_be_and_many_of_them(runs):
    large = [page(first, first, bytes(PAGE_MAX_BYTES)) for first in range(1, 31)]

    await runs.save(ANNA, pages=large, now=NOW)

    assert [each.first for each in await runs.pages(ANNA, ONE, run_number(1))] == list(range(1, 31))


async def test_events_expire_before_rows_do(runs, clock):
    await runs.save(ANNA, rows=[row()], pages=[page(1, 3)], now=NOW)
    clock.advance(KEEP_EVENTS)
    events, rows = await runs.pages(ANNA, ONE, run_number(1)), await runs.search(ANNA, ONE)
    clock.advance(KEEP_ROWS)

    assert (list(events), len(rows)) == ([], 1)
    assert list(await runs.search(ANNA, ONE)) == []
    assert await runs.get(ANNA, ONE, run_number(1)) is None


async def test_a_forgotten_thread_leaves_nothing_and_others_stay(runs):
    for user, thread in ((ANNA, ONE), (ANNA, TWO), (BEN, ONE)):
        rows = [replace(row(number), thread_id=thread) for number in range(1, 4)]
        await runs.save(user, rows=rows, pages=[page(1, 3, thread=thread)], now=NOW)

    await runs.forget(ANNA, ONE)
    await runs.forget(ANNA, ONE)

    assert list(await runs.search(ANNA, ONE)) == []
    assert list(await runs.pages(ANNA, ONE, run_number(1))) == []
    for user, thread in ((ANNA, TWO), (BEN, ONE)):
        assert len(await runs.search(user, thread)) == 3
        assert len(await runs.pages(user, thread, run_number(1))) == 1
