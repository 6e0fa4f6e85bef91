"""LangGraph graphs on the saver: each turn is run by a process that knows nothing of the one before."""

import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send, interrupt

from tests.fakes.checkpointers import config_of, put, saver_on, texts
from tests.fakes.dynamodb import mocked_dynamodb

DURABILITIES = ("exit", "async")


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


def chat(answer=lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]}, state=MessagesState):
    builder = StateGraph(state)
    builder.add_node("router", lambda _: {})
    builder.add_node("agent", answer)
    builder.add_edge(START, "router")
    builder.add_edge("router", "agent")
    builder.add_edge("agent", END)
    return builder


class Chat:
    """A graph whose every call is in a process of its own."""

    def __init__(self, client, builder, durability="exit", **config):
        self._client, self._builder, self._durability = client, builder, durability
        self.config = config_of(**config)

    def _graph(self):
        return self._builder.compile(checkpointer=saver_on(self._client))

    async def say(self, text: str, **more: Any):
        turn = {"messages": [HumanMessage(text)], **more}
        return await self._graph().ainvoke(turn, self.config, durability=self._durability)

    async def resume(self, value: Any):
        return await self._graph().ainvoke(Command(resume=value), self.config, durability=self._durability)

    async def update(self, values: dict[str, Any], **options: Any):
        return await self._graph().aupdate_state(options.pop("config", self.config), values, **options)

    async def state(self, config=None, **options: Any):
        return await self._graph().aget_state(config or self.config, **options)

    async def messages(self, config=None):
        return (await self.state(config)).values["messages"]

    async def history(self):
        return [each async for each in self._graph().aget_state_history(self.config)]

    async def go_on(self, config, turn=None):
        return await self._graph().ainvoke(turn, config, durability=self._durability)


