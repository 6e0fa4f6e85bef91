"""What only the store on DynamoDB has: items, requests, times to live, limits, failures, and its neighbours."""

import json
from collections import OrderedDict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, MatchCondition, PutOp, SearchOp

from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.store import DynamoStore
from shared.adapters.dynamodb.store_values import exact_json, fits_condition
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.errors import (
    CorruptItemError,
    InvalidIdError,
    InvalidInputError,
    ItemTooLargeError,
    NotJsonError,
    StoreError,
    VersionConflictError,
)
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.profile import Origin, ProfileChange, StoredProfile
from shared.domain.summary import QuestionAnswer, SummaryEntry, SummaryOutput
from shared.domain.threads import ThreadRow
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import no_pause

ANNA = UserId("anna")
NS = ("anna", "notes")
NOW = FixedClock().now()
MINUTE = timedelta(minutes=1)
CHANGE = ProfileChange(patches=(), actor="model", origin=Origin(at=NOW))


@pytest.fixture
def clock():
    return FixedClock()


@pytest.fixture
def store(client, clock):
    return DynamoStore(client, "memory", clock=clock, pause=no_pause)


def items(client):
    pages = client.get_paginator("scan").paginate(TableName="memory")
    return {item["sk"]["S"]: item for page in pages for item in page["Items"]}


async def requests(wire, call):
    wire.requests.clear()
    await call
    return dict(wire.counts)


# Items and requests


async def test_an_item_stands_under_its_first_label(store, client):
    await store.aput(("anna!", "notes", "old"), "k 1", {"ü": [1.5, None]})

    moment = {"S": "2026-03-01T12:00:00.000000+00:00"}
    assert items(client) == {
        'notes!old!k"`1': {
            "pk": {"S": 'anna"a'},
            "sk": {"S": 'notes!old!k"`1'},
            "value": {"S": '{"ü":[1.5,null]}'},
            "created_at": moment,
            "updated_at": moment,
            "schema_version": {"N": "1"},
        }
    }


async def test_requests_of_each_call(store, wire):
    assert await requests(wire, store.aput(NS, "k", {})) == {"UpdateItem": 1}
    assert await requests(wire, store.aget(NS, "k")) == {"GetItem": 1}
    assert await requests(wire, store.asearch(("anna",))) == {"Query": 1}
    assert await requests(wire, store.asearch(NS, filter={"a": 1}, limit=100)) == {"Query": 1}
    assert await requests(wire, store.alist_namespaces(prefix=("anna",))) == {"Query": 1}
    assert await requests(wire, store.adelete(NS, "k")) == {"DeleteItem": 1}
    puts = [PutOp(NS, f"k{number}", {}) for number in range(30)]
    assert await requests(wire, store.abatch(puts)) == {"BatchGetItem": 1, "BatchWriteItem": 2}
    gets = [GetOp(NS, f"k{number}") for number in range(120)]
    assert await requests(wire, store.abatch(gets)) == {"BatchGetItem": 2}
    deletes = [PutOp(NS, f"k{number}", None) for number in range(30)]
    assert await requests(wire, store.abatch(deletes)) == {"BatchWriteItem": 2}
    assert await requests(wire, store.abatch([])) == {}


async def test_every_read_is_consistent(client, wire, clock):
    store = DynamoStore(client, "memory", clock=clock, allow_scan=True, pause=no_pause)
    await store.aget(NS, "k")
    await store.asearch(NS)
    await store.alist_namespaces(prefix=NS)
    await store.alist_namespaces()
    await store.abatch([GetOp(NS, "a"), GetOp(NS, "b")])

    bodies = [body.get("RequestItems", {}).get("memory", body) for _, body in wire.requests]
    assert len(bodies) == 5
    assert all(body["ConsistentRead"] is True for body in bodies)


async def test_a_search_reads_no_more_than_it_gives(store, wire):
    await store.abatch([PutOp(NS, f"k{number}", {}) for number in range(30)])
    wire.requests.clear()

    assert len(await store.asearch(NS, limit=5, offset=2)) == 5

    (query,) = wire.bodies("Query")
    assert query["Limit"] == 7
    # What fits a filter may be far between: whole pages, or it would be a request an item.
    await store.asearch(NS, filter={"rare": 1}, limit=1)
    assert "Limit" not in wire.bodies("Query")[1]


