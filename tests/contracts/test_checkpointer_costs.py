"""What a turn costs: requests, bytes written and read, and memory. The bench measures the same at length."""

import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph

from shared.adapters.dynamodb.checkpointer import DynamoDBSaver
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.items import bytes_of
from tests.fakes.checkpointers import config_of, items_of, put, saver_on
from tests.fakes.dynamodb import mocked_dynamodb, tapped

WORDS = (  # noqa: SIM905 - easier to read than a list
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room"
).split()


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


def prose(number: int, words: int) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=words))  # noqa: S311 - no secret


def chat():
    builder = StateGraph(MessagesState)
    builder.add_node("router", lambda _: {})
    builder.add_node("agent", lambda state: {"messages": [AIMessage(prose(-len(state["messages"]), 160))]})
    builder.add_node("after", lambda _: {})
    for pair in ((START, "router"), ("router", "agent"), ("agent", "after"), ("after", END)):
        builder.add_edge(*pair)
    return builder


def say(saver, number: int, **more: Any) -> None:
    turn = {"messages": [HumanMessage(prose(number, 70))]}
    chat().compile(checkpointer=saver).invoke(turn, config_of(**more), durability="exit")


def size(item: dict[str, Any]) -> int:
    binary = sum(len(value["B"]) for value in item.values() if "B" in value)
    return binary + bytes_of({name: value for name, value in item.items() if "B" not in value})


@pytest.mark.parametrize("leased", [False, True])
def test_a_turn_takes_three_requests_however_long_the_thread(client, leased):
    saver = saver_on(client)
    for number in range(40):
        with tapped(client) as wire:
            say(saver, number, **({"lease_number": number, "run_id": f"run{number}"} if leased else {}))
        assert wire.counts == {"Query": 1, "BatchWriteItem": 1, "UpdateItem": 1}


def test_a_turn_fits_one_write_unit_and_segments_are_written_once(client):
    saver, seen, written = saver_on(client), {}, []
    for number in range(36):
        say(saver, number)
        now = {item["sk"]["S"]: item for item in items_of(client)}
        fresh = {key: item for key, item in now.items() if item != seen.get(key)}
        written.append(sum(size(item) for key, item in fresh.items() if not key.startswith("!segment")))
        assert len([key for key in fresh if key.startswith("!segment")]) <= 1
        assert not [key for key in fresh if key in seen and not key.endswith("\U0010ffff")]
        seen = now
    # The checkpoint and the guard.
    assert max(written) < 1_024 + 200
    segments = [size(item) for key, item in seen.items() if key.startswith("!segment")]
    assert sum(segments) < 0.5 * sum(written)


@pytest.mark.parametrize(("turns", "queries"), [(1, 1), (10, 1), (40, 2)])
def test_a_cold_load_takes_one_query_or_two(client, turns, queries):
    saver = saver_on(client)
    for number in range(turns):
        say(saver, number)
    with tapped(client) as wire:
        assert saver_on(client).get_tuple(config_of())
    assert wire.counts == {"Query": queries}


class CountingSerializer(JsonPlusSerializer):
    """Counts what is read back."""

    def __init__(self):
        super().__init__()
        self.read = 0

    def loads_typed(self, data):
        self.read += 1
        return super().loads_typed(data)


@pytest.mark.parametrize("newer", [2, 20])
def test_what_follows_a_checkpoint_is_found_without_reading_what_is_newer(client, newer):
    saver = saver_on(client)
    for number in range(newer):
        say(saver, number)
    *_, second, first = saver.list(config_of())
    counting = CountingSerializer()
    cold = saver_on(client, serde=counting)

    (child,) = cold.children(first.config)
    of_child, counting.read = counting.read, 0
    (root,) = cold.children(config_of())

    assert (child.config, root.config) == (second.config, first.config)
    assert child.checkpoint["channel_values"] == second.checkpoint["channel_values"]
    # Four messages, and what is beside them.
    assert of_child <= 10
    assert counting.read <= 8


def test_a_warm_load_reads_only_what_is_new(client):
    here, there = saver_on(client), saver_on(client)
    for number in range(40):
        say(here, number)
    here.get_tuple(config_of())
    for number in range(40, 43):
        say(there, number)
    for reader, new in ((here, 3), (there, 0)):
        with tapped(client) as wire:
            assert len(reader.get_tuple(config_of()).checkpoint["channel_values"]["messages"]) == 86
        (body,) = wire.bodies("Query")
        read = client.query(**{name: value for name, value in body.items() if name != "ReturnConsumedCapacity"})[
            "Items"
        ]
        # The guard, the newest checkpoint known so far, and those after it.
        assert len(read) == 2 + new
        assert wire.counts == {"Query": 1}


def test_memory_is_bounded_whatever_the_number_of_threads(client):
    cache = Cache(bodies_bytes=20_000, footprints_bytes=20_000)
    for owner in range(6):
        saver = DynamoDBSaver(client, "checkpoints", f"owner{owner}", cache=cache)
        for thread in range(6):
            parent = None
            for step in range(3):
                messages = [HumanMessage("x" * 700, id=f"m{n}") for n in range(step + 1)]
                parent = put(saver, {"messages": messages}, parent, step, thread_id=f"thread{thread}")
            assert cache.bodies.bytes <= 20_000
            assert cache.footprints.bytes <= 20_000
    saver = DynamoDBSaver(client, "checkpoints", "owner0", cache=cache)
    assert len(saver.get_tuple(config_of("thread0")).checkpoint["channel_values"]["messages"]) == 3


def test_a_process_that_can_keep_nothing_works_all_the_same(client):
    cache = Cache(bodies_bytes=0, footprints_bytes=0)
    saver = DynamoDBSaver(client, "checkpoints", "owner", cache=cache)
    for number in range(20):
        say(saver, number)
    assert len(saver.get_tuple(config_of()).checkpoint["channel_values"]["messages"]) == 40
    assert cache.bodies.bytes == 0


@pytest.mark.parametrize("edit", ["first", "middle"])
def test_an_edit_of_an_old_message_costs_no_more_than_the_message(client, edit):
    saver = saver_on(client)
    messages = [HumanMessage(prose(number, 200), id=f"m{number}") for number in range(40)]
    config = put(saver, {"messages": messages})
    for number in range(18):
        config = put(saver, {"messages": messages, "step": number}, config, number)
    place = {"first": 0, "middle": 17}[edit]
    for step in range(41, 60):
        messages[place] = HumanMessage(prose(step, 200), id=f"m{place}")
        before = {item["sk"]["S"]: item for item in items_of(client)}
        config = put(saver, {"messages": messages}, config, step)
        fresh = [item for item in items_of(client) if item != before.get(item["sk"]["S"])]
        assert sum(map(size, fresh)) < 8_000
    assert saver_on(client).get_tuple(config_of()).checkpoint["channel_values"]["messages"] == messages
