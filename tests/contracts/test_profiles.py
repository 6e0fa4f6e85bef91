"""What every implementation of ``Profiles`` keeps: the fake and the one on DynamoDB."""

import asyncio
from datetime import UTC, datetime

import pytest

from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.domain.errors import VersionConflictError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.profile import Origin, ProfileChange, StoredProfile
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.profiles import InMemoryProfiles

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORIGIN = Origin(
    at=AT,
    thread_id=ThreadId("6f0e2a3c-0000-4000-8000-000000000001"),
    human_message_id=MessageId("h1"),
    tool_call_id="call-1",
)
CHANGE = ProfileChange(
    patches=({"op": "add", "path": "/city", "value": "Basel", "key": "city", "oldValue": None},),
    actor="model",
    origin=ORIGIN,
)


@pytest.fixture(params=["fake", "dynamodb"])
def profiles(request):
    if request.param == "fake":
        yield InMemoryProfiles()
        return
    with mocked_dynamodb() as client:
        yield DynamoProfiles(client, "memory", pause=no_pause)


async def test_a_user_without_a_profile_has_an_empty_one_with_version_0(profiles):
    assert await profiles.load(ANNA) == StoredProfile()


async def test_a_saved_profile_comes_back_whole(profiles):
    saved = StoredProfile(
        doc={"city": "Basel", "tall": 1.87, "kids": 2, "none": None, "likes": ["tea", {"deep": [True, "ü 😀"]}]},
        version=1,
        tombstones=frozenset({"avatar", "email"}),
        origins={"city": ORIGIN, "kids": Origin(at=AT)},
    )

    await profiles.save(ANNA, saved, CHANGE)

    loaded = await profiles.load(ANNA)
    assert loaded == saved
    assert isinstance(loaded.doc["kids"], int)
    assert isinstance(loaded.doc["tall"], float)


async def test_a_write_on_a_stale_read_is_refused_and_changes_nothing(profiles):
    """HID-11: the loser of a race reads again; it does not overwrite."""
    await profiles.save(ANNA, StoredProfile(doc={"a": 1}, version=1), CHANGE)
    await profiles.save(ANNA, StoredProfile(doc={"a": 1, "b": 2}, version=2), CHANGE)

    for stale in (1, 2, 4):
        with pytest.raises(VersionConflictError):
            await profiles.save(ANNA, StoredProfile(doc={"lost": True}, version=stale), CHANGE)

    assert await profiles.load(ANNA) == StoredProfile(doc={"a": 1, "b": 2}, version=2)


async def test_of_writers_at_the_same_time_one_wins(profiles):
    """HID-11"""
    writes = [profiles.save(ANNA, StoredProfile(doc={f"k{n}": n}, version=1), CHANGE) for n in range(8)]

    outcomes = await asyncio.gather(*writes, return_exceptions=True)

    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, VersionConflictError) for outcome in outcomes) == 7
    winner = outcomes.index(None)
    assert await profiles.load(ANNA) == StoredProfile(doc={f"k{winner}": winner}, version=1)


async def test_removing_the_last_key_leaves_an_empty_profile_with_its_version(profiles):
    await profiles.save(ANNA, StoredProfile(doc={"city": "Basel"}, version=1), CHANGE)
    await profiles.save(ANNA, StoredProfile(version=2, tombstones=frozenset({"name"})), CHANGE)

    assert await profiles.load(ANNA) == StoredProfile(version=2, tombstones=frozenset({"name"}))


async def test_a_loaded_profile_is_the_callers_own(profiles):
    await profiles.save(ANNA, StoredProfile(doc={"likes": ["tea"]}, version=1), CHANGE)

    (await profiles.load(ANNA)).doc["likes"].append("changed")

    assert (await profiles.load(ANNA)).doc == {"likes": ["tea"]}


async def test_users_do_not_see_each_other(profiles):
    """ST03"""
    await profiles.save(ANNA, StoredProfile(doc={"city": "Basel"}, version=1), CHANGE)

    assert await profiles.load(BEN) == StoredProfile()
    await profiles.purge(BEN)
    assert (await profiles.load(ANNA)).doc == {"city": "Basel"}


async def test_a_purged_profile_starts_anew(profiles):
    await profiles.save(ANNA, StoredProfile(doc={"city": "Basel"}, version=1), CHANGE)
    await profiles.save(ANNA, StoredProfile(doc={}, version=2), CHANGE)

    await profiles.purge(ANNA)
    await profiles.purge(ANNA)

    assert await profiles.load(ANNA) == StoredProfile()
    await profiles.save(ANNA, StoredProfile(doc={"city": "Bern"}, version=1), CHANGE)
    assert (await profiles.load(ANNA)).version == 1
