"""The background graph: its shape, and what it leaves alone."""

import json
from datetime import UTC, datetime, timedelta
from typing import TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.summarizer import BedrockSummarizer
from shared.domain import counters
from shared.domain.errors import StoreError
from shared.domain.events import TurnEnded
from shared.domain.threads import ThreadRow
from shared.graphs.background.graph import build
from shared.graphs.ids import BACKGROUND_AGENT
from shared.services.summarize_thread import PassRules, SummarizeThread
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summarizer import ScriptedSummarizer
from tests.fakes.thread_messages import InMemoryThreadMessages
from tests.fakes.threads import InMemoryThreads

USER = "user-1"
THREAD = "11111111-1111-4111-8111-111111111111"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RULES = PassRules(
    keep_recent=3,
    hold=timedelta(minutes=3),
    max_attempts=3,
    back_off=timedelta(minutes=1),
    token_budget=60_000,
    char_limit=20_000,
)
ENDED = TurnEnded(
    user_id=USER,
    thread_id=THREAD,
    run_id="33333333-3333-4333-8333-333333333333",
    human_message_id="h3",
    human_count=3,
    ended_at=NOW + timedelta(minutes=5),
)
ENVELOPE = {"configurable": {"userId": USER, "thread_id": THREAD}}
MESSAGES = [
    message
    for n in (1, 2, 3)
    for message in (HumanMessage(f"question {n}", id=f"h{n}"), AIMessage(f"answer {n}", id=f"a{n}"))
]


class World:
    def __init__(self, summarizer=None):
        self.threads = InMemoryThreads()
        self.summaries = InMemorySummaries(self.threads)
        self.messages = InMemoryThreadMessages()
        self.metrics = CountingMetrics()
        self.summarizer = summarizer or ScriptedSummarizer()
        service = SummarizeThread(
            threads=self.threads,
            messages=self.messages,
            summaries=self.summaries,
            summarizer=self.summarizer,
            clock=FixedClock(NOW),
            metrics=self.metrics,
            rules=RULES,
        )
        self.graph = build(threads=self.threads, service=service, metrics=self.metrics)

    async def create(self):
        self.messages.put(USER, THREAD, MESSAGES)
        await self.threads.create(
            ThreadRow(user_id=USER, thread_id=THREAD, created_at=NOW, updated_at=NOW, last_message_at=NOW)
        )

    async def last_message_at(self):
        return (await self.threads.get(USER, THREAD)).last_message_at


@pytest.fixture
async def world():
    world = World()
    await world.create()
    return world


def test_the_graph_is_one_line_without_a_branch(world):
    # G18, G19
    drawing = world.graph.get_graph()
    assert [(edge.source, edge.target, edge.conditional) for edge in drawing.edges] == [
        ("__start__", "touchLastMessage", False),
        ("touchLastMessage", "summarize", False),
        ("summarize", "__end__", False),
    ]
    assert world.graph.name == BACKGROUND_AGENT


async def test_a_turn_end_touches_the_thread_and_makes_the_pass(world):
    # G20, HID-23
    state = await world.graph.ainvoke({"turn": ENDED}, ENVELOPE)
    assert state == {"turn": ENDED, "outcome": "written"}
    assert await world.last_message_at() == ENDED.ended_at
    assert len((await world.summaries.of_thread(USER, THREAD)).entries) == 1


async def test_the_last_message_time_never_moves_back(world):
    # An older turn end that comes late.
    await world.graph.ainvoke({"turn": ENDED}, ENVELOPE)
    late = ENDED.model_copy(update={"ended_at": NOW + timedelta(minutes=1)})
    await world.graph.ainvoke({"turn": late}, ENVELOPE)
    assert await world.last_message_at() == ENDED.ended_at


@pytest.mark.parametrize(
    "configurable",
    [
        {},
        {"userId": USER},
        {"thread_id": THREAD},
        {"userId": "", "thread_id": THREAD},
        {"userId": USER, "thread_id": ""},
        {"userId": 7, "thread_id": THREAD},
    ],
)
async def test_without_user_or_thread_nothing_is_done(world, configurable):
    # TR15, G20
    state = await world.graph.ainvoke({"turn": ENDED}, {"configurable": configurable})
    assert state == {"turn": ENDED}
    assert world.threads.calls["touch"] == world.messages.loads == world.summarizer.calls == 0


async def test_the_envelope_says_whose_thread_it_is_not_the_event(world):
    # ID rows: identity only from the envelope.
    foreign = ENDED.model_copy(update={"user_id": "user-2"})
    await world.graph.ainvoke({"turn": foreign}, ENVELOPE)
    assert len((await world.summaries.of_thread(USER, THREAD)).entries) == 1


async def test_a_failed_touch_costs_no_summary(world):
    # HID-30
    world.threads.failures["touch"] = StoreError("down")
    state = await world.graph.ainvoke({"turn": ENDED}, ENVELOPE)
    assert state["outcome"] == "written"
    assert world.metrics.counts[counters.TOUCH_FAILED] == 1


async def test_a_missing_thread_is_not_made(world):
    # HID-06, HID-24
    await world.threads.mark_deleting(USER, THREAD, now=NOW)
    state = await world.graph.ainvoke({"turn": ENDED}, ENVELOPE)
    assert state["outcome"] == "thread_gone"
    assert not world.threads.lives(USER, THREAD)


async def test_nothing_is_checkpointed_even_inside_a_graph_that_has_a_checkpointer(world):
    # HID-09, G21: same thread id, not one checkpoint more, messages as they were.
    class Chat(TypedDict):
        text: str

    async def run_background(_state):
        await world.graph.ainvoke({"turn": ENDED}, ENVELOPE)
        return {}

    saver = InMemorySaver()

    def chat(node):
        return StateGraph(Chat).add_node("n", node).add_edge(START, "n").add_edge("n", END).compile(checkpointer=saver)

    await chat(lambda _state: {}).ainvoke({"text": "hi"}, ENVELOPE)
    plain = len(list(saver.list(ENVELOPE)))
    saver.delete_thread(THREAD)
    await chat(run_background).ainvoke({"text": "hi"}, ENVELOPE)
    assert len(list(saver.list(ENVELOPE))) == plain
    assert await world.messages.load(USER, THREAD) == MESSAGES


class StreamingModel:
    """Answers ``ConverseStream`` with a summary, a piece at a time."""

    def __init__(self):
        self.calls = 0

    def converse_stream(self, **_request):
        self.calls += 1
        text = json.dumps({"entries": [{"question": "q", "answer": "a", "refs": ["#1-#3"]}]})
        pieces = [
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text[at : at + 20]}}}
            for at in range(0, len(text), 20)
        ]
        usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
        return {
            "stream": [
                {"messageStart": {"role": "assistant"}},
                *pieces,
                {"contentBlockStop": {"contentBlockIndex": 0}},
                {"messageStop": {"stopReason": "end_turn"}},
                {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}},
            ]
        }


async def test_no_token_of_the_pass_reaches_a_stream():
    # TP08, AWS22: the model does stream, and whoever streams the graph sees none of it.
    wire = StreamingModel()
    world = World(BedrockSummarizer(chat_model(wire, "eu.anthropic.claude-haiku-4-5-20251001-v1:0", max_tokens=100)))
    await world.create()
    chunks = [chunk async for chunk in world.graph.astream({"turn": ENDED}, ENVELOPE, stream_mode="messages")]
    assert wire.calls == 1
    assert chunks == []
    assert len((await world.summaries.of_thread(USER, THREAD)).entries) == 1
