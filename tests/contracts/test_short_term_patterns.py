"""LangGraph's patterns of short-term memory on the checkpointer, each call in a process that knows nothing yet.

The same patterns, told for readers, are in ``docs/short_term_memory.md``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NotRequired, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, RetryPolicy, interrupt

from shared.adapters.dynamodb.checkpointer import checkpointer_for
from shared.domain.history import trim
from shared.domain.ids import UserId
from shared.domain.window import NO_COVERAGE
from tests.fakes.checkpointers import texts
from tests.fakes.dynamodb import mocked_dynamodb

CONFIG = {"configurable": {"thread_id": "thread"}}
OTHER_THREAD = {"configurable": {"thread_id": "another thread"}}


@pytest.fixture
def saver():
    """Gives a new checkpointer of the same table."""
    with mocked_dynamodb() as client:

        def new(owner: str = "owner"):
            return checkpointer_for(client, "checkpoints", UserId(owner))

        yield new


# The functional API


def adder(saver):
    @entrypoint(checkpointer=saver)
    def add(number: int, *, previous: Any = None) -> int:
        if number < 0:
            raise ValueError("negative")
        return number + (previous or 0)

    return add


def test_previous_is_what_the_last_call_on_the_thread_returned(saver):
    # ST2-01, ST2-02, ST2-07
    assert [adder(saver()).invoke(number, CONFIG) for number in (1, 2, 4)] == [1, 3, 7]
    assert adder(saver()).invoke(5, OTHER_THREAD) == 5
    assert adder(saver("another owner")).invoke(5, CONFIG) == 5


async def test_previous_is_the_same_to_asynchronous_workflows(saver):
    # ST2-01, ST2-02
    def workflow():
        @entrypoint(checkpointer=saver())
        async def add(number: int, *, previous: Any = None) -> int:
            return number + (previous or 0)

        return add

    assert [await workflow().ainvoke(number, CONFIG, durability="exit") for number in (1, 2)] == [1, 3]


def test_without_a_checkpointer_there_is_no_previous():
    # ST2-03
    forgetful = adder(None)
    assert [forgetful.invoke(number, CONFIG) for number in (1, 2)] == [1, 2]


def test_with_a_checkpointer_a_call_names_its_thread(saver):
    # ST2-04
    with pytest.raises(ValueError, match="thread_id"):
        adder(saver()).invoke(1)


def test_a_call_that_fails_leaves_previous_as_the_last_success_did(saver):
    # ST2-05
    adder(saver()).invoke(3, CONFIG)
    with pytest.raises(ValueError, match="negative"):
        adder(saver()).invoke(-1, CONFIG)
    assert adder(saver()).invoke(4, CONFIG) == 7


def test_final_parts_what_is_returned_from_what_is_saved(saver):
    # ST2-06
    def doubler():
        @entrypoint(checkpointer=saver())
        def double(number: int, *, previous: Any = None) -> entrypoint.final[int, int]:
            return entrypoint.final(value=previous or 0, save=2 * number)

        return double

    assert [doubler().invoke(number, CONFIG) for number in (3, 1, 7)] == [0, 6, 2]


def chatbot(saver, rebind: bool = True):
    seen: list[int] = []

    @task
    def call_model(messages: Sequence[AnyMessage]) -> AIMessage:
        seen.append(len(messages))
        return AIMessage(f"answer to {messages[-1].content}")

    @entrypoint(checkpointer=saver)
    def chat(said: list[AnyMessage], *, previous: Any = None) -> entrypoint.final[AIMessage, list[AnyMessage]]:
        merged = add_messages(previous or [], said)
        answer = call_model(merged).result()
        return entrypoint.final(value=answer, save=add_messages(merged if rebind else said, answer))

    return chat, seen


def chat_in_turn(saver, rebind: bool) -> list[int]:
    counts = []
    for number in range(4):
        chat, seen = chatbot(saver(), rebind)
        answer = chat.invoke([HumanMessage(f"question {number}")], CONFIG)
        assert answer.content == f"answer to question {number}"
        counts += seen
    return counts


def test_a_chatbot_that_saves_the_merged_history_sees_all_of_it(saver):
    # ST2-08, ST2-10, ST2-12
    assert chat_in_turn(saver, rebind=True) == [1, 3, 5, 7]


def test_a_chatbot_that_saves_only_its_input_loses_what_came_before(saver):
    # ST2-11: the trap; "inputs" must be the merged history by then.
    assert chat_in_turn(saver, rebind=False) == [1, 3, 3, 3]


def test_add_messages_keeps_the_order_and_replaces_by_id():
    # ST2-08
    before = [HumanMessage("one", id="1"), AIMessage("two", id="2")]
    after = add_messages(before, [HumanMessage("three", id="3"), AIMessage("second", id="2")])
    assert texts(after) == ["one", "second", "three"]
    assert texts(before) == ["one", "two"]


def test_a_task_is_tried_again_as_a_whole(saver):
    # ST2-12
    tries: list[str] = []

    @task(retry_policy=RetryPolicy(retry_on=TimeoutError, initial_interval=0, jitter=False))
    def call_model(question: str) -> str:
        tries.append(question)
        if len(tries) < 3:
            raise TimeoutError
        return f"answer to {question}"

    @entrypoint(checkpointer=saver())
    def ask(question: str) -> str:
        return call_model(question).result()

    assert ask.invoke("why?", CONFIG) == "answer to why?"
    assert tries == ["why?"] * 3


def test_a_finished_task_is_not_done_again_when_the_workflow_goes_on(saver):
    # ST2-12: its result is read back from the checkpointer.
    asked: list[str] = []

    def workflow():
        @task
        def call_model(question: str) -> str:
            asked.append(question)
            return f"answer to {question}"

        @entrypoint(checkpointer=saver())
        def ask(question: str) -> str:
            answer = call_model(question).result()
            return f"{answer}, {interrupt('Is that so?')}"

        return ask

    workflow().invoke("why?", CONFIG)
    assert workflow().invoke(Command(resume="approved"), CONFIG) == "answer to why?, approved"
    assert asked == ["why?"]


# Graphs

Answer = Callable[[Any], dict[str, Any]]


def echo(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}


class Thread:
    """A thread of a graph; each call is in a process of its own."""

    def __init__(self, saver, answer: Answer = echo, state: Any = MessagesState, config: Any = CONFIG):
        builder = StateGraph(state)
        builder.add_node("agent", answer)
        builder.add_edge(START, "agent")
        builder.add_edge("agent", END)
        self._builder, self._saver, self.config = builder, saver, config

    @property
    def graph(self):
        return self._builder.compile(checkpointer=self._saver())

    def say(self, *said: Any) -> list[AnyMessage]:
        return self.graph.invoke({"messages": list(said)}, self.config, durability="exit")["messages"]

    def values(self) -> dict[str, Any]:
        return self.graph.get_state(self.config).values

    def messages(self) -> list[AnyMessage]:
        return self.values()["messages"]


def test_a_graph_with_a_thread_id_goes_on_where_it_was(saver):
    # ST2-13
    thread, other = Thread(saver), Thread(saver, config=OTHER_THREAD)
    thread.say("Hi")
    assert texts(thread.say("And now?")) == ["Hi", "answer 1", "And now?", "answer 3"]
    assert texts(other.say("Hi")) == ["Hi", "answer 1"]


@pytest.mark.parametrize(
    "shorthand",
    [
        "Hi",
        ("user", "Hi"),
        {"role": "user", "content": "Hi"},
        {"type": "human", "content": "Hi"},
        HumanMessage("Hi"),
    ],
    ids=["text", "pair", "openai", "dict", "message"],
)
def test_a_message_may_be_written_short_and_gets_an_id(saver, shorthand):
    # ST2-09
    thread = Thread(saver)
    thread.say(shorthand)
    question, answer = thread.messages()
    assert (question.type, question.text) == ("human", "Hi")
    assert question.id
    assert answer.id
    assert question.id != answer.id


def test_a_message_with_a_known_id_takes_the_others_place(saver):
    # ST2-09
    thread = Thread(saver)
    thread.say(HumanMessage("Hi", id="first"))
    thread.say(HumanMessage("Hello", id="first"))
    assert texts(thread.messages()) == ["Hello", "answer 1", "answer 2"]


# Trim

trimmed = partial(
    trim_messages,
    strategy="last",
    token_counter=count_tokens_approximately,
    max_tokens=128,
    start_on="human",
    end_on=("human", "tool"),
)


def turn(number: int, words: int = 20) -> list[AnyMessage]:
    return [HumanMessage(f"question {number} " + "x " * words), AIMessage(f"answer {number} " + "y " * words)]


def test_trim_keeps_the_newest_within_the_budget_from_a_human_message_on():
    # ST2-14
    history = [message for number in range(10) for message in turn(number)] + [HumanMessage("now?")]
    kept = trimmed(history)
    assert count_tokens_approximately(kept) <= 128
    assert kept == history[-len(kept) :]
    assert 1 < len(kept) < len(history)
    assert kept[0].type == "human"


def test_trim_drops_the_system_message_unless_told_to_keep_it():
    # ST2-15
    history = [SystemMessage("Be brief."), *(message for number in range(10) for message in turn(number))]
    asking = [*history, HumanMessage("now?")]
    assert trimmed(asking)[0].type == "human"
    assert trimmed(asking, include_system=True)[0] == history[0]


def test_trim_gives_nothing_when_the_last_question_alone_is_over_the_budget():
    # ST2-16: the trap; the product's own trim falls back to the current turn.
    history: list[AnyMessage] = [*turn(0), HumanMessage("please " * 1000, id="now")]
    assert trimmed(history) == []
    kept = trim(history, NO_COVERAGE, buffer_turns=5, token_budget=128, count_tokens=count_tokens_approximately)
    assert kept == history[-1:]


def test_trim_that_ends_on_a_question_cuts_an_answer_off():
    # ST2-17: so it belongs right before a call of the model, and nowhere else.
    history = [*turn(0), *turn(1)]
    assert trimmed(history)[-1].type == "human"
    assert trimmed(history, end_on=None)[-1].type == "ai"


def test_trim_works_on_a_copy_and_the_thread_keeps_everything(saver):
    # ST2-18
    shown: list[int] = []

    def answer(state: MessagesState) -> dict[str, Any]:
        shown.append(len(trimmed(state["messages"])))
        return {"messages": [AIMessage("answer " + "y " * 20)]}

    thread = Thread(saver, answer)
    for number in range(10):
        thread.say("question " + "x " * 20)
        assert len(thread.messages()) == 2 * (number + 1)
    assert shown[-1] == max(shown) < 19


# Delete


def test_the_earliest_two_messages_are_removed_for_good(saver):
    # ST2-19
    def answer(state: MessagesState) -> dict[str, Any]:
        gone = (
            [RemoveMessage(id=str(message.id)) for message in state["messages"][:2]]
            if "Forget" in state["messages"][-1].text
            else []
        )
        return {"messages": [*gone, AIMessage("done")]}

    thread = Thread(saver, answer)
    thread.say("one")
    thread.say("two")
    thread.say("Forget")
    assert texts(thread.messages()) == ["two", "done", "Forget", "done"]
    thread.say("three")
    assert texts(thread.messages()) == ["two", "done", "Forget", "done", "three", "done"]


def test_an_unknown_message_cannot_be_removed_and_the_thread_stays_as_it_was(saver):
    # ST2-19
    thread = Thread(saver)
    thread.say("one")
    with pytest.raises(ValueError, match="doesn't exist"):
        thread.graph.update_state(CONFIG, {"messages": [RemoveMessage(id="nobody's")]})
    assert texts(thread.messages()) == ["one", "answer 1"]


def test_without_the_reducer_a_removal_is_a_value_like_any_other(saver):
    # ST2-19: RemoveMessage needs add_messages.
    class Plain(TypedDict):
        messages: list[AnyMessage]

    plain = Thread(saver, lambda state: {"messages": [RemoveMessage(id=state["messages"][0].id)]}, Plain)
    said = plain.graph.invoke({"messages": [HumanMessage("one", id="1")]}, CONFIG)["messages"]
    assert [message.type for message in said] == ["remove"]


def test_removing_all_leaves_what_comes_after_in_the_same_update(saver):
    # ST2-20
    thread = Thread(saver)
    thread.say("one")
    update = [HumanMessage("before"), RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("a new start")]
    thread.graph.update_state(CONFIG, {"messages": update})
    assert texts(thread.messages()) == ["a new start"]
    assert texts(thread.say("go on")) == ["a new start", "go on", "answer 2"]


# A valid history

TOOL_TURN = (
    HumanMessage("weather?", id="h"),
    AIMessage("", id="c", tool_calls=[{"name": "weather", "args": {}, "id": "call"}]),
    ToolMessage("rain", id="t", tool_call_id="call"),
    AIMessage("It rains.", id="a"),
)


def is_valid(messages: Sequence[AnyMessage]) -> bool:
    """What a provider asks for: a human message first, and every result right after its call."""
    open_calls: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                return False
            open_calls.discard(message.tool_call_id)
        elif open_calls:
            return False
        if isinstance(message, AIMessage):
            open_calls = {call["id"] for call in message.tool_calls}
    return not open_calls and messages[0].type == "human"


@pytest.mark.parametrize("keep", range(1, 6))
def test_a_cut_between_a_call_and_its_result_is_mended_before_the_model_sees_it(keep):
    # ST2-21, ST2-24: keeping the last two, as the seed does, can keep a result without its call.
    history = [*TOOL_TURN, HumanMessage("thanks", id="now")]
    cut = history[-keep:]
    kept = trim(cut, NO_COVERAGE, buffer_turns=5, token_budget=1000, count_tokens=count_tokens_approximately)
    assert is_valid(kept)
    assert kept[-1].id == "now"
    assert is_valid(history)
    assert is_valid(cut) == (keep in (1, 5))


# Running summary


class Summarised(MessagesState):
    summary: NotRequired[str]


class Narrator:
    """A model that keeps what it was shown and says how many messages that was."""

    def __init__(self) -> None:
        self.shown: list[list[AnyMessage]] = []

    def invoke(self, messages: Sequence[AnyMessage]) -> AIMessage:
        self.shown.append(list(messages))
        return AIMessage(f"summary of {len(messages) - 1} messages")


def last_turn(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    start = max(place for place, message in enumerate(messages) if message.type == "human")
    return list(messages[start:])


def summarising(model: Narrator, *, at: int = 5) -> Answer:
    """The seed's node, cutting at a human message."""

    def answer(state: Summarised) -> dict[str, Any]:
        messages, summary = state["messages"], state.get("summary", "")
        said = AIMessage("answer")
        if len(messages) < at:
            return {"messages": [said]}
        prompt = f"The summary so far: {summary}\nExtend it." if summary else "Summarise the conversation."
        kept = last_turn(messages)
        gone = messages[: -len(kept)]
        new = model.invoke([*gone, HumanMessage(prompt)])
        return {"messages": [*(RemoveMessage(id=str(each.id)) for each in gone), said], "summary": new.text}

    return answer