async def test_a_search_and_a_listing_follow_every_page(store, wire):
    """A page of DynamoDB's ends at 1 MB."""
    for number in range(25):
        await store.aput(("anna", f"n{number:02}"), "k", {"text": "x" * 100_000, "last": number == 24})
    wire.requests.clear()

    assert len(await store.asearch(("anna",), limit=50)) == 25
    assert wire.counts["Query"] == 3
    assert len(await store.asearch(("anna",), filter={"last": True})) == 1
    assert len(await store.alist_namespaces(prefix=("anna",))) == 25


async def test_results_come_in_the_order_of_namespaces_and_keys(store):
    for namespace, key in ((("anna", "b"), "2"), (("anna", "b"), "1"), (("anna",), "z"), (("anna", "a"), "3")):
        await store.aput(namespace, key, {})

    found = [(item.namespace, item.key) for item in await store.asearch(("anna",))]

    assert found == [(("anna", "a"), "3"), (("anna", "b"), "1"), (("anna", "b"), "2"), (("anna",), "z")]


async def test_a_listing_reads_keys_only_and_only_below_the_path(store, wire):
    await store.aput(("anna", "notes", "old"), "k", {})
    wire.requests.clear()

    await store.alist_namespaces(prefix=("anna", "notes", "*"))

    (query,) = wire.bodies("Query")
    assert query["ExpressionAttributeValues"][":prefix"] == {"S": "notes!"}
    assert "value" not in query["ExpressionAttributeNames"].values()


# The whole table


async def test_nothing_reads_the_whole_table_unless_allowed(store, wire):
    for call in (
        store.asearch(()),
        store.alist_namespaces(),
        store.alist_namespaces(prefix=("*", "notes")),
        store.alist_namespaces(suffix=("notes",)),
    ):
        with pytest.raises(InvalidInputError):
            await call
    assert not wire.requests


async def test_a_scan_gives_the_items_of_all_in_order_and_pages(client, clock, wire):
    store = DynamoStore(client, "memory", clock=clock, allow_scan=True, pause=no_pause)
    for user in ("ben", "anna", "cleo"):
        await store.aput((user, "notes"), "k", {})
        await thread(client, UserId(user))

    assert [item.namespace[0] for item in await store.asearch(())] == ["anna", "ben", "cleo"]
    assert [item.namespace[0] for item in await store.asearch((), limit=1, offset=1)] == ["ben"]
    assert await store.alist_namespaces(suffix=("notes",), max_depth=1) == [("anna",), ("ben",), ("cleo",)]
    assert wire.counts["Scan"] == 3


# Dates


async def test_a_put_keeps_when_the_item_was_made(store, clock):
    """In a batch as well, which replaces items whole."""
    await store.aput(NS, "one", {})
    await store.abatch([PutOp(NS, "a", {}), PutOp(NS, "b", {})])
    made = clock.now()
    clock.advance(MINUTE)

    await store.aput(NS, "one", {"n": 1})
    await store.abatch([PutOp(NS, "a", {"n": 1}), PutOp(NS, "new", {})])

    for key in ("one", "a"):
        item = await store.aget(NS, key)
        assert (item.created_at, item.updated_at) == (made, made + MINUTE)
    assert (await store.aget(NS, "new")).created_at == made + MINUTE


# Times to live


async def test_an_item_lives_as_long_as_it_was_told_to(store, clock, client):
    await store.aput(NS, "k", {}, ttl=1.5)
    await store.aput(NS, "for good", {})
    assert items(client)["notes!k"]["ttl"] == {"N": str(int(NOW.timestamp()) + 90)}

    clock.advance(timedelta(seconds=89))
    assert await store.aget(NS, "k", refresh_ttl=False)
    clock.advance(timedelta(seconds=1))

    assert await store.aget(NS, "k") is None
    assert [item.key for item in await store.asearch(NS)] == ["for good"]
    assert [item.key for item in (await store.abatch([GetOp(NS, "k"), GetOp(NS, "for good")])) if item] == ["for good"]
    assert "notes!k" in items(client)


async def test_an_expired_items_namespace_is_not_listed(store, clock):
    await store.aput(NS, "k", {}, ttl=1)
    clock.advance(MINUTE)
    assert await store.alist_namespaces(prefix=("anna",)) == []


