"""LangGraph's ``BaseStore`` as LangGraph's own in-memory store keeps it, and the one on DynamoDB beside it.

The last test is the main one: whatever is done, both give the same answers.
"""

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from shared.adapters.dynamodb.store import DynamoStore
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.tables import create_memory_table

NS = ("anna", "notes")


@pytest.fixture(params=["memory", "dynamodb"])
def store(request):
    if request.param == "memory":
        yield InMemoryStore()
        return
    with mocked_dynamodb() as client:
        yield DynamoStore(client, "memory", allow_scan=True, pause=no_pause)


async def keys(store, *args, **options):
    return {(item.namespace, item.key) for item in await store.asearch(*args, **options)}


async def test_a_value_comes_back_exactly_as_it_was_put(store):
    value = {
        "int": 1,
        "float": 1.0,
        "fraction": 0.1,
        "large": 2**70,
        "tiny": 5e-324,
        "none": None,
        "yes": True,
        "text": 'ü "\n😀\u2028',
        "": "",
        "list": [1, [2.5, {"deep": [None]}], {}],
    }
    await store.aput(NS, "k", value)

    item = await store.aget(NS, "k")

    assert (item.namespace, item.key, item.value) == (NS, "k", value)
    assert json.dumps(item.value) == json.dumps(value)
    assert item.created_at <= item.updated_at
    assert item.created_at.tzinfo is not None


async def test_what_is_not_there_is_none(store):
    assert await store.aget(NS, "k") is None
    await store.adelete(NS, "k")
    assert await store.asearch(NS) == []


async def test_a_put_replaces_the_whole_value(store):
    await store.aput(NS, "k", {"a": 1, "b": 2})
    await store.aput(NS, "k", {"c": 3})

    assert (await store.aget(NS, "k")).value == {"c": 3}


async def test_a_deleted_item_is_gone(store):
    await store.aput(NS, "k", {"a": 1})
    await store.aput(NS, "other", {"a": 1})
    await store.adelete(NS, "k")

    assert await store.aget(NS, "k") is None
    assert await keys(store, NS) == {(NS, "other")}


async def test_namespaces_and_keys_do_not_run_together(store):
    """Stores that join labels with a separator lose one of these."""
    places = [
        (("a",), "b"),
        (("a", "b"), ""),
        (("a:b",), "c"),
        (("a", "b"), "c"),
        (("a",), "b:c"),
        (("a", "b", "c"), "d"),
        (("a!b",), "c"),
        (('a"', "b"), "c"),
        (("a/b",), "c"),
        (("a", "b|c"), "d"),
        (("a",), ""),
        (("a",), "!thread!1"),
        (("*",), "*"),
        (("a ",), "b"),
    ]
    for number, (namespace, key) in enumerate(places):
        await store.aput(namespace, key, {"n": number})

    for number, (namespace, key) in enumerate(places):
        assert (await store.aget(namespace, key)).value == {"n": number}
        assert (namespace, key) in await keys(store, namespace, limit=50)
    assert await keys(store, (), limit=50) == set(places)


async def test_a_search_finds_what_is_below_a_prefix_of_labels(store):
    for namespace in (("anna",), ("anna", "notes"), ("anna", "notes", "old"), ("anna", "notes2"), ("anna2", "notes")):
        await store.aput(namespace, "k", {})

    below = [("anna", "notes"), ("anna", "notes", "old")]
    assert await keys(store, ("anna", "notes")) == {(namespace, "k") for namespace in below}
    assert len(await store.asearch(("anna",))) == 4
    assert await store.asearch(("ann",)) == []
    assert len(await store.asearch(())) == 5


async def test_a_search_gives_ten_unless_told_otherwise(store):
    """HID-01: whoever needs all must say so; the limit is LangGraph's."""
    for number in range(30):
        await store.aput(NS, f"k{number}", {"n": number})

    assert len(await store.asearch(NS)) == 10
    assert len(await store.asearch(NS, limit=100)) == 30
    assert len(await store.asearch(NS, limit=0)) == 0
    pages = [await keys(store, NS, limit=7, offset=offset) for offset in range(0, 35, 7)]
    assert [len(page) for page in pages] == [7, 7, 7, 7, 2]
    assert set().union(*pages) == {(NS, f"k{number}") for number in range(30)}


