import asyncio

import pytest

from shared.domain.errors import StoreError
from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay, Origin, ProfileChange, StoredProfile
from shared.services.recall import Recall
from shared.services.turn_memory import TurnMemory
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.profiles import InMemoryProfiles
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summary_entries import summary_entry

USER = UserId("user-1")
THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed793")


@pytest.fixture
def profiles() -> InMemoryProfiles:
    return InMemoryProfiles()


@pytest.fixture
def summaries() -> InMemorySummaries:
    summaries = InMemorySummaries()
    summaries.plant(USER, summary_entry(THREAD, ["a"]))
    return summaries


@pytest.fixture
def memory(profiles: InMemoryProfiles, summaries: InMemorySummaries) -> TurnMemory:
    return TurnMemory(Recall(profiles, summaries, CountingMetrics()), USER, THREAD, AccountOverlay())


async def save(profiles: InMemoryProfiles, version: int, **doc: object) -> None:
    change = ProfileChange(patches=(), actor="model", origin=Origin(at=FixedClock().now()))
    await profiles.save(USER, StoredProfile(doc=dict(doc), version=version), change)


async def test_one_turn_reads_once(
    memory: TurnMemory, profiles: InMemoryProfiles, summaries: InMemorySummaries
) -> None:
    await asyncio.gather(memory.get(), memory.get(), memory.start().get())

    assert profiles.calls["load"] == 1
    assert summaries.calls["of_thread"] == 1


async def test_starting_reads_before_anybody_asks(summaries: InMemorySummaries) -> None:
    class TellingProfiles(InMemoryProfiles):
        async def load(self, user: UserId) -> StoredProfile:
            reading.set()
            return await super().load(user)

    reading = asyncio.Event()
    profiles = TellingProfiles()
    memory = TurnMemory(Recall(profiles, summaries, CountingMetrics()), USER, THREAD, AccountOverlay()).start()

    await reading.wait()
    await memory.get()

    assert profiles.calls["load"] == 1


async def test_after_a_save_the_profile_is_read_again_and_the_summaries_are_not(
    memory: TurnMemory, profiles: InMemoryProfiles, summaries: InMemorySummaries
) -> None:
    """RC05, RC09, decision 6."""
    before = await memory.get()
    await save(profiles, 1, city="Berlin")
    memory.refresh()

    after = await memory.get()

    assert before.merged == {}
    assert after.merged == {"city": "Berlin"}
    assert after.passes == before.passes
    assert summaries.calls["of_thread"] == 1


async def test_several_saves_at_once_cost_one_read(memory: TurnMemory, profiles: InMemoryProfiles) -> None:
    await memory.get()
    memory.refresh()
    memory.refresh()

    await asyncio.gather(memory.get(), memory.get())

    assert profiles.calls["load"] == 2


async def test_when_the_second_read_fails_what_was_known_stays(memory: TurnMemory, profiles: InMemoryProfiles) -> None:
    await save(profiles, 1, city="Berlin")
    await memory.get()
    profiles.failure = StoreError("down")
    memory.refresh()

    recalled = await memory.get()

    assert recalled.merged == {"city": "Berlin"}
    assert recalled.degraded == {"profile"}


async def test_a_later_read_that_succeeds_heals_a_degraded_one(memory: TurnMemory, profiles: InMemoryProfiles) -> None:
    await save(profiles, 1, city="Berlin")
    profiles.failures["load"] = StoreError("down")
    assert (await memory.get()).degraded == {"profile"}
    profiles.failures.clear()
    memory.refresh()

    recalled = await memory.get()

    assert recalled.merged == {"city": "Berlin"}
    assert recalled.degraded == frozenset()


async def test_one_reader_that_is_cancelled_takes_nothing_from_the_others() -> None:
    class GatedProfiles(InMemoryProfiles):
        async def load(self, user: UserId) -> StoredProfile:
            await gate.wait()
            return StoredProfile(doc={"city": "Berlin"}, version=1)

    gate = asyncio.Event()
    memory = TurnMemory(Recall(GatedProfiles(), InMemorySummaries(), CountingMetrics()), USER, THREAD, AccountOverlay())
    cancelled, patient = asyncio.create_task(memory.get()), asyncio.create_task(memory.get())
    await asyncio.sleep(0)
    cancelled.cancel()
    gate.set()

    assert (await patient).merged == {"city": "Berlin"}
    assert cancelled.cancelled()


async def test_without_a_user_a_refresh_reads_nothing(profiles: InMemoryProfiles, summaries: InMemorySummaries) -> None:
    memory = TurnMemory(Recall(profiles, summaries, CountingMetrics()), None, None, AccountOverlay())
    await memory.get()
    memory.refresh()

    assert (await memory.get()).merged == {}
    assert not profiles.calls