async def test_a_read_lets_an_item_live_on(store, clock, wire):
    for read in (
        lambda: store.aget(NS, "k"),
        lambda: store.asearch(NS),
        lambda: store.abatch([GetOp(NS, "k"), GetOp(NS, "other")]),
    ):
        await store.aput(NS, "k", {}, ttl=2)
        for _ in range(3):
            clock.advance(MINUTE)
            await read()
            before = clock.now()
        assert await store.aget(NS, "k", refresh_ttl=False)
        clock.advance(2 * MINUTE)
        assert await store.aget(NS, "k") is None
        assert before + 2 * MINUTE == clock.now()


async def test_a_read_lets_nothing_live_on_that_it_does_not_give(store, clock):
    for key in "ab":
        await store.aput(NS, key, {"key": key}, ttl=2)
    clock.advance(MINUTE)
    await store.asearch(NS, limit=1)
    await store.asearch(NS, filter={"key": "a"})
    clock.advance(MINUTE)

    assert [item.key for item in await store.asearch(NS)] == ["a"]


async def test_a_read_refreshes_nothing_when_told_not_to(client, clock, wire):
    store = DynamoStore(client, "memory", clock=clock, ttl={"refresh_on_read": False, "default_ttl": 2}, pause=no_pause)
    await store.aput(NS, "default", {})
    await store.aput(NS, "own", {}, ttl=5)
    await store.aput(NS, "for good", {}, ttl=None)
    clock.advance(MINUTE)
    wire.requests.clear()

    await store.aget(NS, "default")
    await store.asearch(NS)
    await store.abatch([SearchOp(NS, refresh_ttl=False)])

    assert wire.counts == {"GetItem": 1, "Query": 2}
    clock.advance(MINUTE)
    assert {item.key for item in await store.asearch(NS)} == {"own", "for good"}
    await store.aget(NS, "own", refresh_ttl=True)
    clock.advance(4 * MINUTE)
    assert {item.key for item in await store.asearch(NS)} == {"own", "for good"}


async def test_a_read_without_a_time_to_live_writes_nothing(store, clock, wire):
    await store.aput(NS, "k", {})
    await store.aput(NS, "ttl", {}, ttl=1)
    # Within the same second there is nothing to move on.
    assert await requests(wire, store.asearch(NS)) == {"Query": 1}
    clock.advance(timedelta(seconds=5))
    assert await requests(wire, store.aget(NS, "k")) == {"GetItem": 1}
    assert await requests(wire, store.aget(NS, "ttl")) == {"GetItem": 1, "UpdateItem": 1}


async def test_a_put_without_a_time_to_live_keeps_the_item_for_good(store, clock, client):
    await store.aput(NS, "one", {}, ttl=1)
    await store.abatch([PutOp(NS, "a", {}, ttl=1), PutOp(NS, "b", {}, ttl=1)])
    await store.aput(NS, "one", {})
    await store.abatch([PutOp(NS, "a", {}), PutOp(NS, "b", {})])

    assert not any({"ttl", "ttl_seconds"} & set(item) for item in items(client).values())
    clock.advance(timedelta(days=999))
    assert len(await store.asearch(NS)) == 3


async def test_an_item_put_where_one_has_expired_is_a_new_one(store, clock):
    await store.aput(NS, "k", {"old": 1}, ttl=1)
    clock.advance(MINUTE)
    await store.aput(NS, "k", {"new": 1})

    item = await store.aget(NS, "k")
    assert (item.value, item.created_at) == ({"new": 1}, NOW + MINUTE)


async def test_a_refresh_does_not_bring_back_what_was_removed_meanwhile(store, clock, wire, client):
    await store.aput(NS, "k", {}, ttl=2)
    read = items(client)["notes!k"]
    await store.adelete(NS, "k")
    clock.advance(MINUTE)
    wire.answer("GetItem", {"Item": read})

    assert await store.aget(NS, "k")

    assert items(client) == {}


