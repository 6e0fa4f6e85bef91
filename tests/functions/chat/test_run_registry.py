"""Runs as things that are known of, and stopped."""

import asyncio
import uuid
from datetime import timedelta

import pytest

from shared.domain.errors import StoreError
from tests.fakes.chat_api import OTHER, USER, ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel

HI = {"messages": [{"role": "user", "content": "Hi"}]}


class Slow:
    """A thread whose model stops before its second word until the test goes on."""

    def __init__(self, *more):
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        self.api = ChatApi(ScriptedChatModel(Say("Once upon a time", before_token=self._wait), *more))
        self.client = self.api.client()
        self.thread = None

    async def _wait(self, place):
        if place == 1:
            self.reached.set()
            await self.opened.wait()

    async def begin(self, **body):
        self.thread = (await self.client.post("/threads", json={})).json()["thread_id"]
        reading = asyncio.create_task(self.run(**body))
        await self.reached.wait()
        return reading, (await self.runs())[0]["run_id"]

    async def run(self, **body):
        body = {"assistant_id": "agent", "input": HI, **body}
        return await self.client.post(f"/threads/{self.thread}/runs/stream", json=body)

    async def runs(self, **params):
        return (await self.client.get(f"/threads/{self.thread}/runs", params=params)).json()

    async def get(self, run):
        return await self.client.get(f"/threads/{self.thread}/runs/{run}")

    async def cancel(self, run, **params):
        return await self.client.post(f"/threads/{self.thread}/runs/{run}/cancel", params=params)

    async def said(self):
        state = (await self.client.get(f"/threads/{self.thread}/state")).json()
        return [message["content"] for message in state["values"].get("messages", [])]


async def test_a_run_is_known_while_it_goes_on_and_after():
    slow = Slow()
    reading, run = await slow.begin(metadata={"from": "test"}, multitask_strategy="reject")
    during = (await slow.get(run)).json()
    slow.opened.set()
    await reading
    after = (await slow.get(run)).json()

    assert (during["status"], after["status"]) == ("running", "success")
    for known in (during, after):
        assert known["run_id"] == run
        assert known["thread_id"] == slow.thread
        assert known["assistant_id"] == "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
        assert (known["metadata"], known["multitask_strategy"]) == ({"from": "test"}, "reject")


async def test_runs_are_listed_newest_first_with_the_one_that_goes_on():
    slow = Slow("Two.", "Three.")
    reading, first = await slow.begin()
    listed_during = await slow.runs()
    slow.opened.set()
    await reading
    for text in ("a", "b"):
        await slow.run(input={"messages": [{"role": "user", "content": text}]})
    listed = await slow.runs()

    assert [(run["run_id"], run["status"]) for run in listed_during] == [(first, "running")]
    assert len(listed) == 3
    assert listed[-1]["run_id"] == first
    assert [run["created_at"] for run in listed] == sorted((run["created_at"] for run in listed), reverse=True)
    assert await slow.runs(limit=1, offset=1) == listed[1:2]
    assert await slow.runs(status="running") == await slow.runs(status="pending") == []
    assert len(await slow.runs(status="success", limit=2)) == 2
    assert await slow.runs(select=["run_id", "status"], limit=1) == [
        {"run_id": listed[0]["run_id"], "status": "success"}
    ]


async def test_a_run_that_is_stopped_keeps_what_it_said():
    slow = Slow()
    reading, run = await slow.begin()
    stopped = await slow.cancel(run)
    events = events_in((await reading).text)

    assert (stopped.status_code, events[-1].data["status"]) == (202, "interrupted")
    assert await slow.said() == ["Hi", "Once"]
    assert (await slow.get(run)).json()["status"] == "interrupted"
    assert [event.outcome for event in slow.api.runs.events.published] == ["cancelled"]


@pytest.mark.parametrize("route", ["state", "history"])
async def test_who_reads_at_once_after_a_stop_finds_what_was_kept(route):
    """A page reads the thread when stop is pressed, and shows what it finds."""
    slow = Slow()
    reading, run = await slow.begin()
    await slow.cancel(run)
    read = (await slow.client.get(f"/threads/{slow.thread}/{route}")).json()
    await reading

    head = read[0] if route == "history" else read
    assert [message["content"] for message in head["values"]["messages"]] == ["Hi", "Once"]