async def test_filters_apply_before_the_limit(store):
    for number in range(30):
        await store.aput(NS, f"k{number:02}", {"n": number, "even": number % 2 == 0})

    assert len(await store.asearch(NS, filter={"even": True}, limit=12)) == 12
    assert await keys(store, NS, filter={"n": 29}) == {(NS, "k29")}
    late = await store.asearch(NS, filter={"n": {"$gte": 20}}, limit=5, offset=8)
    assert len(late) == 2


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": 2}, "b"),
        ({"n": {"$eq": 2}}, "b"),
        ({"n": {"$ne": 2}}, "ac"),
        ({"n": {"$gt": 1}}, "bc"),
        ({"n": {"$gte": 2}}, "bc"),
        ({"n": {"$lt": 2.5}}, "ab"),
        ({"n": {"$lte": 1}}, "a"),
        ({"n": {"$gt": 1, "$lt": 3}}, "b"),
        ({"n": {"$gt": 1}, "s": "x"}, "b"),
        ({"s": "x"}, "ab"),
        ({"text": {"$gt": "9"}}, "bc"),
        ({"deep": {"m": 1}}, "ab"),
        ({"deep": {"m": {"$eq": 1}, "k": None}}, "a"),
        ({"deep": {"k": {"$ne": None}}}, "bc"),
        ({"list": [1, 2]}, "a"),
        ({"list": [{"$gt": 0}, 2]}, "a"),
        ({"none": None}, "abc"),
        ({"s": {"x": 1}}, ""),
        ({}, "abc"),
    ],
)
async def test_filters_compare_as_langgraph_does(store, wanted, found):
    await store.aput(NS, "a", {"n": 1, "s": "x", "deep": {"m": 1}, "list": [1, 2], "none": None, "text": "8"})
    await store.aput(NS, "b", {"n": 2, "s": "x", "deep": {"m": 1, "k": 0}, "list": [2], "text": "10"})
    await store.aput(NS, "c", {"n": 3.5, "s": "y", "deep": {"m": 2, "k": "k"}, "text": "11"})

    assert await keys(store, NS, filter=wanted) == {(NS, key) for key in found}


async def test_an_unknown_operator_is_refused(store):
    await store.aput(NS, "k", {"n": 1})
    with pytest.raises(ValueError, match="operator"):
        await store.asearch(NS, filter={"n": {"$near": 1}})


