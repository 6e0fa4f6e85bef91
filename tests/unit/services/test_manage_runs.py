from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.domain.errors import NotFoundError, StoreError, ThreadNotFoundError
from shared.domain.runs import RunRow
from shared.domain.threads import ThreadRow
from shared.services.manage_runs import SETTLES, STOP_COMES, WAIT, ManageRuns
from tests.fakes.clock import FixedClock
from tests.fakes.run_rows import InMemoryRuns
from tests.fakes.threads import InMemoryThreads

USER, OTHER = "user-1", "user-2"
THREAD = str(UUID(int=1))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD = timedelta(seconds=30)


def run_number(number):
    return str(UUID(int=(number << 80) | (7 << 76) | (8 << 60)))


class World:
    def __init__(self):
        self.clock = FixedClock(NOW)
        self.threads = InMemoryThreads()
        self.rows = InMemoryRuns(self.clock)
        self.paused = 0.0
        self.while_pausing = None
        self.service = ManageRuns(self.threads, self.rows, self.clock, pause=self._pause)

    async def _pause(self, seconds):
        self.paused += seconds
        if self.while_pausing is not None:
            await self.while_pausing()

    async def begin(self, number):
        record = RunRow(run_id=run_number(number), thread_id=THREAD, created_at=NOW, updated_at=NOW)
        now = self.clock.now()
        return await self.threads.acquire(USER, THREAD, record.run_id, now=now, hold=HOLD, record=record)

    async def ended(self, number, status="success"):
        row = RunRow(run_id=run_number(number), thread_id=THREAD, created_at=NOW, updated_at=NOW, status=status)
        await self.rows.save(USER, rows=[row], now=NOW)

    async def listed(self, **options):
        return [(UUID(run.run_id).int >> 80, run.status) for run in await self.service.search(USER, THREAD, **options)]


@pytest.fixture
async def world():
    world = World()
    await world.threads.create(
        ThreadRow(user_id=USER, thread_id=THREAD, created_at=NOW, updated_at=NOW, last_message_at=NOW)
    )
    return world


async def test_what_goes_on_stands_before_what_has_ended(world):
    for number in (1, 2, 3):
        await world.ended(number)
    await world.begin(4)

    assert await world.listed() == [(4, "running"), (3, "success"), (2, "success"), (1, "success")]
    assert await world.listed(limit=2) == [(4, "running"), (3, "success")]
    assert await world.listed(limit=2, offset=1) == [(3, "success"), (2, "success")]
    assert await world.listed(status="running") == [(4, "running")]
    assert await world.listed(status="success", limit=1) == [(3, "success")]


async def test_a_run_between_its_row_and_its_release_is_listed_once(world):
    await world.begin(4)
    await world.ended(4)

    assert await world.listed() == [(4, "success")]
    assert (await world.service.get(USER, THREAD, run_number(4))).status == "success"


async def test_a_dead_run_is_an_error_also_while_the_next_one_goes_on(world):
    await world.begin(1)
    world.clock.advance(HOLD)
    dead = await world.listed()
    await world.begin(2)

    assert dead == [(1, "error")]
    assert await world.listed() == [(2, "running"), (1, "error")]
    assert (await world.service.get(USER, THREAD, run_number(1))).status == "error"


async def test_what_is_not_there_is_not_found(world):
    await world.begin(1)
    for user, thread, run, error in (
        (USER, THREAD, run_number(9), NotFoundError),
        (OTHER, THREAD, run_number(1), ThreadNotFoundError),
        (USER, str(UUID(int=2)), run_number(1), ThreadNotFoundError),
    ):
        with pytest.raises(error):
            await world.service.get(user, thread, run)


async def test_a_failure_is_not_absence(world):
    world.rows.failure = StoreError("down")
    with pytest.raises(StoreError):
        await world.service.get(USER, THREAD, run_number(1))


async def test_a_stop_waits_until_the_run_has_let_go(world):
    lease = (await world.begin(1)).lease

    async def let_go():
        if world.paused >= 2:
            await world.threads.release(USER, THREAD, lease, status="idle", now=world.clock.now())

    world.while_pausing = let_go
    await world.service.cancel(USER, THREAD, run_number(1), wait=True)

    assert world.paused == 2


async def test_a_stop_waits_a_while_and_no_longer(world):
    await world.begin(1)
    await world.service.cancel(USER, THREAD, run_number(1), wait=True)

    assert world.paused == WAIT.total_seconds()


async def test_a_stop_that_nobody_waits_for_does_not_wait(world):
    lease = (await world.begin(1)).lease
    await world.service.cancel(USER, THREAD, run_number(1), rollback=True)
    signal = await world.threads.watch(USER, THREAD, lease)

    assert (signal.cancel_requested, signal.rollback, world.paused) == (True, True, 0)


async def test_a_run_that_does_not_hold_its_thread_cannot_be_stopped(world):
    await world.ended(1)
    for user, run in ((USER, run_number(1)), (USER, run_number(2)), (OTHER, run_number(1))):
        with pytest.raises(NotFoundError):
            await world.service.cancel(user, THREAD, run)


@pytest.mark.parametrize("asked_after", [0, 0.5, 1])
async def test_who_reads_a_thread_whose_run_is_being_stopped_waits_for_the_run(world, asked_after):
    lease = (await world.begin(1)).lease

    async def stop_and_let_go():
        if world.paused == asked_after:
            await world.service.cancel(USER, THREAD, run_number(1))
        if world.paused == 2:
            await world.threads.release(USER, THREAD, lease, status="idle", now=world.clock.now())

    await stop_and_let_go()
    world.while_pausing = stop_and_let_go
    row = await world.service.settle(USER, THREAD)

    assert (world.paused, row.status) == (2, "idle")


async def test_a_run_that_does_not_stop_is_not_waited_for_without_end(world):
    await world.begin(1)
    await world.service.cancel(USER, THREAD, run_number(1))
    await world.service.settle(USER, THREAD)

    assert world.paused == SETTLES.total_seconds()


async def test_a_run_that_nobody_stops_is_not_waited_for_nor_is_an_idle_thread(world):
    await world.service.settle(USER, THREAD)
    idle = world.paused
    await world.begin(1)
    await world.service.settle(USER, THREAD)

    assert (idle, world.paused) == (0, STOP_COMES.total_seconds())
    with pytest.raises(ThreadNotFoundError):
        await world.service.settle(OTHER, THREAD)
