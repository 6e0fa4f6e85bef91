"""What only the summaries on DynamoDB have: items, pages, requests and failures."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.claims import Claim
from shared.domain.errors import ItemTooLargeError, StoreError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.summary import QuestionAnswer, SummaryEntry, SummaryOutput
from shared.domain.threads import ThreadRow
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import no_pause, tapped

ANNA = UserId("anna")
THREAD = ThreadId("6f0e2a3c-0000-4000-8000-000000000001")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STORED = {
    "threadId": THREAD,
    "sequence": 1,
    "startMessageIndex": 0,
    "endMessageIndex": 1,
    "messageCount": 2,
    "messageIds": ["h0", "h1"],
    "summary": {"entries": [{"question": "Which tea?", "answer": "Grüner", "refs": ["#1-#2"]}]},
    "triggerReason": "turn_based",
    "tokenCountBefore": 120,
    "tokenCountAfter": 17,
    "createdAt": "2026-03-01T12:00:00Z",
}


def entry_of(sequence=1, answer="Grüner"):
    return SummaryEntry(
        thread_id=THREAD,
        sequence=sequence,
        start_message_index=0,
        end_message_index=1,
        message_count=2,
        message_ids=[MessageId("h0"), MessageId("h1")],
        summary=SummaryOutput(entries=[QuestionAnswer(question="Which tea?", answer=answer, refs=["#1-#2"])]),
        token_count_before=120,
        token_count_after=17,
        created_at=NOW,
    )


@pytest.fixture
async def summaries(client):
    row = ThreadRow(user_id=ANNA, thread_id=THREAD, created_at=NOW, updated_at=NOW, last_message_at=NOW)
    await DynamoThreads(client, "memory", pause=no_pause).create(row)
    return DynamoSummaries(client, "memory", clock=FixedClock(), pause=no_pause)


@pytest.fixture
def wire(client, summaries):
    with tapped(client) as wire:
        yield wire


async def claim(summaries, window_key="w", now=NOW, max_attempts=3):
    return await summaries.claim(
        ANNA,
        THREAD,
        window_key,
        now=now,
        hold=timedelta(minutes=3),
        max_attempts=max_attempts,
        back_off=timedelta(minutes=1),
    )


async def write(summaries, entry):
    held = await claim(summaries, f"w{entry.sequence}")
    assert isinstance(held, Claim)
    await summaries.append(ANNA, entry, held)


def plant(client, key, value, **attributes):
    item = {"pk": {"S": "anna"}, "sk": {"S": key}, "value": {"S": value}, **attributes}
    client.put_item(TableName="memory", Item=item)


def items(client):
    pages = client.get_paginator("scan").paginate(TableName="memory", ConsistentRead=True)
    return {item["sk"]["S"]: item for page in pages for item in page["Items"]}


def the_claim(client):
    (found,) = (item for key, item in items(client).items() if key.startswith("!claim!"))
    return {name: next(iter(value.values())) for name, value in found.items()}


async def test_an_entry_is_a_store_item_of_the_seeds_namespace_and_shape(summaries, client):
    """ST02, TP13; DL08: it lives as long as the account."""
    await write(summaries, entry_of())

    item = items(client)[f"threads!{THREAD}:1"]
    assert json.loads(item["value"]["S"]) == STORED
    assert "Grüner" in item["value"]["S"]
    assert item["created_at"] == item["updated_at"] == {"S": "2026-03-01T12:00:00.000000+00:00"}
    assert item["schema_version"] == {"N": "1"}
    assert "ttl" not in item


async def test_what_the_seed_stored_is_read(summaries, client):
    plant(client, f"threads!{THREAD}:1", json.dumps(STORED))

    assert list((await summaries.of_thread(ANNA, THREAD)).entries) == [entry_of()]


def without(name):
    return {key: value for key, value in STORED.items() if key != name}


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "null",
        "[]",
        json.dumps(without("summary")),
        json.dumps(without("createdAt")),
        json.dumps({**STORED, "sequence": 9}),
        json.dumps({**STORED, "sequence": "2"}),
        json.dumps({**STORED, "threadId": "another"}),
        json.dumps({**STORED, "messageCount": 3}),
        json.dumps({**STORED, "messageIds": ["h0", ""]}),
        json.dumps({**STORED, "createdAt": "2026-03-01T12:00:00"}),
        json.dumps({**STORED, "triggerReason": "because"}),
        json.dumps({**STORED, "summary": {"entries": [{"question": " ", "answer": "a", "refs": ["#1"]}]}}),
        json.dumps({**STORED, "summary": {"entries": [{"question": "q", "answer": "a", "refs": []}]}}),
    ],
)
async def test_a_corrupt_row_is_skipped_counted_and_keeps_its_number(summaries, client, broken):
    """TS01–TS06, HID-02"""
    await write(summaries, entry_of(1))
    plant(client, f"threads!{THREAD}:2", broken.replace('"sequence": 1', '"sequence": 2'))
    await write(summaries, entry_of(3))

    for rows in (await summaries.of_thread(ANNA, THREAD), await summaries.of_user(ANNA)):
        assert [entry.sequence for entry in rows.entries] == [1, 3]
        assert rows.corrupt == 1

    plant(client, f"threads!{THREAD}:12", broken)
    assert (await summaries.of_thread(ANNA, THREAD)).highest_sequence == 12
    assert await summaries.forget(ANNA, THREAD) == 4
    assert not [key for key in items(client) if key.startswith("threads!")]


async def test_rows_whose_key_has_no_number_are_corrupt_and_purged_too(summaries, client):
    for key in ("", "x", "01", "-1", "1:2"):
        plant(client, f"threads!{THREAD}:{key}", json.dumps(STORED))

    rows = await summaries.of_thread(ANNA, THREAD)

    assert (rows.entries, rows.corrupt) == ((), 5)
    assert await summaries.forget(ANNA, THREAD) == 5


async def test_items_of_other_namespaces_and_threads_are_left_alone(summaries, client):
    others = [
        f"threads!{THREAD}:1!deeper",
        "threads!6f0e2a3c-0000-4000-8000-000000000002:1",
        f"threads2!{THREAD}:1",
        "memory!main",
    ]
    for key in others:
        plant(client, key, "{")

    assert (await summaries.of_thread(ANNA, THREAD)).corrupt == 0
    assert await summaries.forget(ANNA, THREAD) == 0
    assert set(others) < set(items(client))


async def test_expired_rows_are_not_read_but_forgotten(summaries, client):
    ended = {"ttl": {"N": str(int(FixedClock().now().timestamp()))}}
    plant(client, f"threads!{THREAD}:1", json.dumps(STORED), **ended)

    assert (await summaries.of_thread(ANNA, THREAD)).highest_sequence == 0
    assert await summaries.forget(ANNA, THREAD) == 1


async def test_all_pages_of_a_query_are_read_and_forgotten(summaries, client, wire):
    """HID-01: a page of DynamoDB's ends at 1 MB, whatever the number of rows."""
    long_answer = "x" * 100_000
    for sequence in range(1, 28):
        await write(summaries, entry_of(sequence, answer=long_answer))
    wire.requests.clear()

    rows = await summaries.of_thread(ANNA, THREAD)

    assert [entry.sequence for entry in rows.entries] == list(range(1, 28))
    assert wire.counts["Query"] == 3
    assert all(body["ConsistentRead"] for body in wire.bodies("Query"))
    assert await summaries.forget(ANNA, THREAD) == 27
    assert set(items(client)) == {f"!thread!{THREAD}"}