def test_a_running_summary_stands_beside_the_messages_and_is_extended(saver):
    # ST2-22, ST2-23
    model = Narrator()
    thread = Thread(saver, summarising(model), Summarised)
    for number in range(6):
        thread.say(f"question {number}")

    prompts = [shown[-1].text for shown in model.shown]
    assert prompts[0] == "Summarise the conversation."
    assert prompts[1] == "The summary so far: summary of 4 messages\nExtend it."
    assert thread.values()["summary"] == f"summary of {len(model.shown[-1]) - 1} messages"
    told = [message.text for shown in model.shown for message in shown[:-1]]
    left = texts(thread.messages())
    everything = [said for number in range(6) for said in (f"question {number}", "answer")]
    # Each message was summarised once or is still there; none is lost.
    assert told + left == everything


def test_the_prompt_of_a_summary_is_never_stored(saver):
    # ST2-25
    thread = Thread(saver, summarising(Narrator()), Summarised)
    for number in range(6):
        thread.say(f"question {number}")
        stored = [text for each in thread.graph.get_state_history(CONFIG) for text in texts(each.values["messages"])]
        assert not any("ummar" in text for text in stored)


def test_a_cut_at_a_human_message_leaves_no_orphan(saver):
    # ST2-24
    def answer(state: MessagesState) -> dict[str, Any]:
        if state["messages"][-1].text != "shorten":
            return {"messages": []}
        kept = last_turn(state["messages"][:-1])
        gone = state["messages"][: -len(kept) - 1]
        return {"messages": [RemoveMessage(id=str(each.id)) for each in gone]}

    thread = Thread(saver, answer)
    thread.say(*turn(0), *TOOL_TURN)
    thread.say("shorten")
    assert thread.messages()[:4] == list(TOOL_TURN)
    assert is_valid(thread.messages())
    # The last two of the same thread would have begun with a result whose call is gone.
    assert not is_valid(TOOL_TURN[-2:])


