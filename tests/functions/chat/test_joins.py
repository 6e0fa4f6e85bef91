"""Coming back to a run: what was missed, then what comes; no gap, nothing twice."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from shared.adapters.dynamodb.runs import KEEP_EVENTS
from shared.adapters.langgraph_api.event_pages import LINE_BYTES, EventReader
from shared.domain.errors import StoreError
from tests.fakes.chat_api import OTHER, USER, ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.runs import until

HI = {"messages": [{"role": "user", "content": "Hi"}]}
ALL = ["values", "updates", "messages-tuple", "custom"]


class Conversation:
    """One thread, whose model stops before its second word when told to."""

    def __init__(self, *script):
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        first = Say("Once upon a time", before_token=self._wait)
        self.api = ChatApi(ScriptedChatModel(*(script or [first])), max_body_bytes=1_000_000)
        self.client = self.api.client()
        self.thread = None

    async def _wait(self, place):
        if place == 1:
            self.reached.set()
            await self.opened.wait()

    async def begin(self, **body):
        """Start a run; give the task that reads it, and its id."""
        reading = asyncio.create_task(self.post(**body))
        await self.reached.wait()
        row = await self.api.runs.threads.get(USER, self.thread)
        return reading, row.lease.run_id

    async def run(self, **body):
        """Run to the end; give the events and the run's id."""
        self.opened.set()
        answer = await self.post(**body)
        return events_in(answer.text), answer.headers["content-location"].rpartition("/")[2]

    async def post(self, **body):
        self.thread = self.thread or (await self.client.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "input": HI, "stream_mode": ALL, **body}
        return await self.client.post(f"/threads/{self.thread}/runs/stream", json=body)

    def join(self, run, last=None, client=None, **params):
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        return (client or self.client).get(f"/threads/{self.thread}/runs/{run}/stream", headers=headers, params=params)


def seen(events):
    return [(event.id, event.name, event.data) for event in events]


async def test_a_run_that_is_over_is_given_again_as_it_was():
    conversation = Conversation()
    events, run = await conversation.run()
    joined = await conversation.join(run)

    assert seen(events_in(joined.text)) == seen(events)
    assert joined.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert joined.headers["location"] == f"/threads/{conversation.thread}/runs/{run}/stream"


async def test_from_any_event_on_nothing_is_missing_and_nothing_comes_twice():
    conversation = Conversation()
    events, run = await conversation.run()
    for last in range(len(events) + 1):
        joined = events_in((await conversation.join(run, last)).text)
        assert seen(joined) == seen(events[last:]) or last == len(events)


@pytest.mark.parametrize("last", ["-1", "", "0"])
async def test_ways_to_say_from_the_beginning(last):
    conversation = Conversation()
    events, run = await conversation.run()

    assert seen(events_in((await conversation.join(run, last)).text)) == seen(events)


async def test_a_run_that_goes_on_is_caught_up_with_and_followed_to_its_end():
    conversation = Conversation()
    reading, run = await conversation.begin()
    joining = asyncio.create_task(conversation.join(run))
    await until(lambda: conversation.api.runs.run_rows.calls["save"] > 0)
    conversation.opened.set()
    events, joined = events_in((await reading).text), events_in((await joining).text)

    assert seen(joined) == seen(events)
    assert len(await conversation.api.runs.run_rows.pages(USER, conversation.thread, run)) > 1


async def test_a_reload_in_mid_answer_goes_on_where_it_was():
    conversation = Conversation()
    reading, run = await conversation.begin()
    reading.cancel()
    joining = asyncio.create_task(conversation.join(run, 3))
    await until(lambda: conversation.api.runs.run_rows.calls["save"] > 0)
    conversation.opened.set()
    joined = events_in((await joining).text)
    whole = events_in((await conversation.join(run)).text)

    assert seen(joined) == seen(whole[3:])
    assert [event.id for event in whole] == list(range(1, len(whole) + 1))
    assert "".join(event.data[0]["content"] for event in whole if event.name == "messages") == "Once upon a time"


async def test_several_may_follow_one_run():
    conversation = Conversation()
    reading, run = await conversation.begin()
    joining = [asyncio.create_task(conversation.join(run, last)) for last in (0, 2, 4)]
    await until(lambda: conversation.api.runs.run_rows.calls["save"] > 0)
    conversation.opened.set()
    events = events_in((await reading).text)

    assert [seen(events_in((await each).text)) for each in joining] == [seen(events[last:]) for last in (0, 2, 4)]


async def test_a_run_that_nobody_follows_writes_its_events_once():
    conversation = Conversation()
    await conversation.run()

    assert conversation.api.runs.run_rows.calls["save"] == 1


async def test_values_are_whole_in_a_thread_that_has_a_past():
    """The log refers to the checkpoint that the run began with; nothing of the past is in it."""
    conversation = Conversation("An answer " * 200, "Short.")
    await conversation.run()
    events, run = await conversation.run(input={"messages": [{"role": "user", "content": "More"}]})
    (page,) = await conversation.api.runs.run_rows.pages(USER, conversation.thread, run)
    joined = events_in((await conversation.join(run)).text)

    assert [len(event.data["messages"]) for event in joined if event.name == "values"][-1] == 4
    assert seen(joined) == seen(events)
    assert page.base is not None
    assert len(page.body) < 1_500


