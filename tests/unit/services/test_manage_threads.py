import uuid

import pytest

from shared.domain.counters import PURGE_NOT_QUEUED
from shared.domain.errors import InvalidInputError, StoreError, ThreadExistsError, ThreadNotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import DEFAULT_TITLE, ThreadQuery
from shared.services.manage_threads import ManageThreads
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.purge_queue import RecordingPurgeQueue
from tests.fakes.threads import InMemoryThreads

ADA, EVE = UserId("ada"), UserId("eve")


@pytest.fixture
def rows():
    return InMemoryThreads()


@pytest.fixture
def queue():
    return RecordingPurgeQueue()


@pytest.fixture
def metrics():
    return CountingMetrics()


@pytest.fixture
def threads(rows, queue, metrics):
    return ManageThreads(rows, queue, FixedClock(), metrics)


def new_id():
    return ThreadId(str(uuid.uuid4()))


async def test_a_new_thread_has_the_default_title_and_is_found(threads):
    row = await threads.create(ADA, new_id(), metadata={"a": 1})

    assert (row.title, row.metadata, row.status) == (DEFAULT_TITLE, {"a": 1}, "idle")
    assert await threads.get(ADA, row.thread_id) == row
    assert await threads.search(ADA, ThreadQuery()) == [row]
    assert await threads.count(ADA, ThreadQuery(metadata={"a": 2})) == 0


async def test_an_id_is_taken_once_per_user(threads):
    thread = new_id()
    first = await threads.create(ADA, thread)

    with pytest.raises(ThreadExistsError):
        await threads.create(ADA, thread)
    assert await threads.create(ADA, thread, metadata={"b": 2}, if_exists="do_nothing") == first
    assert (await threads.create(EVE, thread)).user_id == EVE


async def test_a_deleted_thread_does_not_come_back(threads):
    thread = new_id()
    await threads.create(ADA, thread)
    await threads.delete(ADA, thread)

    for if_exists in ("raise", "do_nothing"):
        with pytest.raises(ThreadExistsError):
            await threads.create(ADA, thread, if_exists=if_exists)


async def test_a_deletion_hides_the_thread_before_it_is_queued(threads, queue, metrics):
    queue.failures = 1
    thread = new_id()
    await threads.create(ADA, thread)
    with pytest.raises(StoreError):
        await threads.delete(ADA, thread)
    with pytest.raises(ThreadNotFoundError):
        await threads.get(ADA, thread)
    assert queue.queued == []
    assert metrics.counts == {PURGE_NOT_QUEUED: 1}, "somebody hears of it even if nobody asks again"

    await threads.delete(ADA, thread)
    await threads.delete(ADA, thread)

    assert queue.queued == [(ADA, thread)] * 2


async def test_nobody_deletes_somebody_elses_thread(threads, queue):
    thread = new_id()
    await threads.create(ADA, thread)

    for user, missing in ((EVE, thread), (ADA, new_id())):
        with pytest.raises(ThreadNotFoundError):
            await threads.delete(user, missing)
    assert queue.queued == []
    assert (await threads.get(ADA, thread)).user_id == ADA


async def test_metadata_is_merged_and_a_title_is_the_rows(threads):
    """G09: the user's title is never the first turn's to change."""
    row = await threads.create(ADA, new_id(), metadata={"a": 1}, title="  Mine ")
    updated = await threads.update(ADA, row.thread_id, metadata={"b": 2}, title="Ours")

    assert row.title == "Mine"
    assert (updated.title, updated.metadata) == ("Ours", {"a": 1, "b": 2})
    assert (await threads.get(ADA, row.thread_id)).title == "Ours"


@pytest.mark.parametrize(
    "wrong", [{"title": ""}, {"title": " "}, {"title": "x" * 201}, {"metadata": {"a": "ü" * 10_000}}]
)
async def test_titles_and_metadata_have_limits(threads, rows, wrong):
    row = await threads.create(ADA, new_id())

    with pytest.raises(InvalidInputError):
        await threads.create(ADA, new_id(), **wrong)
    with pytest.raises(InvalidInputError):
        await threads.update(ADA, row.thread_id, **wrong)
    assert await threads.search(ADA, ThreadQuery()) == [row]
