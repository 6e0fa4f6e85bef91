"""What is noted of a run: one span for each step, no text of anybody's, written once at its end."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from shared.adapters.dynamodb.traces import DynamoTraces
from shared.domain import counters
from shared.domain.errors import ModelThrottledError, StoreError
from shared.domain.spans import SpanKind, SpanStatus
from shared.graphs.agent.topology import build
from shared.graphs.runs.request import ResumeCommand
from shared.graphs.spans import MAX_SPANS, STOPPED, SpanRecorder
from tests.fakes.agent_turns import Turns
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.runs import USER, Runs, outcome_of

SECRET = "my-secret-is-blue-cheese"
SAVE = Say(calls=[("save_memory", {"patches": [{"op": "add", "path": "/cheese", "value": SECRET}]})])


def agent_runs(*script):
    """The product's own graph behind the runner."""
    return Runs(model=ScriptedChatModel(*script), make=lambda chat: build(Turns(chat=chat).deps))


def steps(trace):
    """Give each span but the root as its kind, and its name with those of the spans that it happened in."""
    by_id = {span.id: span for span in trace.spans}

    def path(span):
        return (*(path(by_id[span.parent]) if span.parent else ()), span.name)

    return [(span.kind, "/".join(path(span)[1:])) for span in trace.spans[1:]]


def measured(trace):
    """Give a trace with times and tokens as a real model has them, which compress worse than a standing clock's."""
    rng = random.Random(7)  # noqa: S311 - figures, no secret
    began = trace.started_at
    spans = []
    for span in trace.spans:
        start = timedelta(milliseconds=rng.randrange(20_000))
        facts = {"messages": rng.randrange(200)}
        facts |= {name: rng.randrange(100_000) for name in ("input_tokens", "output_tokens", "cached_tokens")}
        ended = began + start + timedelta(milliseconds=rng.randrange(20_000))
        told = facts if span.kind is SpanKind.MODEL else span.facts
        spans.append(replace(span, started_at=began + start, ended_at=ended, facts=told))
    return replace(trace, spans=[replace(spans[0], started_at=began), *spans[1:]])


async def only_trace(runs, thread):
    (trace,) = await runs.traces.of_thread(USER, thread)
    return trace


async def test_each_node_model_and_tool_of_a_turn_is_a_span_within_its_step():
    # OB01
    runs = agent_runs(SAVE, "Noted.")
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await outcome_of(run)
    trace = await only_trace(runs, thread)
    assert (trace.run_id, trace.thread_id, trace.origin) == (run.id, thread, "chat")
    assert trace.message_id == "id of Hi"
    assert (trace.spans[0].kind, trace.spans[0].parent) == (SpanKind.RUN, None)
    of_agent = [(kind, path) for kind, path in steps(trace) if path.startswith("chat_agent")]
    assert of_agent == [
        (SpanKind.NODE, "chat_agent"),
        (SpanKind.NODE, "chat_agent/model"),
        (SpanKind.MODEL, "chat_agent/model/model"),
        (SpanKind.NODE, "chat_agent/tools"),
        (SpanKind.TOOL, "chat_agent/tools/save_memory"),
        (SpanKind.NODE, "chat_agent/model"),
        (SpanKind.MODEL, "chat_agent/model/model"),
    ]
    others = {path for _, path in steps(trace)} - {path for _, path in of_agent}
    assert others == {"rename_thread", "rename_thread/model", "trigger_background_agent"}
    assert all(span.ended_at is not None for span in trace.spans)
    assert {span.run for span in trace.spans} == {run.id}


async def test_nothing_that_anybody_said_is_in_a_trace():
    runs = agent_runs(SAVE, f"It is {SECRET}.", ValueError(SECRET))
    thread = await runs.thread()
    await runs.run(thread, SECRET)
    trace = replace(await only_trace(runs, thread), message_id="")
    assert any(span.kind is SpanKind.TOOL for span in trace.spans)
    assert SECRET not in repr(trace)
    assert "cheese" not in repr(trace)


