import asyncio
import logging

import pytest

from shared.domain.counters import CORRUPT_SUMMARIES, RECALL_DEGRADED
from shared.domain.errors import StoreError
from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay, Origin, ProfileChange, StoredProfile
from shared.domain.summary import SummaryRows
from shared.services.recall import Recall
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.profiles import InMemoryProfiles
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summary_entries import summary_entry

USER = UserId("user-1")
THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed793")
OTHER_THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed794")
ACCOUNT = AccountOverlay(name="Lin", email="lin@example.com")


class Memory:
    def __init__(self, *, limit_seconds: float = 5.0) -> None:
        self.profiles = InMemoryProfiles()
        self.summaries = InMemorySummaries()
        self.metrics = CountingMetrics()
        self.recall = Recall(self.profiles, self.summaries, self.metrics, limit_seconds=limit_seconds).recall

    async def holding(self, **doc: object) -> "Memory":
        origin = Origin(at=FixedClock().now())
        stored = StoredProfile(doc=dict(doc), version=1)
        await self.profiles.save(USER, stored, ProfileChange(patches=(), actor="model", origin=origin))
        return self


async def test_gives_the_merged_profile_and_the_summaries_of_the_thread() -> None:
    memory = await Memory().holding(city="Berlin")
    memory.summaries.plant(USER, summary_entry(THREAD, ["a", "b"]))
    memory.summaries.plant(USER, summary_entry(OTHER_THREAD, ["c"], question="Elsewhere?"))

    recalled = await memory.recall(USER, THREAD, ACCOUNT)

    assert recalled.merged == {"city": "Berlin", "name": "Lin", "email": "lin@example.com"}
    assert [entry.message_ids for entry in recalled.passes] == [["a", "b"]]
    assert recalled.degraded == frozenset()
    assert recalled.stored.version == 1


async def test_reads_profile_and_summaries_at_the_same_time() -> None:
    """Each read waits for the other to have begun: one after the other they would wait for ever."""
    both = asyncio.Barrier(2)

    class MeetingProfiles(InMemoryProfiles):
        async def load(self, user: UserId) -> StoredProfile:
            await both.wait()
            return await super().load(user)

    class MeetingSummaries(InMemorySummaries):
        async def of_thread(self, user: UserId, thread: ThreadId) -> SummaryRows:
            await both.wait()
            return await super().of_thread(user, thread)

    recalled = await Recall(MeetingProfiles(), MeetingSummaries(), CountingMetrics()).recall(USER, THREAD, ACCOUNT)

    assert recalled.degraded == frozenset()


async def test_without_a_user_nothing_is_read_and_nothing_is_known() -> None:
    """P15, RC07."""
    memory = await Memory().holding(city="Berlin")
    memory.profiles.calls.clear()

    recalled = await memory.recall(None, THREAD, ACCOUNT)

    assert recalled.merged == {}
    assert not recalled.passes
    assert not memory.profiles.calls
    assert not memory.summaries.calls


async def test_without_a_thread_there_are_no_summaries_but_the_profile() -> None:
    """P16."""
    memory = await Memory().holding(city="Berlin")

    recalled = await memory.recall(USER, None, AccountOverlay())

    assert recalled.merged == {"city": "Berlin"}
    assert not memory.summaries.calls
    assert recalled.degraded == frozenset()


async def test_a_profile_that_cannot_be_read_leaves_the_account() -> None:
    """P18, RC08, HID-30."""
    memory = await Memory().holding(city="Berlin")
    memory.profiles.failure = StoreError("down")
    memory.summaries.plant(USER, summary_entry(THREAD, ["a"]))

    recalled = await memory.recall(USER, THREAD, ACCOUNT)

    assert recalled.merged == {"name": "Lin", "email": "lin@example.com"}
    assert len(recalled.passes) == 1
    assert recalled.degraded == {"profile"}
    assert memory.metrics.counts[RECALL_DEGRADED] == 1


async def test_summaries_that_cannot_be_read_count_as_none() -> None:
    """P17."""
    memory = await Memory().holding(city="Berlin")
    memory.summaries.failure = StoreError("down")

    recalled = await memory.recall(USER, THREAD, AccountOverlay())

    assert recalled.merged == {"city": "Berlin"}
    assert recalled.passes == ()
    assert recalled.degraded == {"summaries"}


@pytest.mark.parametrize("error", [StoreError("down"), RuntimeError("a bug"), KeyError("doc")])
async def test_whatever_fails_recall_does_not_raise(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """P18, HID-30."""
    memory = Memory()
    memory.profiles.failure = memory.summaries.failure = error

    with caplog.at_level(logging.WARNING):
        recalled = await memory.recall(USER, THREAD, AccountOverlay())

    assert recalled.merged == {}
    assert recalled.degraded == {"profile", "summaries"}
    assert memory.metrics.counts[RECALL_DEGRADED] == 2
    assert {record.part for record in caplog.records} == {"profile", "summaries"}


async def test_a_database_that_does_not_answer_is_given_up() -> None:
    class SilentProfiles(InMemoryProfiles):
        async def load(self, user: UserId) -> StoredProfile:
            await asyncio.Event().wait()
            raise AssertionError

    recall = Recall(SilentProfiles(), InMemorySummaries(), CountingMetrics(), limit_seconds=0.01)

    recalled = await recall.recall(USER, THREAD, AccountOverlay())

    assert recalled.degraded == {"profile"}


async def test_a_degraded_read_is_not_kept() -> None:
    """HID-04: the next turn has its memory again."""
    memory = await Memory().holding(city="Berlin")
    memory.profiles.failure = StoreError("down")
    await memory.recall(USER, THREAD, AccountOverlay())
    memory.profiles.failure = None

    recalled = await memory.recall(USER, THREAD, AccountOverlay())

    assert recalled.merged == {"city": "Berlin"}


async def test_what_was_deleted_elsewhere_is_gone_from_the_next_turn() -> None:
    """HID-03, RC05, RC06 as decision 6 reads them: nothing is kept from one turn to the next."""
    memory = await Memory().holding(city="Berlin")
    await memory.recall(USER, THREAD, AccountOverlay())
    origin = Origin(at=FixedClock().now())
    await memory.profiles.save(
        USER, StoredProfile(doc={}, version=2), ProfileChange(patches=(), actor="user", origin=origin)
    )

    recalled = await memory.recall(USER, THREAD, AccountOverlay())

    assert recalled.merged == {}


async def test_corrupt_summaries_are_skipped_and_counted() -> None:
    """TS06."""
    memory = Memory()
    memory.summaries.plant(USER, summary_entry(THREAD, ["a"], sequence=1))
    memory.summaries.plant_corrupt(USER, THREAD, 2)

    recalled = await memory.recall(USER, THREAD, AccountOverlay())

    assert [entry.sequence for entry in recalled.passes] == [1]
    assert memory.metrics.counts[CORRUPT_SUMMARIES] == 1
    assert recalled.degraded == frozenset()


async def test_being_cancelled_is_not_swallowed() -> None:
    class SilentProfiles(InMemoryProfiles):
        async def load(self, user: UserId) -> StoredProfile:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError

    began = asyncio.Event()
    metrics = CountingMetrics()
    reading = asyncio.create_task(Recall(SilentProfiles(), InMemorySummaries(), metrics).recall(USER, None, ACCOUNT))
    await began.wait()
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not metrics.counts
