"""The process dies after any request: the thread reads as before or as after, and a retry completes what was begun."""

import asyncio
import itertools
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from shared.adapters.dynamodb.checkpointer import DynamoCheckpoints
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.keys import Place
from shared.adapters.dynamodb.checkpointer.layout import Slice
from shared.domain.errors import StoreError
from shared.domain.ids import ThreadId, UserId
from tests.fakes.checkpointers import (
    OWNER,
    THREAD,
    DyingClient,
    config_of,
    items_of,
    put,
    saver_on,
    texts,
    values_of,
)
from tests.fakes.dynamodb import mocked_dynamodb

NOISE = "".join(chr(0x4E00 + number * 7_919 % 20_000) for number in range(400_000))


def chat(client):
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", END)
    return builder.compile(checkpointer=saver_on(client))


def say(client, text, **more: Any):
    turn = {"messages": [HumanMessage(text)]}
    return chat(client).invoke(turn, config_of(**more), durability="exit")["messages"]


def grow(client, turns: int):
    graph = chat(client)
    for number in range(turns):
        turn = {"messages": [HumanMessage(f"question {number} " + "x" * 2_500)]}
        graph.invoke(turn, config_of(run_id=f"run{number}"), durability="exit")


# How long the thread is, and what is said then. A list of so many turns is given a segment in the turn after the
# ninth, and the checkpoint after that refers to it.
TURNS = {
    "first": (0, "hello"),
    "small": (3, "hello"),
    "large": (3, NOISE),
    "segment": (12, "hello"),
    "base": (13, "hello"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_a_turn(turn):
    length, text = TURNS[turn]
    with mocked_dynamodb() as client:
        grow(client, length)
        unbroken = DyingClient(client)
        before = texts(values_of(saver_on(client))["messages"]) if length else []
        after = texts(say(unbroken, text, run_id="last"))
    outcomes = set()
    writes, moves = unbroken.sent["batch_write_item"], unbroken.sent["update_item"]
    # The last write and the move of the head go side by side, so either may be the last to arrive.
    for batch_write_item, update_item in itertools.product(range(writes + 1), range(moves + 1)):
        with mocked_dynamodb() as client:
            grow(client, length)
            dying = DyingClient(client, batch_write_item=batch_write_item, update_item=update_item)
            with suppress(StoreError):
                say(dying, text, run_id="last")
            found = saver_on(client).get_tuple(config_of())
            left = texts(found.checkpoint["channel_values"]["messages"]) if found else []
            assert left in (before, after)
            outcomes.add(len(left))
            if left == before:
                assert texts(say(client, text)) == after
            assert texts(values_of(saver_on(client))["messages"]) == after
            for each in saver_on(client).list(config_of(), limit=3):
                assert len(each.checkpoint["channel_values"]["messages"]) % 2 == 0
    assert outcomes == {len(before), len(after)}


def test_the_turns_above_do_write_a_segment_and_a_base():
    with mocked_dynamodb() as client:
        grow(client, TURNS["segment"][0])
        assert newest_record(client).depth > 0
        say(client, "hello")
        assert newest_record(client).offer
        say(client, "hello")
        assert newest_record(client).depth == 0
        assert any(isinstance(part, Slice) for part in newest_record(client).lists["messages"].parts)


def newest_record(client):
    newest = saver_on(client)._reader.newest(Place(OWNER, THREAD), "")
    assert newest is not None
    return newest.record


def dying_at_every_request(act, check):
    """Let ``act`` die after each number of requests; then check, do it again, and check once more."""
    with mocked_dynamodb() as client:
        two_namespaces(client)
        items = items_of(client)
        unbroken = DyingClient(client)
        act(unbroken)
    assert unbroken.sent.total() > 2
    for requests in range(unbroken.sent.total()):
        with mocked_dynamodb() as client:
            restore(client, items)
            with pytest.raises(StoreError):
                act(DyingClient(client, requests))
            check(client, complete=False)
            act(client)
            check(client, complete=True)


def two_namespaces(client):
    """A thread with segments, a blob, pending writes, runs and a namespace of a subgraph."""
    saver, parent, inner = saver_on(client), None, None
    for number in range(12):
        messages = [HumanMessage(f"message {each} " + "x" * 5_000) for each in range(number + 1)]
        values = {"messages": messages, "document": "y" * 20_000 + str(number // 8)}
        parent = put(saver, values, parent, number, run_id=f"run{number // 3}")
        if number % 5 == 0:
            inner = put(saver, {"inner": [number]}, inner, number, checkpoint_ns="inner:1")
    saver.put_writes(parent, [("messages", "z" * 20_000), ("other", 1)], "task")
    saver.put_writes(inner, [("inner", 2)], "task")
    return saver


def restore(client, items):
    for start in range(0, len(items), 25):
        batch = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
        client.batch_write_item(RequestItems={"checkpoints": batch})


def everything_readable(client, thread=THREAD):
    """Every checkpoint that is listed, in every namespace, put together."""
    config = config_of(thread)
    del config["configurable"]["checkpoint_ns"]
    return [
        (
            each.config["configurable"]["checkpoint_ns"],
            len(each.checkpoint["channel_values"].get("messages", [])),
            each.checkpoint["channel_values"].get("document", "")[-1:],
            each.pending_writes,
        )
        for each in saver_on(client).list(config)
    ]


def test_a_delete():
    def act(client):
        saver_on(client).delete_thread(THREAD)

    def check(client, *, complete):
        left = everything_readable(client)
        assert len(left) in ({0} if complete else {0, 15})
        assert saver_on(client).get_tuple(config_of(namespace="inner:1")) is None or left
        if complete:
            assert [item["sk"]["S"] for item in items_of(client)] == ['!entry!"#!\U0010ffff']

    dying_at_every_request(act, check)


def test_a_purge():
    def act(client):
        purge = DynamoCheckpoints(client, "checkpoints", cache=Cache(), pause=lambda tries: None)
        asyncio.run(purge.purge(UserId(OWNER), ThreadId(THREAD)))

    def check(client, *, complete):
        assert saver_on(client).get_tuple(config_of()) is None or not complete
        assert len(items_of(client)) == 1 or not complete

    dying_at_every_request(act, check)


def test_a_prune():
    with mocked_dynamodb() as client:
        two_namespaces(client)
        whole = everything_readable(client)
    newest = [each for each in whole if each[3]]
    assert len(newest) == 2

    def act(client):
        saver_on(client).prune([THREAD])

    def check(client, *, complete):
        left = everything_readable(client)
        assert all(each in whole for each in left)
        assert all(each in left for each in newest)
        if complete:
            assert left == newest
            saver = saver_on(client)
            config = saver.get_tuple(config_of()).config
            messages = values_of(saver)["messages"]
            put(saver, {"messages": [*messages, HumanMessage("more")]}, config, 30)
            assert len(values_of(saver_on(client))["messages"]) == 13

    dying_at_every_request(act, check)


def test_a_copy():
    def act(client):
        saver_on(client).copy_thread(THREAD, "copy")

    def check(client, *, complete):
        original, copied = everything_readable(client), everything_readable(client, "copy")
        assert copied == original if complete else copied in ([], original)
        assert len(original) == 15

    dying_at_every_request(act, check)


def test_a_removal_of_runs():
    def act(client):
        saver_on(client).delete_for_runs(["run1", "run2"])

    def check(client, *, complete):
        left = [messages for namespace, messages, _, _ in everything_readable(client) if namespace == ""]
        kept = [12, 11, 10, 3, 2, 1]
        assert set(kept) <= set(left)
        if complete:
            assert left == kept

    dying_at_every_request(act, check)
