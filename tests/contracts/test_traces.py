"""What every implementation of ``Traces`` keeps: the fake and the one on DynamoDB."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.traces import DynamoTraces
from shared.domain.ids import MessageId, RunId, ThreadId, UserId
from shared.domain.spans import Span, SpanKind, SpanStatus, Trace
from shared.graphs.spans import MAX_SPANS
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.traces import InMemoryTraces

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE, TWO = (ThreadId(f"00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
RUN, AGAIN = (RunId(f"00000000-0000-7000-8000-00000000000{n}") for n in (1, 2))


@pytest.fixture
def clock():
    return FixedClock(AT)


@pytest.fixture(params=["fake", "dynamodb"])
def traces(request, clock):
    if request.param == "fake":
        yield InMemoryTraces(clock)
        return
    with mocked_dynamodb() as client:
        yield DynamoTraces(client, "memory", clock=clock, pause=no_pause)


def span(number=1, **changes):
    fields = {
        "id": str(number),
        "run": RUN,
        "name": "chatAgent",
        "kind": SpanKind.NODE,
        "status": SpanStatus.OK,
        "started_at": AT + timedelta(milliseconds=number),
        "ended_at": AT + timedelta(milliseconds=number + 5),
    }
    return Span(**{**fields, **changes})


def trace(run=RUN, *, thread=ONE, origin="chat", spans=(), **changes):
    spans = list(spans) or [span(run=run)]
    return Trace(
        **{
            "run_id": run,
            "thread_id": thread,
            "origin": origin,
            "message_id": MessageId("m-1"),
            "spans": spans,
            **changes,
        }
    )


async def test_a_trace_comes_back_as_it_was(traces):
    spans = [
        span(1, kind=SpanKind.RUN, ended_at=None, status=SpanStatus.RUNNING),
        span(2, parent="1", kind=SpanKind.MODEL, facts={"input_tokens": 3000, "share": 0.5, "state": "READY"}),
        span(3, parent="1", kind=SpanKind.TOOL, status=SpanStatus.FAILED, error="STORE_UNAVAILABLE"),
    ]
    await traces.save(ANNA, trace(spans=spans))
    assert await traces.of_thread(ANNA, ONE) == [trace(spans=spans)]
    assert await traces.of_thread(ANNA, TWO) == await traces.of_thread(BEN, ONE) == []


async def test_a_run_has_one_trace_of_each_origin_and_the_last_counts(traces):
    # OB03
    later = trace(spans=[span(status=SpanStatus.FAILED)])
    await traces.save(ANNA, trace())
    await traces.save(ANNA, later)
    await traces.save(ANNA, trace(origin="summary", spans=[span(9)]))
    assert await traces.of_thread(ANNA, ONE) == [later, trace(origin="summary", spans=[span(9)])]


async def test_traces_come_by_the_time_they_began(traces):
    first, second = trace(AGAIN, spans=[span(1, run=AGAIN)]), trace(RUN, spans=[span(500)])
    await traces.save(ANNA, second)
    await traces.save(ANNA, first)
    assert await traces.of_thread(ANNA, ONE) == [first, second]


async def test_the_largest_trace_that_is_recorded_fits(traces):
    facts = {"input_tokens": 123456, "output_tokens": 7890, "cached_tokens": 98765, "messages": 120}
    spans = [span(n, name=f"node {n * 7919}", kind=SpanKind.MODEL, facts=facts) for n in range(1, MAX_SPANS + 1)]
    await traces.save(ANNA, trace(spans=spans))
    (found,) = await traces.of_thread(ANNA, ONE)
    assert found.spans == spans


async def test_traces_expire_after_thirty_days(traces, clock):
    # OB06
    await traces.save(ANNA, trace())
    clock.advance(timedelta(days=29))
    assert await traces.of_thread(ANNA, ONE)
    clock.advance(timedelta(days=2))
    assert await traces.of_thread(ANNA, ONE) == []


async def test_a_thread_s_traces_are_forgotten_and_no_other_s(traces):
    # OB06
    await traces.save(ANNA, trace())
    await traces.save(ANNA, trace(thread=TWO))
    await traces.save(BEN, trace())
    await traces.forget(ANNA, ONE)
    await traces.forget(ANNA, ONE)
    assert await traces.of_thread(ANNA, ONE) == []
    assert await traces.of_thread(ANNA, TWO) == [replace(trace(), thread_id=TWO)]
    assert await traces.of_thread(BEN, ONE) == [trace()]
