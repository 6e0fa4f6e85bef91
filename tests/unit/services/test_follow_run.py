from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.domain.errors import NotFoundError, ThreadNotFoundError
from shared.domain.runs import EventPage, RunRow
from shared.domain.threads import ThreadRow
from shared.services.follow_run import FollowRun
from tests.fakes.clock import FixedClock
from tests.fakes.run_rows import InMemoryRuns
from tests.fakes.threads import InMemoryThreads

USER, OTHER = "user-1", "user-2"
THREAD, RUN = str(UUID(int=1)), str(UUID(int=2))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD = timedelta(seconds=30)


class World:
    """A run; what it does next is done while the follower pauses."""

    def __init__(self):
        self.clock = FixedClock(NOW)
        self.threads = InMemoryThreads()
        self.rows = InMemoryRuns(self.clock)
        self.next = []
        self.service = FollowRun(self.threads, self.rows, self.clock, pause=self._pause)
        self.lease = None

    async def _pause(self, _seconds):
        assert self.next, "the follower waits for ever"
        step = self.next.pop(0)
        if step is not None:
            await step

    async def begin(self):
        record = RunRow(run_id=RUN, thread_id=THREAD, created_at=NOW, updated_at=NOW)
        self.lease = (await self.threads.acquire(USER, THREAD, RUN, now=NOW, hold=HOLD, record=record)).lease

    async def keep(self, *spans):
        pages = [EventPage(run_id=RUN, thread_id=THREAD, first=one, last=other, body=b"") for one, other in spans]
        await self.rows.save(USER, pages=pages, now=NOW)

    async def end(self, *spans):
        await self.keep(*spans)
        row = RunRow(run_id=RUN, thread_id=THREAD, created_at=NOW, updated_at=NOW, status="success")
        await self.rows.save(USER, rows=[row], now=NOW)
        await self.threads.release(USER, THREAD, self.lease, status="idle", now=NOW)

    async def die(self):
        self.clock.advance(HOLD)

    async def followed(self):
        return [(page.first, page.last) async for page in self.service.pages(USER, THREAD, RUN)]


@pytest.fixture
async def world():
    world = World()
    await world.threads.create(
        ThreadRow(user_id=USER, thread_id=THREAD, created_at=NOW, updated_at=NOW, last_message_at=NOW)
    )
    await world.begin()
    return world


async def test_pages_come_in_order_as_they_are_kept(world):
    await world.keep((1, 3))
    world.next = [world.keep((4, 5), (6, 9)), None, world.end((10, 12)), *[None] * 4]

    assert await world.followed() == [(1, 3), (4, 5), (6, 9), (10, 12)]


async def test_a_run_that_is_over_is_read_without_waiting(world):
    await world.end((1, 3), (4, 8))
    world.next = [None] * 4

    assert await world.followed() == [(1, 3), (4, 8)]


async def test_what_came_just_before_the_end_is_not_missed(world):
    reads = world.rows.pages
    looks = []

    async def slow(*args, **options):
        found = await reads(*args, **options)
        if not looks:
            looks.append(1)
            await world.end((1, 4))
        return found

    world.rows.pages = slow

    assert await world.followed() == [(1, 4)]


async def test_a_page_that_has_grown_comes_again(world):
    await world.keep((1, 3))
    world.next = [world.keep((1, 7)), world.end((8, 9)), *[None] * 5]

    assert await world.followed() == [(1, 3), (1, 7), (8, 9)]


async def test_a_last_page_that_has_grown_comes_again(world):
    await world.keep((1, 3))
    world.next = [world.keep((1, 7)), *[None] * 20, world.end(), *[None] * 20]

    assert await world.followed() == [(1, 3), (1, 7)]


async def test_looks_while_nothing_comes_read_nothing_and_become_rare(world):
    """Each costs the smallest unit there is, whatever the last page holds."""
    await world.keep((1, 3))
    reads, looks, pauses = world.rows.pages, [], []

    async def noted(*args, since, consistent=True):
        found = await reads(*args, since=since)
        looks.append((len(found), consistent))
        return found

    async def pause(seconds):
        pauses.append(seconds)
        if sum(pauses) > 60:
            await world.end()

    world.rows.pages, world.service._pause = noted, pause
    await world.followed()

    cheap = [look for look in looks if look == (0, False)]
    assert len(looks) - len(cheap) <= 3
    assert len(cheap) < 75
    assert world.threads.calls["get"] < 10
    assert max(pauses) <= 1


async def test_a_gap_is_waited_for(world):
    """Pages that are written together may be seen one after another."""
    await world.keep((1, 3), (6, 9))
    world.next = [None, world.keep((4, 5)), world.end(), *[None] * 4]

    assert await world.followed() == [(1, 3), (4, 5), (6, 9)]


async def test_a_run_that_dies_ends(world):
    await world.keep((1, 3))
    world.next = [None, world.die(), *[None] * 4]

    assert await world.followed() == [(1, 3)]


async def test_a_run_that_says_nothing_for_long_is_waited_for(world):
    await world.keep((1, 3))
    world.next = [*[None] * 50, world.end((4, 4)), *[None] * 4]

    assert await world.followed() == [(1, 3), (4, 4)]


async def test_a_run_that_goes_on_is_asked_to_keep_its_events(world):
    await world.service.check(USER, THREAD, RUN)

    assert (await world.threads.watch(USER, THREAD, world.lease)).followed


async def test_runs_that_ended_died_or_were_undone_can_be_followed(world):
    world.clock.advance(HOLD)
    await world.service.check(USER, THREAD, RUN)
    await world.end()
    await world.service.check(USER, THREAD, RUN)
    undone = World()
    undone.threads, undone.service = world.threads, FollowRun(world.threads, undone.rows, world.clock)
    await undone.keep((1, 2))
    await undone.service.check(USER, THREAD, RUN)


async def test_others_cannot_be(world):
    missing = str(UUID(int=3))
    for user, thread, run, error in (
        (USER, THREAD, missing, NotFoundError),
        (USER, missing, RUN, ThreadNotFoundError),
        (OTHER, THREAD, RUN, ThreadNotFoundError),
    ):
        with pytest.raises(error):
            await world.service.check(user, thread, run)