# Strategies, checkpoints, filters


def by_trimming(messages: Sequence[AnyMessage]) -> tuple[Sequence[AnyMessage], Sequence[AnyMessage]]:
    return trimmed(list(messages)), ()


def by_deleting(messages: Sequence[AnyMessage]) -> tuple[Sequence[AnyMessage], Sequence[AnyMessage]]:
    kept = last_turn(messages)
    return kept, messages[: -len(kept)]


def by_filtering(messages: Sequence[AnyMessage]) -> tuple[Sequence[AnyMessage], Sequence[AnyMessage]]:
    return [each for each in messages if each.type == "human"][-2:], ()


@pytest.mark.parametrize(
    ("strategy", "stored"),
    [(by_trimming, 20), (by_filtering, 20), (by_deleting, 2)],
    ids=["trim", "filter", "delete"],
)
def test_each_strategy_keeps_the_model_within_its_budget_and_only_one_costs_the_thread_anything(
    saver, strategy, stored
):
    # ST2-26, X01
    shown: list[int] = []

    def answer(state: MessagesState) -> dict[str, Any]:
        kept, gone = strategy(state["messages"])
        shown.append(count_tokens_approximately(kept))
        return {"messages": [*(RemoveMessage(id=str(each.id)) for each in gone), turn(0)[1]]}

    thread = Thread(saver, answer)
    for number in range(10):
        thread.say(turn(number)[0])
    assert max(shown) <= 128
    assert len(thread.messages()) == stored
    assert (count_tokens_approximately(thread.messages()) <= 128) == (strategy is by_deleting)


