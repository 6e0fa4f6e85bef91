"""Graphs whose channels are stored as writes (LangGraph's ``DeltaChannel``) work and stay cheap."""

import asyncio
import operator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from shared.domain.errors import CorruptCheckpointError
from tests.fakes.checkpointers import THREAD, config_of, items_of, saver_on
from tests.fakes.dynamodb import mocked_dynamodb, tapped

DURABILITIES = ("exit", "async")


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


def extend(state: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*state, *(element for write in writes for element in write)]


def logging(frequency: int = 100):
    class State(TypedDict):
        log: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=frequency)]
        plain: Annotated[list[str], operator.add]

    builder = StateGraph(State)
    builder.add_node("first", lambda state: {"log": [f"first {len(state['log'])}"]})
    for name in "dcba":
        builder.add_node(name, lambda state, name=name: {"log": [f"{name} {len(state['log'])}"], "plain": [name]})
    builder.add_edge(START, "first")
    for name in "dcba":
        builder.add_edge("first", name)
        builder.add_edge(name, END)
    return builder


def say(graph, text: str, durability: str, config=None):
    turn = {"log": [f"{text}"], "plain": [text]}
    return graph.invoke(turn, config or config_of(), durability=durability)


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("frequency", [3, 100])
def test_a_thread_reads_as_from_the_in_memory_saver(client, durability, frequency):
    builder = logging(frequency)
    oracle = builder.compile(checkpointer=InMemorySaver())
    turns = 9 if durability == "exit" else 4
    for number in range(turns):
        graph = builder.compile(checkpointer=saver_on(client))
        said = say(graph, f"turn {number}", durability)
        expected = say(oracle, f"turn {number}", durability)
        assert said == expected
    cold = builder.compile(checkpointer=saver_on(client))
    assert cold.get_state(config_of()).values == expected
    assert len(expected["log"]) == 6 * turns
    assert [each.values for each in cold.get_state_history(config_of())] == [
        each.values for each in oracle.get_state_history(config_of())
    ]


@pytest.mark.parametrize("durability", DURABILITIES)
def test_it_goes_on_from_any_checkpoint(client, durability):
    builder = logging(4)
    oracle, oracle_saver = None, InMemorySaver()
    oracle = builder.compile(checkpointer=oracle_saver)
    for number in range(4):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", durability)
        say(oracle, f"turn {number}", durability)
    ours = list(builder.compile(checkpointer=saver_on(client)).get_state_history(config_of()))
    theirs = list(oracle.get_state_history(config_of()))
    for mine, other in list(zip(ours, theirs, strict=True))[1::4]:
        graph = builder.compile(checkpointer=saver_on(client))
        said = say(graph, "again", durability, mine.config)
        assert said == say(oracle, "again", durability, other.config)
        graph.update_state(config_of(), {"log": ["by hand"]}, as_node="a")
        oracle.update_state(config_of(), {"log": ["by hand"]}, as_node="a")
        assert graph.get_state(config_of()).values == oracle.get_state(config_of()).values


@pytest.mark.parametrize("durability", ["exit", "async"])
def test_a_history_takes_one_query(client, durability):
    builder = logging()
    for number in range(12 if durability == "exit" else 6):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", durability)
    saver = saver_on(client)
    config = saver.get_tuple(config_of()).config
    with tapped(client) as wire:
        history = saver.get_delta_channel_history(config=config, channels=["log"])
    assert dict(wire.counts) == {"Query": 1}
    assert len(history["log"]["writes"]) > 30
    assert saver.get_delta_channel_history(config=config, channels=[]) == {}


def test_a_history_that_starts_from_a_snapshot_reaches_no_further(client):
    builder = logging(4)
    for number in range(12):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "exit")
    saver = saver_on(client)
    config = saver.get_tuple(config_of()).config
    graph = builder.compile(checkpointer=saver)
    graph.update_state(config_of(), {"log": ["by hand"]}, as_node="a")
    config = saver.get_tuple(config_of()).config
    with tapped(client) as wire:
        history = saver.get_delta_channel_history(config=config, channels=["log"])["log"]
    assert len(history["seed"].value) == 72
    assert [value for _, _, value in history["writes"]] == [["by hand"]]
    assert wire.counts["Query"] <= 2


def test_it_does_what_the_library_would_do_checkpoint_by_checkpoint(client):
    from langgraph.checkpoint.base import BaseCheckpointSaver

    builder = logging(5)
    for number in range(3):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "async")
    saver = saver_on(client)
    for each in saver.list(config_of()):
        ours = saver.get_delta_channel_history(config=each.config, channels=["log", "plain", "none"])
        theirs = BaseCheckpointSaver.get_delta_channel_history(
            saver, config=each.config, channels=["log", "plain", "none"]
        )
        assert ours == theirs