# What is refused


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": (1, 2)}, "$.a"),
        ({"a": [1, {2}]}, "$.a[1]"),
        ({"a": {"b": [{"c": b"x"}]}}, "$.a.b[0].c"),
        ({"a": datetime(2026, 3, 1, tzinfo=UTC)}, "$.a"),
        ({"a": Decimal(1)}, "$.a"),
        ({"a": UUID(int=1)}, "$.a"),
        ({"a": float("nan")}, "$.a"),
        ({"a": [float("-inf")]}, "$.a[0]"),
        ({"a": {1: 2}}, "$.a"),
        ({1: 2}, "$"),
        ({"a": "\ud800"}, "$.a"),
        ({"a": {"\udfff": 1}}, "$.a"),
        ({"a": object()}, "$.a"),
    ],
)
async def test_what_json_would_change_is_refused_with_its_place(store, wire, value, path):
    with pytest.raises(NotJsonError) as refused:
        await store.aput(NS, "k", value)
    assert refused.value.path == path
    with pytest.raises(NotJsonError):
        await store.abatch([PutOp(NS, "good", {}), PutOp(NS, "k", value)])
    assert not wire.requests


async def test_a_value_within_itself_is_refused(store):
    value = {}
    value["self"] = [value]
    with pytest.raises(NotJsonError):
        await store.aput(NS, "k", value)


class Colour(StrEnum):
    RED = "red"


async def test_what_is_equal_to_json_is_taken(store):
    await store.aput(NS, "k", OrderedDict(a=Colour.RED, b=OrderedDict()))
    assert (await store.aget(NS, "k")).value == {"a": "red", "b": {}}


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(exclude_categories=["Cs"])),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)),
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON))
def test_every_json_value_comes_back_as_it_was(value):
    assert repr(json.loads(exact_json(value))) == repr(value)


async def test_an_item_over_the_limit_is_refused_and_nothing_is_written(store, wire):
    """The largest item DynamoDB takes is 400 KB."""
    large = {"text": "ü" * 205_000}
    with pytest.raises(ItemTooLargeError) as refused:
        await store.aput(NS, "k", large)
    assert (refused.value.size > 410_000, refused.value.limit) == (True, 400 * 1024)
    with pytest.raises(ItemTooLargeError):
        await store.abatch([PutOp(NS, "good", {}), PutOp(NS, "k", large)])
    assert not wire.requests


async def test_a_key_over_the_limit_is_refused(store):
    for namespace, key in ((("a" * 2049,), "k"), (NS, "k" * 1020), (("a", "b" * 1024), "k"), (NS, "\ud800")):
        with pytest.raises(InvalidIdError):
            await store.aput(namespace, key, {})


async def test_a_batch_with_an_illegal_namespace_does_nothing(store, wire):
    """Callers of ``abatch`` skip the checks of ``aput``."""
    for op in (PutOp((), "k", {}), GetOp((), "k"), PutOp(("a.b",), "k", {}), SearchOp(("a.b",))):
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([PutOp(NS, "good", {}), op])
    assert not wire.requests


async def test_an_item_that_is_no_json_is_an_error_and_not_missing(store, client):
    client.put_item(TableName="memory", Item={"pk": {"S": "anna"}, "sk": {"S": "notes!k"}, "value": {"S": "{"}})
    with pytest.raises(CorruptItemError):
        await store.aget(NS, "k")
    with pytest.raises(CorruptItemError):
        await store.asearch(NS)
    await store.adelete(NS, "k")
    assert await store.asearch(NS) == []


async def test_a_failure_is_an_error(store, wire):
    for operation, call in (
        ("GetItem", lambda: store.aget(NS, "k")),
        ("Query", lambda: store.asearch(NS)),
        ("Query", lambda: store.alist_namespaces(prefix=NS)),
        ("UpdateItem", lambda: store.aput(NS, "k", {})),
        ("DeleteItem", lambda: store.adelete(NS, "k")),
        ("BatchGetItem", lambda: store.abatch([GetOp(NS, "a"), GetOp(NS, "b")])),
        ("BatchWriteItem", lambda: store.abatch([PutOp(NS, "a", {}), PutOp(NS, "b", {})])),
    ):
        wire.fail(operation, "InternalServerError")
        with pytest.raises(StoreError):
            await call()


async def test_what_a_batch_left_undone_is_done_again(store, wire):
    wire.answer(
        "BatchWriteItem",
        {
            "UnprocessedItems": {
                "memory": [{"DeleteRequest": {"Key": {"pk": {"S": "anna"}, "sk": {"S": "notes!gone"}}}}]
            }
        },
    )
    await store.aput(NS, "gone", {})
    await store.abatch([PutOp(NS, "gone", None), PutOp(NS, "other", None)])

    assert await store.aget(NS, "gone") is None


# The product's own rows


