import asyncio
from typing import Any

import pytest

from shared.domain.errors import MemoryPatchError, MemorySizeError, StoreError, VersionConflictError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.patch import Patch
from shared.domain.profile import AccountOverlay, StoredProfile, merge
from shared.services.remember import Remember
from tests.fakes.clock import FixedClock
from tests.fakes.profiles import InMemoryProfiles, OvertakenProfiles

USER = UserId("user-1")
THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed793")
NOBODY = AccountOverlay()
LIN = AccountOverlay(name="Lin", email="lin@example.com")


async def at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


def add(key: str, value: Any) -> Patch:
    return Patch(op="add", path=f"/{key}", value=value)


@pytest.fixture
def profiles() -> InMemoryProfiles:
    return InMemoryProfiles()


@pytest.fixture
def remember(profiles: InMemoryProfiles) -> Remember:
    return Remember(profiles, FixedClock(), 8192, pause=at_once)


async def stored(profiles: InMemoryProfiles) -> StoredProfile:
    return await profiles.load(USER)


async def test_saves_and_says_what_it_did(remember: Remember, profiles: InMemoryProfiles) -> None:
    """SM08, SM15, SM16."""
    result = await remember.save(USER, LIN, [add("city", "Berlin")])

    assert result == {
        "ok": True,
        "bytes": len('{"city":"Berlin"}'),
        "keyCount": 1,
        "before": {"name": "Lin", "email": "lin@example.com"},
        "after": {"city": "Berlin", "name": "Lin", "email": "lin@example.com"},
        "patches": [{"op": "add", "path": "/city", "key": "city", "value": "Berlin"}],
    }
    assert (await stored(profiles)).doc == {"city": "Berlin"}


async def test_keeps_where_each_key_was_said(remember: Remember, profiles: InMemoryProfiles) -> None:
    await remember.save(
        USER,
        NOBODY,
        [add("city", "Berlin")],
        origin_thread=THREAD,
        origin_message=MessageId("h-1"),
        tool_call_id="call-1",
    )

    origin = (await stored(profiles)).origins["city"]

    assert (origin.thread_id, origin.human_message_id, origin.tool_call_id) == (THREAD, "h-1", "call-1")
    assert origin.at == FixedClock().now()
    assert profiles.log(USER)[1].actor == "model"


async def test_an_empty_list_is_a_success_that_writes_nothing(remember: Remember, profiles: InMemoryProfiles) -> None:
    """SM06, AMB-33."""
    result = await remember.save(USER, LIN, [])

    assert result["ok"]
    assert result["patches"] == []
    assert not profiles.calls["save"]


async def test_the_same_list_again_gives_the_same_profile(remember: Remember, profiles: InMemoryProfiles) -> None:
    """SM25."""
    patches = [add("city", "Berlin"), Patch(op="replace", path="/name", value="Lin Wu")]
    await remember.save(USER, LIN, patches)
    once = merge(await stored(profiles), LIN)
    await remember.save(USER, LIN, patches)

    assert merge(await stored(profiles), LIN) == once


async def test_eight_writers_at_once_lose_nothing(remember: Remember, profiles: InMemoryProfiles) -> None:
    """HID-11: each reads and writes while the others do."""
    results = await asyncio.gather(*(remember.save(USER, NOBODY, [add(f"key_{n}", n)]) for n in range(8)))

    assert (await stored(profiles)).doc == {f"key_{n}": n for n in range(8)}
    assert (await stored(profiles)).version == 8
    assert all(result["ok"] for result in results)
    assert sorted(profiles.log(USER)) == list(range(1, 9))


async def test_a_lost_race_is_run_again_on_what_the_winner_wrote() -> None:
    profiles = OvertakenProfiles(3)

    result = await Remember(profiles, FixedClock(), 8192, pause=at_once).save(USER, NOBODY, [add("mine", 1)])

    assert (await stored(profiles)).doc == {"theirs": 0, "mine": 1}
    assert result["before"] == {"theirs": 0}


async def test_races_are_not_run_for_ever() -> None:
    profiles = OvertakenProfiles(1000)
    remember = Remember(profiles, FixedClock(), 8192, attempts=5, pause=at_once)

    with pytest.raises(VersionConflictError):
        await remember.save(USER, NOBODY, [add("mine", 1)])

    assert profiles.times == 995


async def test_a_failing_patch_leaves_everything_as_it_was(remember: Remember, profiles: InMemoryProfiles) -> None:
    """SM09, SM10."""
    with pytest.raises(MemoryPatchError):
        await remember.save(USER, LIN, [add("city", "Berlin"), Patch(op="remove", path="/nothing")])

    assert not profiles.calls["save"]


async def test_too_large_a_profile_is_not_written(profiles: InMemoryProfiles) -> None:
    """SM13."""
    remember = Remember(profiles, FixedClock(), len('{"a":"xxxx"}'), pause=at_once)
    await remember.save(USER, NOBODY, [add("a", "xxxx")])

    with pytest.raises(MemorySizeError) as refusal:
        await remember.save(USER, NOBODY, [add("a", "xxxxx")])

    assert (refusal.value.attempted_bytes, refusal.value.max_bytes) == (13, 12)
    assert (await stored(profiles)).doc == {"a": "xxxx"}


async def test_a_failed_read_fails_the_save(remember: Remember, profiles: InMemoryProfiles) -> None:
    """SM24: on an empty profile the write would wipe what is stored."""
    await remember.save(USER, NOBODY, [add("city", "Berlin")])
    profiles.failures["load"] = StoreError("down")

    with pytest.raises(StoreError):
        await remember.save(USER, NOBODY, [add("city", "Munich")])

    profiles.failures.clear()
    assert profiles.calls["save"] == 1
    assert (await stored(profiles)).doc == {"city": "Berlin"}


async def test_a_failed_write_is_not_taken_for_a_lost_race(remember: Remember, profiles: InMemoryProfiles) -> None:
    profiles.failures["save"] = StoreError("down")

    with pytest.raises(StoreError):
        await remember.save(USER, NOBODY, [add("city", "Berlin")])

    assert profiles.calls["save"] == 1
