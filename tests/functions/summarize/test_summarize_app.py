"""Deliveries as they are recorded, through the app and the real graph."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from functions.summarize.app import handler_of
from shared.domain import counters
from shared.domain.errors import EventAheadOfCheckpointError, MalformedEventError, ModelError, StoreError
from shared.domain.events import DETAIL_TYPE, SOURCE, TurnEnded
from shared.domain.spans import SpanKind
from shared.domain.threads import ThreadRow
from shared.graphs.background.graph import build
from shared.services.record_spans import KeepTraces
from shared.services.summarize_thread import PassRules, SummarizeThread
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summarizer import ScriptedSummarizer
from tests.fakes.thread_messages import InMemoryThreadMessages
from tests.fakes.threads import InMemoryThreads
from tests.fakes.traces import InMemoryTraces

EVENTS = Path(__file__).parents[2] / "events"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECRET = "my-secret-is-blue-cheese"


def recorded(name):
    return json.loads((EVENTS / name).read_text())


TURN_ENDED = recorded("turn_ended.json")
USER, THREAD = TURN_ENDED["detail"]["user_id"], TURN_ENDED["detail"]["thread_id"]


class World:
    def __init__(self):
        self.threads = InMemoryThreads()
        self.summaries = InMemorySummaries(self.threads)
        self.messages = InMemoryThreadMessages()
        self.metrics = CountingMetrics()
        self.summarizer = ScriptedSummarizer()
        self.traces = InMemoryTraces(FixedClock(NOW))

    async def create(self, thread=THREAD, turns=3, say="question"):
        messages = [
            message
            for n in range(1, turns + 1)
            for message in (HumanMessage(f"{say} {n}", id=f"h{n}"), AIMessage(f"{say}? {n}.", id=f"a{n}"))
        ]
        self.messages.put(USER, thread, messages)
        await self.threads.create(
            ThreadRow(user_id=USER, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW)
        )

    def handler(self, metrics=None):
        metrics = metrics or self.metrics
        service = SummarizeThread(
            threads=self.threads,
            messages=self.messages,
            summaries=self.summaries,
            summarizer=self.summarizer,
            clock=FixedClock(NOW),
            metrics=metrics,
            rules=PassRules(
                keep_recent=3,
                hold=timedelta(minutes=3),
                max_attempts=3,
                back_off=timedelta(minutes=1),
                token_budget=60_000,
                char_limit=20_000,
            ),
        )
        graph = build(threads=self.threads, service=service, metrics=metrics)
        return handler_of(
            graph, metrics, threads=self.threads, traces=KeepTraces(self.traces, FixedClock(NOW), metrics)
        )

    async def entries(self, thread=THREAD):
        return (await self.summaries.of_thread(USER, thread)).entries


@pytest.fixture
def world():
    return World()


@pytest.fixture
def run():
    """The handler runs a loop of its own, so these tests are no coroutines."""
    return asyncio.run


@pytest.mark.parametrize(
    "delivery",
    [TURN_ENDED, [TURN_ENDED], recorded("failed_turn_ended_delivery.json"), [TURN_ENDED, TURN_ENDED]],
    ids=["event", "array", "failed delivery", "array with a duplicate"],
)
def test_each_shape_of_delivery_makes_one_pass(world, run, delivery, context):
    # Two retry layers: an event may come three times, and as an array.
    run(world.create())
    handle = world.handler()
    assert handle(delivery, context)["outcomes"][0] == "written"
    handle(delivery, context)
    assert world.summarizer.calls == 1
    assert len(run(world.entries())) == 1


def test_a_pass_is_noted_for_the_turn_that_it_followed(world, run, context):
    # OB02, OB05
    run(world.create())
    world.handler()(TURN_ENDED, context)
    (trace,) = world.traces.kept.values()
    detail = TURN_ENDED["detail"]
    assert (trace.run_id, trace.origin, trace.message_id) == (detail["run_id"], "summary", detail["human_message_id"])
    assert [(span.kind, span.name) for span in trace.spans] == [
        (SpanKind.RUN, "backgroundAgent"),
        (SpanKind.NODE, "touchLastMessage"),
        (SpanKind.NODE, "summarize"),
    ]


def test_a_turn_end_without_a_pass_costs_no_write(world, run, context):
    run(world.create(turns=1))
    assert world.handler()({**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "human_count": 1}}, context) == {
        "outcomes": ["quiet"]
    }
    assert world.traces.kept == {}


@pytest.mark.parametrize("answer", ["a summary", "nothing"])
def test_a_pass_leaves_no_trace_of_a_thread_that_was_deleted_under_it(world, run, context, answer):
    run(world.create())

    async def delete():
        await world.threads.mark_deleting(USER, THREAD, now=NOW)

    script = [ModelError("busy")] if answer == "nothing" else []
    world.summarizer = ScriptedSummarizer(*script, while_thinking=delete)
    world.handler()(TURN_ENDED, context)
    assert world.summarizer.calls == 1
    assert world.traces.kept == {}


def test_a_pass_whose_trace_cannot_be_written_is_a_pass(world, run, context):
    # OB03
    run(world.create())
    world.traces.failure = StoreError("down")
    assert world.handler()(TURN_ENDED, context) == {"outcomes": ["written"]}
    assert world.metrics.counts[counters.SPANS_LOST] == 3


def test_the_recorded_event_is_what_the_publisher_sends():
    detail = TurnEnded.model_validate(TURN_ENDED["detail"])
    assert json.loads(detail.model_dump_json()) == TURN_ENDED["detail"]
    assert (TURN_ENDED["source"], TURN_ENDED["detail-type"]) == (SOURCE, DETAIL_TYPE)


@pytest.mark.parametrize(
    "event",
    [
        None,
        "text",
        {},
        {**TURN_ENDED, "source": "aws.s3"},
        {**TURN_ENDED, "detail-type": "TurnBegan"},
        {**TURN_ENDED, "detail": None},
        {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "version": 2}},
        {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "human_count": 0}},
        {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "user_id": "a.b"}},
        {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "thread_id": "everything"}},
        {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "ended_at": SECRET}},
    ],
)
def test_what_is_no_turn_end_goes_to_the_dead_letters(world, event, context):
    # Raising is bounded: Lambda delivers twice more and then keeps the event for a person to see.
    with pytest.raises(MalformedEventError) as raised:
        world.handler()(event, context)
    assert world.metrics.counts[counters.EVENT_MALFORMED] == 1
    assert SECRET not in str(raised.value)
    assert world.threads.calls.total() == 0


def test_one_bad_event_of_an_array_holds_nothing_up(world, run, context):
    run(world.create())
    with pytest.raises(MalformedEventError):
        world.handler()([{"source": "aws.s3"}, TURN_ENDED], context)
    assert len(run(world.entries())) == 1


def test_an_event_ahead_of_its_checkpoint_is_raised_so_that_it_comes_again(world, run, context):
    run(world.create(turns=2))
    with pytest.raises(EventAheadOfCheckpointError):
        world.handler()(TURN_ENDED, context)


def test_a_failed_model_is_no_failed_delivery(world, run, context):
    # TP09
    run(world.create())
    world.summarizer = ScriptedSummarizer(ModelError("no"))
    assert world.handler()(TURN_ENDED, context) == {"outcomes": ["failed"]}


def test_an_unknown_field_of_a_later_publisher_is_no_reason_to_fail(world, run, context):
    run(world.create())
    event = {**TURN_ENDED, "detail": {**TURN_ENDED["detail"], "mood": "good"}}
    assert world.handler()(event, context) == {"outcomes": ["written"]}


@pytest.mark.parametrize("fault", [None, "model", "behind", "malformed", "bug"])
def test_nothing_a_user_said_gets_into_the_logs(world, run, deployed, fault):
    # Habit 14: planted in messages, in the model's error and in the event; searched in all that was printed.
    run(world.create(say=SECRET, turns=2 if fault == "behind" else 3))
    if fault == "model":
        world.summarizer = ScriptedSummarizer(ModelError(SECRET))
    if fault == "bug":
        world.summarizer = ScriptedSummarizer(ZeroDivisionError(SECRET))
    event = {**TURN_ENDED, "detail": {"user_id": SECRET}} if fault == "malformed" else TURN_ENDED
    deployed.invoke(world.handler(deployed.metrics), event)
    assert (deployed.failure is not None) == (fault in ("behind", "malformed", "bug"))
    printed = deployed.printed()
    assert '"level"' in printed
    assert SECRET not in printed
