"""What only the thread rows on DynamoDB have: items, the index, requests and failures."""

import json
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.adapters.dynamodb.schema import MEMORY_TABLE
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.errors import (
    CorruptItemError,
    InvalidInputError,
    StoreError,
    ThreadBusyError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.runs import RunRow
from shared.domain.threads import Lease, ThreadQuery, ThreadRow
from tests.fakes.dynamodb import no_pause

ANNA = UserId("anna")
RUN, RIVAL = (RunId(str(UUID(int=number, version=4))) for number in (101, 102))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD = timedelta(seconds=30)
QUESTION = {"type": "human", "id": "h1", "content": "Hi ü"}


def thread_number(number):
    return ThreadId(str(UUID(int=number, version=4)))


ONE = thread_number(1)
KEY = {"pk": {"S": "anna"}, "sk": {"S": f"!thread!{ONE}"}}


def row_of(thread=ONE, *, at=NOW, **fields):
    return ThreadRow(user_id=ANNA, thread_id=thread, created_at=at, updated_at=at, last_message_at=at, **fields)


@pytest.fixture
def threads(client):
    return DynamoThreads(client, "memory", pause=no_pause)


@pytest.fixture
async def one(threads, wire):
    await threads.create(row_of())
    wire.requests.clear()
    return threads


async def acquire(threads, run=RUN, *, now=NOW, **options):
    return await threads.acquire(ANNA, ONE, run, now=now, hold=HOLD, **options)


def item(client):
    found = client.get_item(TableName="memory", Key=KEY)["Item"]
    return {name: next(iter(value.values())) for name, value in found.items()}


def indexed(client):
    reply = client.query(
        TableName="memory",
        IndexName="by_last_message",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": "anna"}},
        Select="ALL_PROJECTED_ATTRIBUTES",
    )
    return reply["Items"]


# Items


async def test_a_run_holds_its_thread_in_one_item(threads, client, wire):
    """ST05; decision 9b: the human message is on the lease's write."""
    await acquire(threads, create=True, pending=[QUESTION], preview="Hi ü")

    assert wire.counts == {"UpdateItem": 1}
    moment = "2026-03-01T12:00:00.000000+00:00"
    assert item(client) == {
        "pk": "anna",
        "sk": f"!thread!{ONE}",
        "schema_version": "1",
        "title": "New thread",
        "preview": "Hi ü",
        "metadata": "{}",
        "policy": "summaries",
        "status": "busy",
        "status_before": "idle",
        "created_at": moment,
        "updated_at": moment,
        "last_message_at": moment,
        "lease_run": RUN,
        "lease_number": "1",
        "lease_until": "2026-03-01T12:00:30.000000+00:00",
        "pending": [{"S": '{"type":"human","id":"h1","content":"Hi ü"}'}],
        "present_run": "",
        "left_run": "",
    }


async def test_what_the_row_says_of_a_run_leaves_out_what_goes_without_saying(threads, client):
    plain = RunRow(run_id=RUN, thread_id=ONE, created_at=NOW, updated_at=NOW)
    await acquire(threads, create=True, record=plain)
    said = json.loads(item(client)["present_run"])

    assert said == {"id": RUN, "at": "2026-03-01T12:00:00.000000+00:00"}


async def test_a_lists_entry_has_what_lists_show(one, client):
    await acquire(one, pending=[QUESTION], preview="Hi")

    (entry,) = indexed(client)
    assert set(entry) == {
        "pk",
        "sk",
        "last_message_at",
        "title",
        "preview",
        "created_at",
        "updated_at",
        "status",
        "metadata",
        "policy",
    }


async def test_a_renewal_does_not_write_to_the_index(one, client, wire):
    """A renewal every ten seconds must cost one write, not two."""
    lease = (await acquire(one)).lease
    before = item(client)

    await one.renew(ANNA, ONE, lease, NOW + 2 * HOLD)

    after = item(client)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    (index,) = MEMORY_TABLE.local_indexes
    assert changed == {"lease_until"}
    assert not changed & {index.sort_key, *index.projected}


async def test_a_thread_that_goes_leaves_the_index_with_the_same_write(one, client, wire):
    await one.mark_deleting(ANNA, ONE, now=NOW)

    assert wire.counts == {"UpdateItem": 1}
    assert indexed(client) == []
    assert item(client)["deleting_at"] == "2026-03-01T12:00:00.000000+00:00"


async def test_a_release_does_not_bring_a_deleted_thread_back_into_the_index(one, client):
    lease = (await acquire(one)).lease
    await one.mark_deleting(ANNA, ONE, now=NOW)
    await one.release(ANNA, ONE, lease, status="idle", now=NOW, checkpoint_id="c")

    assert indexed(client) == []


async def test_a_tombstone_holds_nothing_of_the_thread(threads, client):
    """Decision 9: what the user wrote is gone, the id is kept for a while."""
    await acquire(threads, create=True, pending=[QUESTION], preview="Hi")
    await threads.mark_deleting(ANNA, ONE, now=NOW)
    await threads.bury(ANNA, ONE, now=NOW, keep_for=timedelta(days=90))

    moment = "2026-03-01T12:00:00.000000+00:00"
    assert item(client) == {
        "pk": "anna",
        "sk": f"!thread!{ONE}",
        "schema_version": "1",
        "deleting_at": moment,
        "buried_at": moment,
        "ttl": str(int((NOW + timedelta(days=90)).timestamp())),
    }


async def test_a_thread_made_over_an_old_tombstone_keeps_nothing_of_it(threads, client):
    await threads.create(row_of())
    await threads.mark_deleting(ANNA, ONE, now=NOW)
    await threads.bury(ANNA, ONE, now=NOW, keep_for=HOLD)

    await acquire(threads, create=True, now=NOW + HOLD)

    assert not {"ttl", "deleting_at", "buried_at"} & set(item(client))
    assert len(indexed(client)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("created_at", {"S": "yesterday"}),
        ("title", {"N": "1"}),
        ("metadata", {"S": "[]"}),
        ("pending", {"L": [{"S": "{"}]}),
        ("lease_run", {"S": "a run without an end"}),
    ],
)
async def test_a_row_that_cannot_be_read_is_corrupt_and_not_missing(one, client, name, value):
    client.update_item(
        TableName="memory",
        Key=KEY,
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": value},
    )
    with pytest.raises(CorruptItemError):
        await one.get(ANNA, ONE)


