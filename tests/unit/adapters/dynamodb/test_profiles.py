"""What only the profiles on DynamoDB have: items, requests and failures."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.domain.errors import CorruptItemError, StoreError, VersionConflictError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.profile import Origin, ProfileChange, StoredProfile
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import no_pause

ANNA = UserId("anna!")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
THREAD = ThreadId("6f0e2a3c-0000-4000-8000-000000000001")
ORIGIN = Origin(at=AT, thread_id=THREAD, human_message_id=MessageId("h1"), tool_call_id="call-1")


def change(at=AT, actor="model"):
    return ProfileChange(
        patches=({"op": "replace", "path": "/city", "value": "Basel", "oldValue": "Bern"},),
        actor=actor,
        origin=Origin(at=at, thread_id=THREAD, human_message_id=MessageId("h1"), tool_call_id="call-1"),
    )


@pytest.fixture
def profiles(client):
    return DynamoProfiles(client, "memory", clock=FixedClock(), pause=no_pause)


def items(client):
    return {item["sk"]["S"]: item for item in client.scan(TableName="memory")["Items"]}


async def test_the_profile_is_a_store_item_of_the_seeds_namespace(profiles, client):
    """ST01"""
    await profiles.save(
        ANNA,
        StoredProfile(
            doc={"city": "Zürich", "n": 1.5}, version=1, tombstones=frozenset({"b", "a"}), origins={"city": ORIGIN}
        ),
        change(),
    )

    item = items(client)["memory!main"]
    assert item["pk"] == {"S": 'anna"a'}
    assert item["value"] == {"S": '{"city":"Zürich","n":1.5}'}
    assert item["version"] == {"N": "1"}
    assert item["schema_version"] == {"N": "1"}
    assert item["tombstones"] == {"L": [{"S": "a"}, {"S": "b"}]}
    assert json.loads(item["origins"]["S"]) == {
        "city": {"at": AT.isoformat(), "threadId": THREAD, "humanMessageId": "h1", "toolCallId": "call-1"}
    }
    assert item["created_at"] == item["updated_at"] == {"S": "2026-03-01T12:00:00.000000+00:00"}


async def test_each_write_leaves_a_line_in_the_log(profiles, client):
    for version in (1, 2):
        await profiles.save(ANNA, StoredProfile(version=version), change(AT + timedelta(minutes=version)))

    found = items(client)
    assert list(found) == ["memory!log!000000000001", "memory!log!000000000002", "memory!main"]
    line = json.loads(found["memory!log!000000000002"]["value"]["S"])
    assert line == {
        "version": 2,
        "actor": "model",
        "patches": [{"op": "replace", "path": "/city", "value": "Basel", "oldValue": "Bern"}],
        "origin": {
            "at": "2026-03-01T12:02:00+00:00",
            "threadId": THREAD,
            "humanMessageId": "h1",
            "toolCallId": "call-1",
        },
    }
    assert found["memory!main"]["created_at"]["S"] < found["memory!main"]["updated_at"]["S"]


async def test_a_refused_write_leaves_no_line_in_the_log(profiles, client):
    await profiles.save(ANNA, StoredProfile(doc={"a": 1}, version=1), change())
    before = items(client)

    with pytest.raises(VersionConflictError):
        await profiles.save(ANNA, StoredProfile(version=1), change())
    with pytest.raises(VersionConflictError):
        await profiles.save(ANNA, StoredProfile(version=3), change())

    assert items(client) == before


async def test_a_load_is_one_read_and_a_save_one_write(profiles, wire):
    await profiles.load(ANNA)
    await profiles.save(ANNA, StoredProfile(version=1), change())

    assert wire.counts == {"GetItem": 1, "TransactWriteItems": 1}


async def test_a_failure_is_no_empty_profile(profiles, wire):
    """SM failures: nothing is half-written, and recall can tell."""
    for operation, call in (
        ("GetItem", lambda: profiles.load(ANNA)),
        ("TransactWriteItems", lambda: profiles.save(ANNA, StoredProfile(version=1), change())),
        ("Query", lambda: profiles.purge(ANNA)),
    ):
        wire.fail(operation, "InternalServerError")
        with pytest.raises(StoreError):
            await call()


@pytest.mark.parametrize(
    "broken",
    [
        {"value": {"S": "{"}},
        {"value": {"S": "[1]"}},
        {"value": {"N": "1"}},
        {"value": {"S": '{"a":1}'}, "origins": {"S": '{"a":{}}'}},
        {"value": {"S": '{"a":1}'}, "origins": {"S": '{"a":3}'}},
        {"value": {"S": "{}"}, "version": {"S": "one"}},
    ],
)
async def test_an_item_that_is_no_profile_is_corrupt(profiles, client, broken):
    client.put_item(TableName="memory", Item={"pk": {"S": 'anna"a'}, "sk": {"S": "memory!main"}, **broken})
    with pytest.raises(CorruptItemError):
        await profiles.load(ANNA)


async def test_a_profile_put_through_the_store_is_read_and_gets_a_version(profiles, client):
    key = {"pk": {"S": 'anna"a'}, "sk": {"S": "memory!main"}}
    client.put_item(TableName="memory", Item={**key, "value": {"S": '{"city":"Bern"}'}, "ttl": {"N": "9999999999"}})

    assert await profiles.load(ANNA) == StoredProfile(doc={"city": "Bern"})
    await profiles.save(ANNA, StoredProfile(doc={"city": "Basel"}, version=1), change())

    assert await profiles.load(ANNA) == StoredProfile(doc={"city": "Basel"}, version=1)
    # What is saved lasts.
    assert "ttl" not in items(client)["memory!main"]


async def test_an_expired_profile_is_none_and_the_next_begins_anew(profiles, client):
    await profiles.save(ANNA, StoredProfile(doc={"old": 1}, version=1), change())
    client.update_item(
        TableName="memory",
        Key={"pk": {"S": 'anna"a'}, "sk": {"S": "memory!main"}},
        UpdateExpression="SET #ttl = :ttl",
        ExpressionAttributeNames={"#ttl": "ttl"},
        ExpressionAttributeValues={":ttl": {"N": str(int(FixedClock().now().timestamp()))}},
    )

    assert await profiles.load(ANNA) == StoredProfile()
    await profiles.save(ANNA, StoredProfile(doc={"new": 1}, version=1), change())
    assert (await profiles.load(ANNA)).doc == {"new": 1}


async def test_a_profile_removed_through_the_store_begins_anew(profiles, client):
    await profiles.save(ANNA, StoredProfile(doc={"old": 1}, version=1), change())
    client.delete_item(TableName="memory", Key={"pk": {"S": 'anna"a'}, "sk": {"S": "memory!main"}})

    await profiles.save(ANNA, StoredProfile(doc={"new": 1}, version=1), change())

    assert await profiles.load(ANNA) == StoredProfile(doc={"new": 1}, version=1)


async def test_origins_of_keys_that_are_gone_are_dropped(profiles, client):
    await profiles.save(ANNA, StoredProfile(doc={"a": 1}, version=1, origins={"a": ORIGIN, "gone": ORIGIN}), change())
    assert set((await profiles.load(ANNA)).origins) == {"a"}


async def test_a_purge_removes_the_profile_and_every_line_of_its_log_and_nothing_else(profiles, client, wire):
    for version in range(1, 31):
        await profiles.save(ANNA, StoredProfile(version=version), change())
    others = ["memory!notes", "memory!logbook!1", "memory", "threads!t:1", "!thread!t"]
    for sk in others:
        client.put_item(TableName="memory", Item={"pk": {"S": 'anna"a'}, "sk": {"S": sk}})

    await profiles.purge(ANNA)

    assert set(items(client)) == set(others)
    assert wire.counts["BatchWriteItem"] == 2
