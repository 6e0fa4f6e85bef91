"""What is left of a deleted thread, and when it goes."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.domain import counters
from shared.domain.errors import StoreError, ThreadBusyError, ThreadExistsError
from shared.domain.runs import EventPage, RunRow
from shared.domain.spans import Span, SpanKind, SpanStatus, Trace
from shared.domain.summary import SummaryEntry
from shared.domain.threads import ThreadRow
from shared.services.purge_thread import PurgeThread
from tests.fakes.checkpoints import CountedCheckpoints
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.run_rows import InMemoryRuns
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summarizer import covering
from tests.fakes.threads import InMemoryThreads
from tests.fakes.traces import InMemoryTraces

USER = "user-1"
THREAD = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
RUN = "33333333-3333-4333-8333-333333333333"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOLD = timedelta(seconds=30)


def entry(thread, sequence):
    return SummaryEntry(
        thread_id=thread,
        sequence=sequence,
        start_message_index=0,
        end_message_index=0,
        message_count=1,
        message_ids=["h1"],
        summary=covering("#1"),
        token_count_before=1,
        token_count_after=1,
        created_at=NOW,
    )


def row(thread):
    return ThreadRow(user_id=USER, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW)


class World:
    """Two threads with everything a thread has; time passes while the purge pauses."""

    def __init__(self):
        self.clock = FixedClock(NOW)
        self.metrics = CountingMetrics()
        self.threads = InMemoryThreads()
        self.summaries = InMemorySummaries(self.threads)
        self.runs = InMemoryRuns(self.clock)
        self.traces = InMemoryTraces(self.clock)
        self.checkpoints = CountedCheckpoints()
        self.while_pausing = None
        self.service = PurgeThread(
            threads=self.threads,
            summaries=self.summaries,
            runs=self.runs,
            traces=self.traces,
            checkpoints=self.checkpoints,
            clock=self.clock,
            metrics=self.metrics,
            tombstone_for=timedelta(days=90),
            patience=timedelta(seconds=40),
            pause=self._pause,
        )

    async def _pause(self, seconds):
        self.clock.advance(timedelta(seconds=seconds))
        if self.while_pausing:
            await self.while_pausing()

    async def fill(self):
        for thread in (THREAD, OTHER):
            await self.threads.create(row(thread))
            self.checkpoints.left[USER, thread] = 7
            for sequence in (1, 2):
                self.summaries.plant(USER, entry(thread, sequence))
            self.summaries.plant_corrupt(USER, thread, 3)
            run = RunRow(run_id=RUN, thread_id=thread, created_at=NOW, updated_at=NOW, status="success")
            page = EventPage(run_id=RUN, thread_id=thread, first=1, last=2, body=b"said")
            await self.runs.save(USER, rows=[run], pages=[page], now=NOW)
            root = Span(id="1", run=RUN, name="agent", kind=SpanKind.RUN, status=SpanStatus.OK, started_at=NOW)
            await self.traces.save(
                USER, Trace(run_id=RUN, thread_id=thread, origin="chat", message_id="h1", spans=[root])
            )

    async def run_holds(self):
        return (await self.threads.acquire(USER, THREAD, RUN, now=self.clock.now(), hold=HOLD)).lease

    async def delete(self):
        await self.threads.mark_deleting(USER, THREAD, now=self.clock.now())

    async def runs_left(self, thread):
        return len(await self.runs.search(USER, thread)) + len(await self.runs.pages(USER, thread, RUN))

    async def rows_left(self, thread):
        rows = await self.summaries.of_thread(USER, thread)
        return len(rows.entries) + rows.corrupt


@pytest.fixture
async def world():
    world = World()
    await world.fill()
    return world


async def test_everything_of_the_thread_goes_and_nothing_of_another(world):
    # DL03, HID-02: corrupt rows too.
    await world.delete()
    assert await world.service.purge(USER, THREAD) == "purged"
    assert await world.rows_left(THREAD) == 0
    assert (USER, THREAD) not in world.checkpoints.left
    assert (await world.runs_left(THREAD), await world.runs_left(OTHER)) == (0, 2)
    # OB06
    assert [len(await world.traces.of_thread(USER, thread)) for thread in (THREAD, OTHER)] == [0, 1]
    assert await world.rows_left(OTHER) == 3
    assert world.checkpoints.left[USER, OTHER] == 7
    assert world.metrics.counts[counters.THREAD_PURGED] == 1


async def test_the_id_is_not_used_again_until_the_tombstone_expires(world):
    # Decision 9
    await world.delete()
    await world.service.purge(USER, THREAD)
    with pytest.raises(ThreadExistsError):
        await world.threads.create(row(THREAD))


async def test_a_purge_may_be_done_again(world):
    await world.delete()
    await world.service.purge(USER, THREAD)
    assert await world.service.purge(USER, THREAD) == "purged"


async def test_a_thread_that_nobody_deleted_is_left_alone(world):
    assert await world.service.purge(USER, THREAD) == "refused"
    assert await world.rows_left(THREAD) == 3
    assert world.checkpoints.left[USER, THREAD] == 7
    assert world.metrics.counts[counters.PURGE_REFUSED] == 1


async def test_another_user_cannot_purge_a_thread(world):
    await world.delete()
    await world.service.purge("user-2", THREAD)
    assert await world.rows_left(THREAD) == 3
    assert world.checkpoints.left[USER, THREAD] == 7


async def test_a_purge_waits_for_the_run_to_let_go(world):
    # Decision 9: the running invocation sees the deletion as a cancel, stores nothing more and gives the lease back.
    lease = await world.run_holds()
    await world.delete()

    async def let_go():
        assert await world.rows_left(THREAD) == 3
        await world.threads.release(USER, THREAD, lease, status="interrupted", now=world.clock.now())

    world.while_pausing = let_go
    assert await world.service.purge(USER, THREAD) == "purged"
    assert await world.rows_left(THREAD) == 0


async def test_a_purge_waits_for_a_dead_run_s_lease_to_run_out(world):
    await world.run_holds()
    await world.delete()
    assert await world.service.purge(USER, THREAD) == "purged"
    assert world.clock.now() >= NOW + HOLD


async def test_a_run_that_goes_on_leaves_the_purge_to_the_next_delivery(world):
    lease = await world.run_holds()
    await world.delete()

    async def renew():
        await world.threads.renew(USER, THREAD, lease, world.clock.now() + HOLD)

    world.while_pausing = renew
    with pytest.raises(ThreadBusyError):
        await world.service.purge(USER, THREAD)
    assert await world.rows_left(THREAD) == 3
    assert world.metrics.counts[counters.PURGE_WAITED] == 1
    world.while_pausing = None
    assert await world.service.purge(USER, THREAD) == "purged"


@pytest.mark.parametrize("broken", ["forget", "runs", "checkpoints", "bury"])
async def test_a_purge_that_broke_off_is_finished_by_the_next(world, broken):
    # DL05, DL06 as decision 9 has it: nothing is logged and forgotten.
    await world.delete()
    port, call = {
        "forget": (world.summaries, "forget"),
        "runs": (world.runs, "forget"),
        "checkpoints": (world.checkpoints, "purge"),
        "bury": (world.threads, "bury"),
    }[broken]
    port.failures = {call: StoreError("down")}
    with pytest.raises(StoreError):
        await world.service.purge(USER, THREAD)
    port.failures = {}
    assert await world.service.purge(USER, THREAD) == "purged"
    assert await world.rows_left(THREAD) == 0
    assert (USER, THREAD) not in world.checkpoints.left
    assert await world.threads.lease_of_deleted(USER, THREAD) is None