async def test_namespaces_are_listed(store):
    for namespace in (
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
        ("z", "c", "f"),
    ):
        for key in "12":
            await store.aput(namespace, key, {})

    every = store.alist_namespaces
    assert await every(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert await every(prefix=("a",), suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert await every(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert await every(prefix=("a",), suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert await every(prefix=("*", "c")) == [("a", "c", "f"), ("z", "c", "f")]
    assert await every(max_depth=1) == [("a",), ("z",)]
    assert await every(max_depth=1, prefix=("z",)) == [("z",)]
    assert await every(limit=2, offset=3) == [("a", "b", "f"), ("a", "c", "f")]
    assert await every(prefix=("a", "b", "c", "d")) == []
    assert await every(suffix=("nothing",)) == []


async def test_a_batch_reads_first_and_then_writes_and_the_last_write_counts(store):
    await store.aput(NS, "a", {"n": 0})

    results = await store.abatch(
        [
            PutOp(NS, "a", {"n": 1}),
            GetOp(NS, "a"),
            PutOp(NS, "b", {"n": 1}),
            PutOp(NS, "a", {"n": 2}),
            SearchOp(NS),
            ListNamespacesOp(),
            GetOp(NS, "missing"),
            PutOp(NS, "b", None),
            GetOp(NS, "a"),
        ]
    )

    assert [results[place].value for place in (1, 8)] == [{"n": 0}, {"n": 0}]
    assert [item.key for item in results[4]] == ["a"]
    assert results[5] == [NS]
    assert [results[place] for place in (0, 2, 3, 6, 7)] == [None] * 5
    assert (await store.aget(NS, "a")).value == {"n": 2}
    assert await store.aget(NS, "b") is None


async def test_a_large_batch_is_done_whole(store):
    puts = [PutOp(NS, f"k{number}", {"n": number}) for number in range(60)]
    await store.abatch(puts)
    results = await store.abatch([GetOp(NS, f"k{number}") for number in range(120)])

    assert [item.value["n"] for item in results[:60]] == list(range(60))
    assert results[60:] == [None] * 60


def test_the_synchronous_face_does_the_same(store):
    store.put(NS, "k", {"n": 1})
    assert store.get(NS, "k").value == {"n": 1}
    assert [item.key for item in store.search(NS)] == ["k"]
    assert store.list_namespaces(prefix=("anna",)) == [NS]
    store.delete(NS, "k")
    assert store.get(NS, "k") is None


async def test_the_synchronous_face_works_where_a_loop_runs(store):
    store.put(NS, "k", {"n": 1})
    assert store.get(NS, "k").value == {"n": 1}


async def test_namespaces_follow_langgraphs_rules(store):
    """HID-27"""
    for namespace in ((), ("",), ("a.b",), ("a", ""), ("langgraph",), ("a", "b\x00")):
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "k", {})


# Both stores, side by side

LABELS = st.sampled_from(["a", "b", "a!", '"', "*", "a:b", "ü"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["", "k", "!", "a", "b!k", "ü"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(-2, 2).filter(lambda x: x != 0 or str(x) == "0.0"),
    st.text(max_size=3),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=4,
)
VALUES = st.fixed_dictionaries({}, optional={"n": st.integers(0, 3), "s": st.sampled_from(["x", "y", "1"]), "j": JSON})
OPERATORS = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(0, 3), min_size=1, max_size=2
)
FILTERS = st.fixed_dictionaries(
    {}, optional={"n": st.one_of(st.integers(0, 3), OPERATORS), "s": st.sampled_from(["x", "y"]), "j": JSON}
)
PATHS = st.lists(LABELS, max_size=2).map(tuple)
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMESPACES, KEYS, VALUES),
    st.tuples(st.just("put"), NAMESPACES, KEYS, VALUES),
    st.tuples(st.just("delete"), NAMESPACES, KEYS),
    st.tuples(st.just("get"), NAMESPACES, KEYS),
    st.tuples(st.just("search"), PATHS, FILTERS, st.integers(0, 4), st.integers(0, 3)),
    st.tuples(
        st.just("list"),
        PATHS,
        PATHS,
        st.one_of(st.none(), st.integers(1, 3)),
        st.integers(0, 4),
        st.integers(0, 3),
    ),
    st.tuples(st.just("batch"), st.lists(st.tuples(NAMESPACES, KEYS, st.one_of(st.none(), VALUES)), max_size=4)),
)
TABLES = itertools.count()


@pytest.fixture(scope="module")
def client():
    with mocked_dynamodb() as client:
        yield client


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=3, max_size=14))
def test_whatever_is_done_both_stores_give_the_same_answers(client, steps):
    oracle = InMemoryStore()
    store = DynamoStore(client, create_memory_table(client, f"store-{next(TABLES)}"), allow_scan=True, pause=no_pause)
    for step in steps:
        match step:
            case "put", namespace, key, value:
                oracle.put(namespace, key, value)
                store.put(namespace, key, value)
            case "delete", namespace, key:
                oracle.delete(namespace, key)
                store.delete(namespace, key)
            case "get", namespace, key:
                assert seen(store.get(namespace, key)) == seen(oracle.get(namespace, key))
            case "batch", puts:
                ops = [PutOp(*each) for each in puts]
                oracle.batch(ops)
                store.batch(ops)
            case "search", prefix, wanted, limit, offset:
                same_search(store, oracle, prefix, wanted, limit, offset)
            case "list", prefix, suffix, max_depth, limit, offset:
                # The in-memory store keeps the namespaces of deleted, and of looked for, items.
                for namespace in [namespace for namespace, items in oracle._data.items() if not items]:
                    del oracle._data[namespace]
                options = {"prefix": prefix, "suffix": suffix, "max_depth": max_depth}
                assert store.list_namespaces(**options) == oracle.list_namespaces(**options)
                options |= {"limit": limit, "offset": offset}
                assert store.list_namespaces(**options) == oracle.list_namespaces(**options)
    same_search(store, oracle, (), {}, 3, 1)


def same_search(store, oracle, prefix, wanted, limit, offset):
    try:
        expected = oracle.search(prefix, filter=wanted, limit=1000)
    except (TypeError, ValueError):
        # It cannot compare what is no number; here that does not fit.
        store.search(prefix, filter=wanted, limit=1000)
        return
    everything = store.search(prefix, filter=wanted, limit=1000)
    assert sorted(map(seen, everything)) == sorted(map(seen, expected))
    # The order is each store's own; a page is a cut of it.
    assert store.search(prefix, filter=wanted, limit=limit, offset=offset) == everything[offset : offset + limit]


def seen(item):
    return item and (item.namespace, item.key, json.dumps(item.value, sort_keys=True))