def test_a_thread_is_looked_at_changed_forked_and_deleted(saver):
    # ST2-27
    thread, other = Thread(saver), Thread(saver, config=OTHER_THREAD)
    for text in ("one", "two", "three"):
        thread.say(text)
    other.say("mine")
    assert texts(thread.messages()) == ["one", "answer 1", "two", "answer 3", "three", "answer 5"]

    newest_first = list(thread.graph.get_state_history(CONFIG))
    assert [len(each.values["messages"]) for each in newest_first] == [6, 4, 2]

    first = thread.messages()[0]
    thread.graph.update_state(CONFIG, {"messages": [HumanMessage("uno", id=first.id)]})
    assert texts(thread.messages())[:2] == ["uno", "answer 1"]

    fork = thread.graph.invoke({"messages": ["instead"]}, newest_first[2].config, durability="exit")["messages"]
    assert texts(fork) == ["one", "answer 1", "instead", "answer 3"]
    assert texts(thread.messages()) == texts(fork)
    # What was forked from is still there.
    assert texts(thread.graph.get_state(newest_first[0].config).values["messages"])[-1] == "answer 5"

    saver().delete_thread("thread")
    assert thread.graph.get_state(CONFIG).values == {}
    assert texts(other.messages()) == ["mine", "answer 1"]


def test_a_filter_hides_tool_messages_from_one_reader_only(saver):
    # ST2-28, G30: as the router does.
    shown: list[list[str]] = []

    def answer(state: MessagesState) -> dict[str, Any]:
        spoken = [each for each in state["messages"] if each.type in ("human", "ai") and each.text]
        shown.append([each.text for each in spoken])
        return {"messages": [AIMessage("answer")]}

    thread = Thread(saver, answer)
    thread.say(*TOOL_TURN, "And tomorrow?")
    assert shown == [["weather?", "It rains.", "And tomorrow?"]]
    assert len(thread.messages()) == 6