def test_snapshots_of_a_long_list_are_written_once(client):
    # A snapshot holds the whole list. Only what is new since the last one is stored.
    class State(TypedDict):
        log: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=5)]

    builder = StateGraph(State)
    builder.add_node("work", lambda _: {})
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=saver_on(client))
    sizes = []
    for number in range(40):
        with tapped(client) as wire:
            turn = {"log": [HumanMessage(f"{number} " + str(hash(str(number))) * 20, id=f"m{number}")]}
            graph.invoke(turn, config_of(), durability="exit")
        sizes.append(sum(len(str(body)) for _, body in wire.requests))
    assert sum(sizes[25:40]) < 1.5 * sum(sizes[5:20])
    cold = builder.compile(checkpointer=saver_on(client))
    assert [each.id for each in cold.get_state(config_of()).values["log"]] == [f"m{n}" for n in range(40)]


def test_pruning_keeps_the_value(client):
    builder = logging(7)
    for number in range(5):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "async")
    before = builder.compile(checkpointer=saver_on(client)).get_state(config_of()).values
    saver_on(client).prune([THREAD])
    assert len(list(saver_on(client).list(config_of()))) == 1
    assert builder.compile(checkpointer=saver_on(client)).get_state(config_of()).values == before
    for number in range(2):
        said = say(builder.compile(checkpointer=saver_on(client)), f"more {number}", "async")
    assert said["log"][: len(before["log"])] == before["log"]
    assert len(said["log"]) == len(before["log"]) + 12


def test_removing_a_run_keeps_what_came_after(client):
    builder = logging(9)
    for number in range(5):
        config = config_of(run_id=f"run{number}")
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "async", config)
    before = builder.compile(checkpointer=saver_on(client)).get_state(config_of()).values
    saver_on(client).delete_for_runs(["run1", "run2"])
    assert builder.compile(checkpointer=saver_on(client)).get_state(config_of()).values == before
    said = say(builder.compile(checkpointer=saver_on(client)), "more", "async")
    assert said["log"][: len(before["log"])] == before["log"]
    runs = {each.metadata["run_id"] for each in saver_on(client).list(config_of()) if "run_id" in each.metadata}
    assert runs == {"run0", "run3", "run4"}


def test_a_copy_has_its_own_history(client):
    builder = logging()
    for number in range(4):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "async")
    saver_on(client).copy_thread(THREAD, "copy")
    saver_on(client).delete_thread(THREAD)
    said = say(builder.compile(checkpointer=saver_on(client)), "more", "async", config_of("copy"))
    assert len(said["log"]) == 30


def test_a_missing_ancestor_is_an_error_and_not_an_empty_start(client):
    builder = logging()
    for number in range(4):
        say(builder.compile(checkpointer=saver_on(client)), f"turn {number}", "async")
    listed = list(saver_on(client).list(config_of()))
    gone = listed[6].config["configurable"]["checkpoint_id"]
    key = next(item for item in items_of(client) if item["sk"]["S"].endswith(f"{gone}!h"))
    client.delete_item(TableName="checkpoints", Key={"pk": key["pk"], "sk": key["sk"]})
    with pytest.raises(CorruptCheckpointError, match=gone):
        saver_on(client).get_delta_channel_history(config=listed[0].config, channels=["log"])


class MovingClock:
    def __init__(self) -> None:
        self.at = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


@pytest.mark.parametrize("durability", ["exit", "async"])
def test_an_expiry_never_cuts_the_history_of_a_living_thread(client, durability):
    clock, builder, keep_for = MovingClock(), logging(), timedelta(days=10)
    for number in range(5):
        graph = builder.compile(checkpointer=saver_on(client, keep_for=keep_for, clock=clock))
        said = say(graph, f"turn {number}", durability)
        assert len(said["log"]) == 6 * (number + 1)
        reap(client, clock)
        clock.at += timedelta(days=6)
    clock.at += timedelta(days=3)
    cold = builder.compile(checkpointer=saver_on(client, keep_for=keep_for, clock=clock))
    assert len(cold.get_state(config_of()).values["log"]) == 30


def reap(client, clock):
    for item in items_of(client):
        if "ttl" in item and int(item["ttl"]["N"]) <= clock.now().timestamp():
            client.delete_item(TableName="checkpoints", Key={"pk": item["pk"], "sk": item["sk"]})


async def test_the_asynchronous_face_does_the_same(client):
    class State(TypedDict):
        log: Annotated[list[str], DeltaChannel(extend)]

    async def work(state):
        await asyncio.sleep(0)
        return {"log": [state["name"]]}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda _: [Send("work", {"name": name}) for name in "hgfedcba"])
    for _ in range(3):
        graph = builder.compile(checkpointer=saver_on(client))
        said = await graph.ainvoke({"log": ["start"]}, config_of(), durability="async")
    assert said["log"] == ["start", *"hgfedcba"] * 3
    cold = builder.compile(checkpointer=saver_on(client))
    assert (await cold.aget_state(config_of())).values["log"] == said["log"]