async def test_a_forget_reads_keys_only_and_repeats_what_was_not_processed(summaries, client, wire):
    for sequence in range(1, 4):
        await write(summaries, entry_of(sequence))
    left = {"memory": [{"DeleteRequest": {"Key": {"pk": {"S": "anna"}, "sk": {"S": f"threads!{THREAD}:2"}}}}]}
    wire.answer("BatchWriteItem", None)
    wire.answer("BatchWriteItem", {"UnprocessedItems": left})

    assert await summaries.forget(ANNA, THREAD) == 3

    assert f"threads!{THREAD}:2" not in items(client)
    assert all("#value" not in body["ProjectionExpression"] for body in wire.bodies("Query"))


async def test_requests_of_a_pass(summaries, wire):
    await summaries.of_thread(ANNA, THREAD)
    assert wire.counts == {"Query": 1}
    held = await claim(summaries)
    await summaries.append(ANNA, entry_of(), held)
    assert wire.counts == {"Query": 1, "TransactWriteItems": 2}


async def test_a_claim_is_visible_with_its_attempts_and_its_end(summaries, client):
    """HID-18"""
    held = await claim(summaries)
    assert the_claim(client) == {
        "pk": "anna",
        "sk": f"!claim!{THREAD}!w",
        "schema_version": "1",
        "state": "held",
        "token": held.token,
        "attempts": "1",
        "until": "2026-03-01T12:03:00.000000+00:00",
    }

    await summaries.fail(ANNA, held, now=NOW)
    assert (the_claim(client)["state"], the_claim(client)["until"]) == ("returned", "2026-03-01T12:00:00.000000+00:00")

    assert await claim(summaries, max_attempts=1) == "exhausted"
    assert (the_claim(client)["state"], the_claim(client)["attempts"]) == ("failed", "1")


async def test_a_given_up_window_is_marked_once(summaries, wire):
    await summaries.fail(ANNA, await claim(summaries), now=NOW)
    for _ in range(3):
        assert await claim(summaries, max_attempts=1) == "exhausted"

    # One for giving back, one for the mark.
    assert wire.counts["UpdateItem"] == 2


async def test_a_finished_claim_says_so(summaries, client):
    await write(summaries, entry_of())
    assert the_claim(client)["state"] == "done"


async def test_a_claim_forgotten_between_read_and_take_over_is_taken_afresh(summaries, wire):
    """The item that was in the way is gone when the second write comes."""
    there = {
        "state": {"S": "held"},
        "token": {"S": "gone"},
        "attempts": {"N": "2"},
        "until": {"S": "2026-03-01T11:00:00.000000+00:00"},
    }
    reasons = [{"Code": "ConditionalCheckFailed", "Item": there}, {"Code": "None"}]
    wire.fail("TransactWriteItems", "TransactionCanceledException", CancellationReasons=reasons)

    held = await claim(summaries)

    assert held.attempts == 1
    assert wire.counts["TransactWriteItems"] == 3


async def test_an_entry_over_the_item_limit_is_refused(summaries):
    held = await claim(summaries)
    with pytest.raises(ItemTooLargeError):
        await summaries.append(ANNA, entry_of(answer="x" * 410_000), held)


async def test_a_failure_is_no_empty_list(summaries, wire):
    held = await claim(summaries)
    for operation, call in (
        ("Query", lambda: summaries.of_thread(ANNA, THREAD)),
        ("Query", lambda: summaries.of_user(ANNA)),
        ("Query", lambda: summaries.forget(ANNA, THREAD)),
        ("TransactWriteItems", lambda: claim(summaries, "other")),
        ("TransactWriteItems", lambda: summaries.append(ANNA, entry_of(), held)),
        ("UpdateItem", lambda: summaries.fail(ANNA, held, now=NOW)),
    ):
        wire.fail(operation, "InternalServerError")
        with pytest.raises(StoreError):
            await call()