@pytest.mark.parametrize("durability", [*DURABILITIES, "sync"])
async def test_a_long_chat_reads_as_it_was_said(client, durability):
    thread = Chat(client, chat(), durability)
    for number in range(30 if durability == "exit" else 8):
        said = await thread.say(f"question {number} " + "x" * 500)
    assert texts(await thread.messages()) == texts(said["messages"])
    assert len(said["messages"]) == 2 * (number + 1)


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_edits_and_removals_survive_reload(client, durability):
    # ST2: replace by id, RemoveMessage, REMOVE_ALL_MESSAGES.
    thread = Chat(client, chat(), durability)
    for number in range(4):
        said = await thread.say(f"question {number}")
    first, second = said["messages"][0], said["messages"][1]
    await thread.update({"messages": [HumanMessage("edited", id=first.id), RemoveMessage(second.id)]})
    edited = texts(await thread.messages())
    assert edited[0] == "edited"
    assert len(edited) == 7
    await thread.say("one more")
    assert texts(await thread.messages())[: len(edited)] == edited

    await thread.update({"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("a new start")]})
    await thread.say("go on")
    assert texts(await thread.messages()) == ["a new start", "go on", "answer 2"]


async def test_a_message_changed_in_place_survives_reload(client):
    def answer(state):
        state["messages"][0].content = f"seen {len(state['messages'])} messages"
        return {"messages": [AIMessage("answer")]}

    thread = Chat(client, chat(answer))
    for number in range(20):
        await thread.say(f"question {number}")
        assert (await thread.messages())[0].content == f"seen {2 * number + 1} messages"


async def test_a_window_that_moves_keeps_only_what_is_in_it(client):
    def answer(state):
        gone = [RemoveMessage(message.id) for message in state["messages"][:-4]]
        return {"messages": [*gone, AIMessage(f"answer to {state['messages'][-1].content}")]}

    thread = Chat(client, chat(answer))
    for number in range(24):
        said = await thread.say(f"{number} " + "x" * 900)
        assert len(said["messages"]) <= 5
    assert texts(await thread.messages()) == texts(said["messages"])


async def test_the_thread_goes_on_from_any_checkpoint(client):
    thread = Chat(client, chat())
    for number in range(20):
        await thread.say(f"question {number} " + "x" * 2_000)
    history = await thread.history()
    assert [len(each.values["messages"]) for each in history] == list(range(40, 0, -2))

    for past in (history[3], history[17]):
        kept = texts(past.values["messages"])
        await thread.go_on(past.config, {"messages": [HumanMessage("another way")]})
        messages = texts(await thread.messages())
        assert messages[: len(kept)] == kept
        assert messages[len(kept)] == "another way"
    # What was there before is there still.
    for past in history:
        assert texts(await thread.messages(past.config)) == texts(past.values["messages"])


async def test_a_checkpoint_is_copied_and_updated(client):
    thread = Chat(client, chat())
    for number in range(3):
        await thread.say(f"question {number}")
    past = (await thread.history())[1]
    await thread.update({"messages": [HumanMessage("instead")]}, config=past.config)
    assert texts(await thread.messages())[-1] == "instead"
    copied = await thread.update(None, config=past.config, as_node="__copy__")
    assert texts(await thread.messages(copied)) == texts(past.values["messages"])


class Counted(MessagesState):
    count: Annotated[int, operator.add]
    title: str


async def test_update_state_changes_what_it_names_and_nothing_else(client):
    thread = Chat(client, chat(state=Counted))
    await thread.say("hello", count=2, title="first")
    await thread.update({"count": 5})
    assert (await thread.state()).values | {"messages": None} == {"count": 7, "title": "first", "messages": None}
    await thread.update({"title": "second"}, as_node="agent")
    state = await thread.state()
    assert state.values["title"] == "second"
    assert state.next == ()


def asking():
    def ask(state):
        return {"messages": [AIMessage(f"you said {interrupt('what now?')}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_an_interrupt_waits_for_its_answer(client, durability):
    thread = Chat(client, asking(), durability)
    for number in range(3):
        stopped = await thread.say(f"question {number}")
        assert [each.value for each in stopped["__interrupt__"]] == ["what now?"]
        waiting = await thread.state()
        assert waiting.next == ("ask",)
        assert [each.value for each in waiting.interrupts] == ["what now?"]
        done = await thread.resume(f"go {number}")
        assert done["messages"][-1].content == f"you said go {number}"
    assert (await thread.state()).next == ()
    assert len(await thread.messages()) == 6


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_an_interrupt_in_a_subgraph_waits_for_its_answer(client, durability):
    outer = StateGraph(MessagesState)
    outer.add_node("before", lambda _: {"messages": [AIMessage("before")]})
    outer.add_node("inner", asking().compile())
    outer.add_edge(START, "before")
    outer.add_edge("before", "inner")
    outer.add_edge("inner", END)
    thread = Chat(client, outer, durability)
    for number in range(2):
        await thread.say(f"question {number}")
        waiting = await thread.state(subgraphs=True)
        assert waiting.next == ("inner",)
        inner = waiting.tasks[0].state
        assert inner.config["configurable"]["checkpoint_ns"].startswith("inner:")
        assert texts(inner.values["messages"])[-2:] == [f"question {number}", "before"]
        done = await thread.resume(f"go {number}")
        assert texts(done["messages"])[-1] == f"you said go {number}"
    assert len(await thread.messages()) == 6


async def test_a_subgraph_with_a_memory_of_its_own_has_a_namespace_of_its_own(client):
    class Inner(TypedDict):
        seen: Annotated[list[str], operator.add]

    inner = StateGraph(Inner)
    inner.add_node("see", lambda state: {"seen": [f"seen {len(state['seen'])}"]})
    inner.add_edge(START, "see")
    graph = inner.compile(checkpointer=True)

    async def agent(state):
        result = await graph.ainvoke({"seen": [state["messages"][-1].content]})
        return {"messages": [AIMessage(", ".join(result["seen"]))]}

    thread = Chat(client, chat(agent))
    await thread.say("one")
    said = await thread.say("two")
    assert said["messages"][-1].content == "one, seen 1, two, seen 3"
    assert texts(await thread.messages()) == ["one", "one, seen 1", "two", "one, seen 1, two, seen 3"]
    namespaces = {each.config["configurable"]["checkpoint_ns"] for each in saver_on(client).list(_thread_only())}
    assert namespaces == {"", "agent"}


def _thread_only():
    config = config_of()
    del config["configurable"]["checkpoint_ns"]
    return config


def fanning_out():
    class State(TypedDict):
        order: Annotated[list[str], operator.add]

    def work(state):
        return {"order": [interrupt("which?") if state["name"] == "a" else state["name"]]}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_conditional_edges(START, lambda _: [Send("work", {"name": name}) for name in "edcbafghij"])
    return builder


@pytest.mark.parametrize("durability", DURABILITIES)
async def test_writes_of_parallel_tasks_come_back_in_the_order_of_the_tasks(client, durability):
    # langgraph issue 8382: savers that order by task id permute them.
    thread = Chat(client, fanning_out(), durability)
    await thread.go_on(thread.config, {"order": []})
    loaded = saver_on(client).get_tuple(thread.config)
    written = [value for _, channel, value in loaded.pending_writes if channel == "order"]
    assert written == [[name] for name in "edcbfghij"]
    done = await thread.resume("A")
    assert done["order"] == list("edcbAfghij")
    assert (await thread.state()).values["order"] == list("edcbAfghij")


@dataclass
class Point:
    x: float
    y: float


async def test_floats_sets_and_bytes_are_read_back_as_they_were(client):
    class Everything(TypedDict, total=False):
        number: float
        numbers: list[float]
        tags: set[str]
        raw: bytes
        nested: dict[str, Any]
        nothing: None

    values = {
        "number": 0.1 + 0.2,
        "numbers": [1.5, float("inf"), -0.0, 1e-320],
        "tags": {"a", "b"},
        "raw": bytes(range(256)),
        "nested": {"a": (1, 2), "b": [b"x", {"c": {3.25}}], 7: None},
        "nothing": None,
    }
    builder = StateGraph(Everything)
    builder.add_node("work", lambda _: {})
    builder.add_edge(START, "work")
    thread = Chat(client, builder)
    await thread.go_on(thread.config, values)
    kept = (await thread.state()).values
    # msgpack has no tuples.
    assert kept == values | {"nested": {**values["nested"], "a": [1, 2]}}
    assert all(type(kept[name]) is type(value) for name, value in values.items())


async def test_a_type_of_ones_own_is_built_only_when_it_is_on_the_list(client):
    class State(TypedDict):
        point: Point

    builder = StateGraph(State)
    builder.add_node("work", lambda _: {})
    builder.add_edge(START, "work")
    thread = Chat(client, builder)
    await thread.go_on(thread.config, {"point": Point(1, 2.5)})
    strict = saver_on(client)
    assert strict.get_tuple(thread.config).checkpoint["channel_values"]["point"] == {"x": 1, "y": 2.5}
    knowing = strict.with_allowlist({(Point.__module__, Point.__qualname__)})
    assert knowing.get_tuple(thread.config).checkpoint["channel_values"]["point"] == Point(1, 2.5)
    # The one it was made from stays strict.
    assert strict.get_tuple(thread.config).checkpoint["channel_values"]["point"] == {"x": 1, "y": 2.5}


async def test_the_synchronous_face_does_the_same(client):
    def graph():
        return chat().compile(checkpointer=saver_on(client))

    config = config_of()
    for number in range(3):
        said = graph().invoke({"messages": [HumanMessage(f"question {number}")]}, config, durability="exit")
    assert texts(graph().get_state(config).values["messages"]) == texts(said["messages"])
    past = list(graph().get_state_history(config))[1]
    graph().update_state(past.config, {"messages": [HumanMessage("instead")]})
    assert texts(graph().get_state(config).values["messages"])[-1] == "instead"


async def test_a_run_that_fails_keeps_the_question(client):
    def fail(state):
        raise RuntimeError

    thread = Chat(client, chat(fail))
    with pytest.raises(RuntimeError):
        await thread.say("are you there?")
    assert texts(await thread.messages()) == ["are you there?"]
    assert (await thread.state()).next == ("agent",)


async def test_ten_thousand_messages(client):
    many = [HumanMessage(f"message {number}", id=f"m{number}") for number in range(10_000)]
    saver, parent = saver_on(client), None
    for number in range(18):
        parent = put(saver, {"messages": many[: 9_983 + number]}, parent, number)
    thread = Chat(client, chat())
    await thread.say("and one more")
    messages = await thread.messages()
    assert messages[:10_000] == many
    assert texts(messages[10_000:]) == ["and one more", "answer 10001"]


async def test_a_message_of_a_megabyte(client):
    thread = Chat(client, chat())
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(400_000))
    assert len(text.encode()) > 1_000_000
    await thread.say("hello")
    await thread.say(text)
    for number in range(4):
        await thread.say(f"question {number}")
    messages = await thread.messages()
    assert messages[2].content == text
    assert len(messages) == 12