async def test_whoever_waits_is_answered_when_the_run_has_stopped():
    slow = Slow()
    reading, run = await slow.begin()
    stopped = await slow.cancel(run, wait="true")
    row = await slow.api.runs.threads.get(USER, slow.thread)
    await reading

    assert (stopped.status_code, row.status) == (202, "idle")


async def test_a_run_that_is_undone_leaves_nothing():
    slow = Slow("Again.")
    reading, run = await slow.begin()
    stopped = await slow.cancel(run, action="rollback", wait="1")
    await reading
    said = await slow.said()
    await slow.run(input={"messages": [{"role": "user", "content": "Other"}]})

    assert (stopped.status_code, said) == (202, [])
    assert (await slow.get(run)).status_code == 404
    assert await slow.said() == ["Other", "Again."]
    assert len(slow.api.runs.events.published) == 1


async def test_a_run_that_is_over_cannot_be_stopped():
    slow = Slow()
    reading, run = await slow.begin()
    slow.opened.set()
    await reading

    assert (await slow.cancel(run)).status_code == 404
    assert (await slow.cancel(uuid.uuid4())).status_code == 404


async def test_a_run_whose_process_died_is_an_error_once_its_lease_is_over():
    slow = Slow("In time.")
    reading, run = await slow.begin()
    slow.api.runs.threads.failures = {"watch": StoreError("down"), "renew": StoreError("down")}
    slow.api.runs.clock.advance(timedelta(seconds=31))
    dead = (await slow.get(run)).json()["status"]
    thread = (await slow.client.get(f"/threads/{slow.thread}")).json()["status"]
    await reading
    slow.api.runs.threads.failures = {}
    await slow.run(input={"messages": [{"role": "user", "content": "Anybody?"}]})
    after = (await slow.get(run)).json()["status"]

    assert (dead, thread, after) == ("error", "error", "error")


async def test_runs_of_others_are_not_there():
    slow = Slow()
    reading, run = await slow.begin()
    async with slow.api.client(OTHER) as other:
        answers = [
            await other.get(f"/threads/{slow.thread}/runs"),
            await other.get(f"/threads/{slow.thread}/runs/{run}"),
            await other.post(f"/threads/{slow.thread}/runs/{run}/cancel"),
        ]
    slow.opened.set()
    await reading

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert await slow.said() == ["Hi", "Once upon a time"]


@pytest.mark.parametrize("strategy", ["interrupt", "rollback"])
async def test_a_second_run_may_stop_or_undo_the_first(strategy):
    slow = Slow("Now this.")
    slow.api.runs.runner._admission._wait = timedelta(seconds=20)
    reading, _ = await slow.begin()
    second = await slow.run(input={"messages": [{"role": "user", "content": "No"}]}, multitask_strategy=strategy)
    await reading

    assert events_in(second.text)[-1].data["status"] == "success"
    assert await slow.said() == {"interrupt": ["Hi", "Once"], "rollback": []}[strategy] + ["No", "Now this."]


async def test_an_enqueued_run_that_waits_in_vain_is_a_409():
    slow = Slow()
    reading, _ = await slow.begin()
    second = await slow.run(multitask_strategy="enqueue")
    slow.opened.set()
    await reading

    assert second.status_code == 409


@pytest.mark.parametrize(
    ("params", "named"),
    [({"action": "explode"}, "action"), ({"wait": "perhaps"}, "wait")],
)
async def test_a_stop_that_does_not_fit_is_refused(params, named):
    slow = Slow()
    reading, run = await slow.begin()
    answer = await slow.cancel(run, **params)
    slow.opened.set()
    await reading

    assert answer.status_code == 422
    assert named in answer.json()["detail"]


@pytest.mark.parametrize(
    "params", [{"limit": 0}, {"limit": 10_000}, {"offset": -1}, {"status": "odd"}, {"select": "x"}]
)
async def test_a_list_that_does_not_fit_is_refused(params):
    async with ChatApi().client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        answer = await client.get(f"/threads/{thread}/runs", params=params)

    assert answer.status_code == 422
    assert next(iter(params)) in answer.json()["detail"]


async def test_a_stop_does_not_wait_for_ever():
    """A run that is deaf, because it cannot read its row, is left to its lease."""
    slow = Slow()
    reading, run = await slow.begin()
    slow.api.runs.threads.failures["watch"] = StoreError("down")
    stopped = await slow.cancel(run, wait="true")
    looks = slow.api.runs.threads.calls["get"]
    del slow.api.runs.threads.failures["watch"]
    await reading

    assert stopped.status_code == 202
    assert looks > 30
