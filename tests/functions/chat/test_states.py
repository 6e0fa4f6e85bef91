import asyncio
import json
import uuid

import pytest

from functions.chat import states
from tests.fakes.chat_api import ChatApi
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.runs import USER


@pytest.fixture
def api():
    return ChatApi(ScriptedChatModel("One.", "Two.", "Three."))


async def a_thread(client, *questions):
    thread = (await client.post("/threads", json={})).json()["thread_id"]
    for question in questions:
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": question}]}}
        (await client.post(f"/threads/{thread}/runs/stream", json=body)).raise_for_status()
    return thread


def said(state):
    return [message["content"] for message in state["values"]["messages"]]


async def test_a_thread_in_which_nothing_was_said_has_an_empty_state(api):
    async with api.client() as client:
        thread = await a_thread(client)
        state = (await client.get(f"/threads/{thread}/state")).json()
        history = [
            (await client.get(f"/threads/{thread}/history")).json(),
            (await client.post(f"/threads/{thread}/history", json={"limit": 10})).json(),
        ]

    assert (state["values"], state["next"], state["tasks"]) == ({}, [], [])
    assert state["checkpoint"] == {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": None}
    assert state["parent_checkpoint"] is None
    assert history == [[], []]


async def test_the_state_holds_messages_as_langchain_writes_them(api):
    async with api.client() as client:
        thread = await a_thread(client, "a")
        state = (await client.get(f"/threads/{thread}/state")).json()

    question, answer = state["values"]["messages"]
    assert (question["type"], question["content"]) == ("human", "a")
    assert uuid.UUID(question["id"])
    assert (answer["type"], answer["content"], answer["tool_calls"]) == ("ai", "One.", [])
    assert (state["next"], state["interrupts"]) == ([], [])
    assert state["metadata"]["run_id"]
    assert "userId" not in state["metadata"]
    assert state["checkpoint"]["thread_id"] == thread


async def test_history_is_newest_first_in_an_unbroken_chain(api):
    async with api.client() as client:
        thread = await a_thread(client, "a", "b", "c")
        states = (await client.post(f"/threads/{thread}/history", json={})).json()

    assert [len(state["values"]["messages"]) for state in states] == [6, 4, 2, 0]
    ids = [state["checkpoint"]["checkpoint_id"] for state in states]
    parents = [state["parent_checkpoint"] and state["parent_checkpoint"]["checkpoint_id"] for state in states]
    assert parents == [*ids[1:], None]


async def test_history_begins_before_a_checkpoint_however_it_is_named(api):
    """Where LangGraph's own server takes one form and drops the other silently."""
    async with api.client() as client:
        thread = await a_thread(client, "a", "b", "c")
        path = f"/threads/{thread}/history"
        newest, middle, oldest, root = (await client.get(path)).json()
        by_id = (await client.post(path, json={"before": newest["checkpoint"]["checkpoint_id"]})).json()
        by_place = (await client.post(path, json={"before": newest["checkpoint"]})).json()
        by_config = (await client.post(path, json={"before": {"configurable": newest["checkpoint"]}})).json()
        by_query = (await client.get(path, params={"before": middle["checkpoint"]["checkpoint_id"]})).json()
        limited = (await client.get(path, params={"limit": 2})).json()
        last = (await client.get(path, params={"before": oldest["checkpoint"]["checkpoint_id"]})).json()
        none = (await client.get(path, params={"before": root["checkpoint"]["checkpoint_id"]})).json()

    assert by_id == by_place == by_config == [middle, oldest, root]
    assert by_query == [oldest, root]
    assert limited == [newest, middle]
    assert (last, none) == ([root], [])


async def test_history_is_filtered_by_metadata(api):
    async with api.client() as client:
        thread = await a_thread(client, "a")
        body = {
            "assistant_id": "agent",
            "input": {"messages": [{"role": "user", "content": "b"}]},
            "metadata": {"from": "telephone"},
        }
        await client.post(f"/threads/{thread}/runs/stream", json=body)
        found = (await client.post(f"/threads/{thread}/history", json={"metadata": {"from": "telephone"}})).json()

    assert [said(state) for state in found] == [["a", "One.", "b", "Two."]]


async def test_an_earlier_state_is_found_by_its_checkpoint(api):
    async with api.client() as client:
        thread = await a_thread(client, "a", "b")
        _, older, _ = (await client.get(f"/threads/{thread}/history")).json()
        checkpoint = older["checkpoint"]["checkpoint_id"]
        state = (await client.get(f"/threads/{thread}/state/{checkpoint}")).json()
        missing = await client.get(f"/threads/{thread}/state/1ef4a9b8-d7da-679a-a45a-872054341df2")
        wrong = await client.get(f"/threads/{thread}/state/latest")

    assert state == older
    assert (missing.status_code, wrong.status_code) == (404, 422)


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": "all"},
        {"before": "yesterday"},
        {"checkpoint": {"checkpoint_ns": "chat_agent:1"}},
        {"select": ["values"]},
    ],
)
async def test_a_history_that_cannot_be_given_is_a_422(api, body):
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await client.post(f"/threads/{thread}/history", json=body)

    assert answer.status_code == 422
    assert next(iter(body)) in answer.json()["detail"]


async def test_an_open_question_shows_in_the_state(api):
    async with api.client() as client:
        thread = await a_thread(client, "please confirm")
        state = (await client.get(f"/threads/{thread}/state")).json()
        row = (await client.get(f"/threads/{thread}")).json()

    (task,) = state["tasks"]
    assert state["next"] == ["confirm"]
    assert [each["value"] for each in task["interrupts"]] == [{"question": "sure?"}]
    assert task["interrupts"] == state["interrupts"]
    assert row["status"] == "interrupted"


async def test_a_failed_step_shows_without_its_story():
    api = ChatApi(ScriptedChatModel(RuntimeError("arn:aws:bedrock:secret")))
    async with api.client() as client:
        thread = await a_thread(client, "a")
        answer = await client.get(f"/threads/{thread}/state")

    assert [task["error"] for task in answer.json()["tasks"]] == ["The step failed."]
    assert "secret" not in answer.text


async def test_states_are_read_as_they_are_sent(api):
    """A page of a long thread is many times the thread; it must never be in memory as a whole."""
    read, sent = 0, []
    async with api.client() as client:
        thread = await a_thread(client, "a", "b", "c", "d")
    saver = api.runs.saver()
    alist = saver.alist

    async def counted(*args, **options):
        nonlocal read
        async for each in alist(*args, **options):
            read += 1
            yield each

    saver.alist = counted

    came = iter([{"type": "http.request", "body": b""}])

    async def receive():
        return next(came, None) or await asyncio.Future()

    async def send(message):
        if message.get("body"):
            sent.append(read)

    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/threads/{thread}/history",
        "query_string": b"limit=1000",
        "headers": [],
        "aws.event": {"requestContext": {"authorizer": {"claims": {"sub": USER}}}},
    }
    await api.app(scope, receive, send)

    assert sent[:4] == [1, 2, 3, 4]


async def test_a_page_ends_when_it_is_large_enough(api, monkeypatch):
    async with api.client() as client:
        thread = await a_thread(client, "a", "b", "c")
        path = f"/threads/{thread}/history"
        whole = (await client.get(path)).json()
        monkeypatch.setattr(states, "HISTORY_BYTES", len(json.dumps(whole[0])) + 1)
        first = (await client.get(path)).json()
        second = (await client.get(path, params={"before": first[-1]["checkpoint_id"]})).json()

    assert 1 <= len(first) < len(whole)
    assert first == whole[: len(first)]
    assert second == whole[len(first) : len(first) + len(second)]