async def test_a_title_without_a_utf_8_form_is_refused(one, wire):
    with pytest.raises(InvalidInputError):
        await one.rename(ANNA, ONE, "\ud800")
    with pytest.raises(InvalidInputError):
        await one.create(row_of(thread_number(2), preview="\ud800"))
    assert not wire.requests


# Requests


async def test_requests_of_each_call(one, wire):
    async def requests(call):
        wire.requests.clear()
        await call
        return dict(wire.counts)

    lease = Lease(run_id=RUN, number=1, until=NOW + HOLD)
    assert await requests(acquire(one, pending=[QUESTION])) == {"UpdateItem": 1}
    assert await requests(one.renew(ANNA, ONE, lease, NOW + HOLD)) == {"UpdateItem": 1}
    assert await requests(one.watch(ANNA, ONE, lease)) == {"GetItem": 1}
    assert await requests(one.request_cancel(ANNA, ONE, RUN, now=NOW)) == {"UpdateItem": 1}
    assert await requests(one.search(ANNA, ThreadQuery(), now=NOW)) == {"Query": 1, "BatchGetItem": 1}
    assert await requests(one.release(ANNA, ONE, lease, status="idle", now=NOW)) == {"UpdateItem": 1}
    assert await requests(one.search(ANNA, ThreadQuery(), now=NOW)) == {"Query": 1}
    assert await requests(one.count(ANNA, ThreadQuery(), now=NOW)) == {"Query": 1}
    assert await requests(one.get(ANNA, ONE)) == {"GetItem": 1}
    assert await requests(one.titles(ANNA, [ONE])) == {"BatchGetItem": 1}
    assert await requests(one.touch(ANNA, ONE, NOW + HOLD)) == {"UpdateItem": 1}
    assert await requests(one.rename(ANNA, ONE, "Tea", only_default=True)) == {"UpdateItem": 1}
    assert await requests(one.update_metadata(ANNA, ONE, {"a": 1}, now=NOW)) == {"GetItem": 1, "UpdateItem": 1}
    assert await requests(one.lease_of_deleted(ANNA, ONE)) == {"GetItem": 1}


async def test_a_refusal_says_why_without_another_read(one, wire):
    await acquire(one)
    with pytest.raises(ThreadBusyError):
        await acquire(one, RIVAL)
    with pytest.raises(ThreadNotFoundError):
        await one.acquire(ANNA, thread_number(2), RUN, now=NOW, hold=HOLD)

    assert wire.counts == {"UpdateItem": 3}


async def test_no_attribute_is_named_in_an_expression_but_by_its_placeholder(one, wire):
    """DynamoDB has 573 reserved words, ``status``, ``ttl`` and ``value`` among them."""
    lease = (await acquire(one, pending=[QUESTION], preview="Hi", create=True, run=RUN)).lease
    await one.release(ANNA, ONE, lease, status="idle", now=NOW, checkpoint_id="c")
    await one.titles(ANNA, [ONE])
    await one.mark_deleting(ANNA, ONE, now=NOW)
    await one.bury(ANNA, ONE, now=NOW, keep_for=HOLD)

    functions = {"attribute_exists", "attribute_not_exists", "if_not_exists", "list_append", "begins_with"}
    for _, body in wire.requests:
        for name, text in body.items():
            if name.endswith("Expression"):
                bare = set(re.findall(r"(?<![#:\w])\w+", text)) - functions - {"SET", "REMOVE", "AND", "OR"}
                assert not bare, text


# Lists