@pytest.mark.parametrize(
    "given",
    [
        {"stream_mode": ["values", "messages-tuple"]},
        {"stream_mode": "values,messages-tuple"},
        {"stream_mode": '["values","messages-tuple"]'},
    ],
)
async def test_several_modes_in_a_join_all_count(given):
    conversation = Conversation()
    events, run = await conversation.run()
    joined = events_in((await conversation.join(run, **given)).text)

    assert seen(joined) == seen([event for event in events if event.name not in ("updates", "custom")])
    assert {event.name for event in joined} == {"metadata", "values", "messages", "end"}


async def test_a_mode_that_the_run_was_not_asked_for_brings_nothing():
    conversation = Conversation()
    _, run = await conversation.run(stream_mode="values")
    joined = events_in((await conversation.join(run, stream_mode="updates")).text)

    assert [event.name for event in joined] == ["metadata", "end"]


async def test_a_run_that_failed_ends_with_its_error():
    conversation = Conversation(RuntimeError("a secret"))
    events, run = await conversation.run()
    joined = events_in((await conversation.join(run)).text)

    assert joined[-1].name == "error"
    assert seen(joined) == seen(events)


async def test_a_run_that_is_stopped_ends_for_those_who_follow_it_too():
    conversation = Conversation()
    reading, run = await conversation.begin()
    joining = asyncio.create_task(conversation.join(run))
    await until(lambda: conversation.api.runs.run_rows.calls["save"] > 0)
    stopped = await conversation.client.post(f"/threads/{conversation.thread}/runs/{run}/cancel")
    events, joined = events_in((await reading).text), events_in((await joining).text)

    assert stopped.status_code == 202
    assert joined[-1].data == {"run_id": run, "status": "interrupted"}
    assert seen(joined) == seen(events)


async def test_the_end_of_a_run_that_was_undone_can_be_read():
    conversation = Conversation()
    reading, run = await conversation.begin()
    await conversation.client.post(f"/threads/{conversation.thread}/runs/{run}/cancel", params={"action": "rollback"})
    events = events_in((await reading).text)

    assert seen(events_in((await conversation.join(run)).text)) == seen(events)
    assert events[-1].data["status"] == "interrupted"


async def test_a_run_whose_process_died_ends_with_an_error():
    conversation = Conversation()
    reading, run = await conversation.begin()
    runs = conversation.api.runs
    joining = asyncio.create_task(conversation.join(run))
    await until(lambda: runs.run_rows.calls["save"] > 0)

    async def dead(*_args, **_options):
        """Nothing more is written."""

    runs.run_rows.save = runs.threads.release = dead
    runs.threads.failures = {"watch": StoreError("down"), "renew": StoreError("down")}
    runs.clock.advance(timedelta(minutes=1))
    joined = events_in((await joining).text)
    await reading

    assert (joined[-1].name, joined[-1].data["error"]) == ("error", "RUN_FAILED")
    assert [event.id for event in joined] == list(range(1, len(joined) + 1))


async def test_a_run_whose_events_have_expired_is_known_by_its_end_alone():
    conversation = Conversation()
    _, run = await conversation.run()
    conversation.api.runs.clock.advance(KEEP_EVENTS)
    joined = events_in((await conversation.join(run, 7)).text)

    assert [(event.id, event.name, event.data["status"]) for event in joined] == [(8, "end", "success")]


async def test_a_message_that_is_too_large_for_the_log_is_found_in_the_thread():
    conversation = Conversation("Long.")
    question = {"messages": [{"role": "user", "content": "x" * LINE_BYTES}]}
    events, run = await conversation.run(input=question)
    (page,) = await conversation.api.runs.run_rows.pages(USER, conversation.thread, run)
    reader = EventReader()
    list(reader.read(page.body, page.first))

    values = [event.data for event in events if event.name == "values"]
    assert list(reader.elsewhere.values()) == [values[-1]["messages"][0]["id"]]
    assert seen(events_in((await conversation.join(run)).text)) == seen(events)


async def test_nobody_joins_another_users_run():
    conversation = Conversation()
    _, run = await conversation.run()
    other = await conversation.join(run, client=conversation.api.client(OTHER))
    missing = await conversation.join(uuid.uuid4())
    conversation.thread = str(uuid.uuid4())
    elsewhere = await conversation.join(run)

    assert [answer.status_code for answer in (other, missing, elsewhere)] == [404, 404, 404]


@pytest.mark.parametrize(
    ("last", "params", "named"),
    [
        ("abc", {}, "Last-Event-ID"),
        (None, {"stream_mode": "everything"}, "stream_mode 'everything'"),
        (None, {"stream_mode": ["values", "tools"]}, "stream_mode 'tools'"),
    ],
)
async def test_a_join_that_does_not_fit_is_refused_and_told_why(last, params, named):
    conversation = Conversation()
    _, run = await conversation.run()
    answer = await conversation.join(run, last, **params)

    assert answer.status_code == 422
    assert named in answer.json()["detail"]


async def test_a_run_id_is_a_uuid():
    conversation = Conversation()
    await conversation.run()

    assert (await conversation.join("latest")).status_code == 422


async def test_heartbeats_come_while_a_run_says_nothing():
    conversation = Conversation()
    reading, run = await conversation.begin()
    beats = asyncio.create_task(conversation.join(run))
    await until(lambda: conversation.api.runs.run_rows.calls["save"] > 0)
    conversation.opened.set()
    await reading

    assert ": heartbeat" in (await beats).text