async def test_what_a_model_took_and_gave_is_counted():
    usage = {"input_tokens": 3000, "output_tokens": 250, "total_tokens": 3250}
    answer = AIMessage("Hello", usage_metadata={**usage, "input_token_details": {"cache_read": 2000}})
    model = FakeMessagesListChatModel(responses=[answer])

    async def ask(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    recorder = SpanRecorder(FixedClock())
    asked = {"messages": [HumanMessage("One"), HumanMessage("Two")]}
    await graph.compile().ainvoke(asked, {"callbacks": [recorder]})
    (span,) = (span for span in recorder.spans("run") if span.kind is SpanKind.MODEL)
    assert span.facts == {"messages": 2, "input_tokens": 3000, "output_tokens": 250, "cached_tokens": 2000}


async def test_a_step_that_failed_says_with_what_code():
    runs = agent_runs(ModelThrottledError(SECRET))
    thread = await runs.thread()
    assert (await runs.run(thread, "Hi")).status == "error"
    trace = await only_trace(runs, thread)
    failed = {(span.name, span.error) for span in trace.spans if span.status is SpanStatus.FAILED}
    assert ("chat_agent", "MODEL_THROTTLED") in failed
    assert trace.spans[0].status is SpanStatus.FAILED


async def test_a_tool_that_failed_is_a_span_that_failed_in_a_run_that_did_not():
    runs = agent_runs(Say(calls=[("save_memory", {"patches": "none"})]), "Sorry.")
    thread = await runs.thread()
    assert (await runs.run(thread, "Hi")).status == "success"
    trace = await only_trace(runs, thread)
    assert trace.spans[0].status is SpanStatus.OK


async def test_a_run_that_asks_a_person_has_not_failed_and_the_answer_is_a_run_of_its_own():
    runs = Runs()
    thread = await runs.thread()
    assert (await runs.run(thread, "confirm this")).status == "interrupted"
    await runs.run(thread, command=ResumeCommand(resume="yes", has_resume=True))
    first, second = await runs.traces.of_thread(USER, thread)
    assert {span.status for span in (*first.spans, *second.spans)} == {SpanStatus.OK}
    assert first.message_id == second.message_id == "id of confirm this"


async def test_what_a_stopped_run_was_about_is_marked_as_stopped():
    reached, never = asyncio.Event(), asyncio.Event()

    async def wait(place):
        if place == 1:
            reached.set()
            await never.wait()

    runs = Runs(model=ScriptedChatModel(Say("One two three", before_token=wait)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=False)
    await outcome_of(run)
    trace = await only_trace(runs, thread)
    (model,) = (span for span in trace.spans if span.kind is SpanKind.MODEL)
    assert (model.status, model.error) in {
        (SpanStatus.FAILED, STOPPED),
        (SpanStatus.FAILED, "CancelledError"),
    }
    assert model.ended_at is not None


async def test_a_trace_is_one_write_at_the_end_and_none_before():
    during = []
    runs = agent_runs(lambda _request: during.append(runs.traces.calls["save"]) or SAVE, "Noted.")
    await runs.run(await runs.thread(), "Hi")
    assert during == [0]
    assert runs.traces.calls["save"] == 1


@pytest.mark.parametrize("fault", [StoreError(SECRET), ZeroDivisionError(SECRET)])
async def test_a_trace_that_cannot_be_written_breaks_no_run(caplog, fault):
    # OB03
    runs = agent_runs("Hello")
    runs.traces.failure = fault
    thread = await runs.thread()
    assert (await runs.run(thread, "Hi")).status == "success"
    assert runs.metrics.counts[counters.SPANS_LOST] > 3
    assert SECRET not in caplog.text


async def test_nothing_is_noted_when_spans_are_off():
    runs = agent_runs("Hello")
    ports = replace(runs.runner._ports, traces=None)
    runs.runner._ports = ports
    await runs.run(await runs.thread(), "Hi")
    assert runs.traces.kept == {}


async def test_an_undone_run_leaves_no_trace():
    reached, never = asyncio.Event(), asyncio.Event()

    async def wait(_place):
        reached.set()
        await never.wait()

    runs = Runs(model=ScriptedChatModel(Say("One", before_token=wait)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=True)
    await outcome_of(run)
    assert runs.traces.kept == {}


async def test_runs_of_two_threads_at_a_time_are_noted_apart():
    # OB05
    runs = Runs(model=ScriptedChatModel("one two", "three four"))
    threads = [await runs.thread(), await runs.thread()]
    await asyncio.gather(*(runs.run(thread, "Hi") for thread in threads))
    traces = [await only_trace(runs, thread) for thread in threads]
    assert [len(trace.spans) for trace in traces] == [len(traces[0].spans)] * 2
    assert steps(traces[0]) == steps(traces[1])


async def test_a_turn_with_two_tools_is_one_write_unit():
    """A row of up to a kilobyte; the default of SPANS rests on it."""
    runs = agent_runs(SAVE, SAVE, "Noted.")
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    trace = measured(replace(await only_trace(runs, thread), message_id=str(uuid4())))
    with mocked_dynamodb() as client:
        await DynamoTraces(client, "memory", pause=no_pause).save(USER, trace)
        (item,) = client.scan(TableName="memory")["Items"]
    size = sum(len(name) + len(next(iter(value.values()))) for name, value in item.items())
    assert len(trace.spans) >= 15
    assert size < 1000


def test_of_a_run_without_end_the_first_steps_are_noted():
    recorder = SpanRecorder(FixedClock())
    root = uuid4()
    recorder.on_chain_start(None, {}, run_id=root, name="agent")
    for _ in range(MAX_SPANS * 2):
        call = uuid4()
        recorder.on_tool_start({"name": "tool"}, "", run_id=call, parent_run_id=root)
        recorder.on_tool_end("given", run_id=call)
    recorder.on_chain_end({}, run_id=root)
    spans = recorder.spans("run")
    assert len(spans) == MAX_SPANS
    assert {span.status for span in spans} == {SpanStatus.OK}