async def test_a_list_is_read_to_its_end_and_no_further(threads, wire):
    for number in range(9):
        await threads.create(row_of(thread_number(number), at=NOW + number * HOLD))
    wire.requests.clear()

    page = await threads.search(ANNA, ThreadQuery(limit=2, offset=1), now=NOW)

    assert [row.thread_id for row in page] == [thread_number(7), thread_number(6)]
    (query,) = wire.bodies("Query")
    assert (query["Limit"], query["ScanIndexForward"], query["ConsistentRead"]) == (3, False, True)


async def test_a_list_follows_the_pages_of_the_index(threads, wire):
    """A page ends at 1 MB; the filter applies to all pages, not to the first."""
    for number in range(25):
        metadata = {"blob": "x" * 100_000, "old": number == 0}
        await threads.create(row_of(thread_number(number), at=NOW + number * HOLD, metadata=metadata))
    wire.requests.clear()

    query = ThreadQuery(metadata={"old": True})
    assert [row.thread_id for row in await threads.search(ANNA, query, now=NOW)] == [thread_number(0)]
    assert wire.counts["Query"] >= 3
    assert await threads.count(ANNA, query, now=NOW) == 1
    assert len(await threads.search(ANNA, ThreadQuery(limit=30), now=NOW)) == 25
    assert len(await threads.search(ANNA, ThreadQuery(limit=30, sort_by="created_at"), now=NOW)) == 25
    assert await threads.count(ANNA, ThreadQuery(), now=NOW) == 25


async def test_a_busy_thread_that_goes_while_it_is_listed_is_left_out(one, client, wire):
    await acquire(one)
    entry = indexed(client)
    await one.mark_deleting(ANNA, ONE, now=NOW)
    wire.answer("Query", {"Items": entry, "Count": 1})

    assert await one.search(ANNA, ThreadQuery(), now=NOW) == []


# What the SDK repeats when an answer is lost


async def test_a_lost_answer_of_a_create_is_no_conflict(threads, wire):
    wire.lose_answer("PutItem")
    await threads.create(row_of())
    assert wire.counts == {"PutItem": 1}
    with pytest.raises(ThreadExistsError):
        await threads.create(row_of())


@pytest.mark.parametrize("create", [True, False])
async def test_a_lost_answer_of_an_acquire_takes_the_messages_once(one, wire, create):
    wire.lose_answer("UpdateItem")

    row = await acquire(one, pending=[QUESTION], create=create)

    assert (row.lease.number, list(row.pending)) == (1, [QUESTION])


async def test_a_lost_answer_of_any_other_change_gives_the_same(one, wire):
    wire.lose_answer("UpdateItem")
    assert await one.rename(ANNA, ONE, "Tea", only_default=True) is True
    wire.lose_answer("UpdateItem")
    assert await one.touch(ANNA, ONE, NOW + HOLD) is True
    wire.lose_answer("UpdateItem")
    assert (await one.update_metadata(ANNA, ONE, {"a": 1}, now=NOW)).metadata == {"a": 1}
    lease = (await acquire(one)).lease
    wire.lose_answer("UpdateItem")
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)
    assert (await one.get(ANNA, ONE)).status == "idle"
    wire.lose_answer("UpdateItem")
    await one.mark_deleting(ANNA, ONE, now=NOW)
    wire.lose_answer("PutItem")
    await one.bury(ANNA, ONE, now=NOW, keep_for=HOLD)


# Failures


async def test_a_failure_is_no_missing_thread(one, wire):
    lease = Lease(run_id=RUN, number=1, until=NOW)
    query = ThreadQuery()
    for operation, call in (
        ("PutItem", lambda: one.create(row_of())),
        ("GetItem", lambda: one.get(ANNA, ONE)),
        ("BatchGetItem", lambda: one.titles(ANNA, [ONE])),
        ("Query", lambda: one.search(ANNA, query, now=NOW)),
        ("Query", lambda: one.count(ANNA, query, now=NOW)),
        ("GetItem", lambda: one.update_metadata(ANNA, ONE, {}, now=NOW)),
        ("UpdateItem", lambda: one.update_metadata(ANNA, ONE, {}, now=NOW)),
        ("UpdateItem", lambda: one.rename(ANNA, ONE, "Tea")),
        ("UpdateItem", lambda: one.touch(ANNA, ONE, NOW)),
        ("UpdateItem", lambda: acquire(one)),
        ("UpdateItem", lambda: one.renew(ANNA, ONE, lease, NOW)),
        ("GetItem", lambda: one.watch(ANNA, ONE, lease)),
        ("UpdateItem", lambda: one.release(ANNA, ONE, lease, status="idle", now=NOW)),
        ("UpdateItem", lambda: one.request_cancel(ANNA, ONE, RUN, now=NOW)),
        ("UpdateItem", lambda: one.mark_deleting(ANNA, ONE, now=NOW)),
        ("GetItem", lambda: one.lease_of_deleted(ANNA, ONE)),
        ("PutItem", lambda: one.bury(ANNA, ONE, now=NOW, keep_for=HOLD)),
    ):
        wire.fail(operation, "InternalServerError")
        with pytest.raises(StoreError):
            await call()