async def thread(client, user=ANNA):
    row = ThreadRow(
        user_id=user,
        thread_id=ThreadId("6f0e2a3c-0000-4000-8000-000000000001"),
        created_at=NOW,
        updated_at=NOW,
        last_message_at=NOW,
    )
    await DynamoThreads(client, "memory", pause=no_pause).create(row)
    return row.thread_id


async def test_the_profile_and_its_log_are_items_of_the_store(store, client):
    """ST01"""
    profiles = DynamoProfiles(client, "memory", pause=no_pause)
    await profiles.save(ANNA, StoredProfile(doc={"city": "Basel"}, version=1), CHANGE)

    assert (await store.aget(("anna", "memory"), "main")).value == {"city": "Basel"}
    assert (await store.aget(("anna", "memory", "log"), "000000000001")).value["actor"] == "model"
    assert await store.alist_namespaces(prefix=("anna",)) == [("anna", "memory"), ("anna", "memory", "log")]


async def test_summaries_are_items_of_the_store_and_thread_rows_are_not(store, client):
    """ST02"""
    thread_id = await thread(client)
    summaries = DynamoSummaries(client, "memory", pause=no_pause)
    claim = await summaries.claim(ANNA, thread_id, "w", now=NOW, hold=MINUTE, max_attempts=1, back_off=MINUTE)
    entry = SummaryEntry(
        thread_id=thread_id,
        sequence=1,
        start_message_index=0,
        end_message_index=0,
        message_count=1,
        message_ids=[MessageId("h")],
        summary=SummaryOutput(entries=[QuestionAnswer(question="q", answer="a", refs=["#1"])]),
        token_count_before=1,
        token_count_after=1,
        created_at=NOW,
    )
    await summaries.append(ANNA, entry, claim)

    (item,) = await store.asearch(("anna",))
    assert (item.namespace, item.key) == (("anna", "threads"), f"{thread_id}:1")
    assert item.value["messageIds"] == ["h"]
    assert len([sk for sk in items(client) if sk.startswith("!")]) == 2


@pytest.mark.parametrize("in_batch", [False, True])
async def test_a_profile_put_through_the_store_is_noticed_by_whoever_read_it_before(store, client, in_batch):
    """HID-11: no writer loses another's keys, whichever door it comes through."""
    profiles = DynamoProfiles(client, "memory", pause=no_pause)
    saved = StoredProfile(doc={"city": "Basel"}, version=1, tombstones=frozenset({"name"}))
    await profiles.save(ANNA, saved, CHANGE)

    if in_batch:
        await store.abatch([PutOp(("anna", "memory"), "main", {"city": "Bern"}), PutOp(NS, "k", {})])
    else:
        await store.aput(("anna", "memory"), "main", {"city": "Bern"})

    with pytest.raises(VersionConflictError):
        await profiles.save(ANNA, StoredProfile(doc={"city": "Basel", "a": 1}, version=2), CHANGE)
    loaded = await profiles.load(ANNA)
    assert loaded == StoredProfile(doc={"city": "Bern"}, version=2, tombstones=frozenset({"name"}))
    await profiles.save(ANNA, StoredProfile(doc={"city": "Bern", "a": 1}, version=3), CHANGE)


# In a graph


async def test_a_graph_compiled_with_the_store_reads_and_writes_through_it(store):
    async def remember(state):
        await get_store().aput(("anna", "notes"), "said", {"text": state["messages"][-1].content})
        return {}

    def recall(state):
        return {"messages": [("ai", get_store().get(("anna", "notes"), "said").value["text"])]}

    graph = StateGraph(MessagesState).add_node(remember).add_node(recall)
    graph.add_edge(START, "remember").add_edge("remember", "recall").add_edge("recall", END)

    state = await graph.compile(store=store).ainvoke({"messages": [("human", "hello")]})

    assert [message.content for message in state["messages"]] == ["hello", "hello"]


@pytest.mark.parametrize(
    ("match_type", "path", "namespace", "fits"),
    [
        ("prefix", (), ("a",), True),
        ("suffix", (), ("a",), True),
        ("prefix", ("a", "*"), ("a",), False),
        ("suffix", ("*", "b"), ("a", "b"), True),
        ("suffix", ("a", "b", "c"), ("b", "c"), False),
        ("prefix", ("a", "b"), ("a", "c"), False),
    ],
)
def test_paths_match_labels(match_type, path, namespace, fits):
    assert fits_condition(namespace, MatchCondition(match_type, path)) is fits
