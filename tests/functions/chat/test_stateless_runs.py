"""Runs without a thread: the whole conversation in the request, and nothing kept."""

import json

import pytest

from tests.fakes.asking_agent import ask, asking_agent
from tests.fakes.chat_api import ChatApi, events_in
from tests.fakes.chat_model import ScriptedChatModel

TALK = [
    {"type": "human", "content": "My name is Ada.", "id": "h1"},
    {"type": "ai", "content": "Hello Ada.", "id": "a1"},
    {"role": "user", "content": "What is my name?"},
]


async def stream(api, **body):
    async with api.client() as client:
        return await client.post("/runs/stream", json={"assistant_id": "agent", "input": {"messages": TALK}, **body})


async def wait(api, **body):
    async with api.client() as client:
        return await client.post("/runs/wait", json={"assistant_id": "agent", "input": {"messages": TALK}, **body})


async def test_the_conversation_comes_with_the_request():
    api = ChatApi(ScriptedChatModel("Ada."))
    answer = await stream(api, stream_mode=["values", "messages-tuple"])
    events = events_in(answer.text)
    values = [event.data for event in events if event.name == "values"]

    assert [message.type for message in api.model.requests[0].messages] == ["human", "ai", "human"]
    assert [message["content"] for message in values[-1]["messages"]] == [each["content"] for each in TALK] + ["Ada."]
    assert events[0].data["run_id"] == answer.headers["content-location"].removeprefix("/runs/")
    assert (events[-1].name, events[-1].data["status"]) == ("end", "success")
    assert "location" not in answer.headers


async def test_nothing_is_kept():
    api = ChatApi()
    await stream(api)
    async with api.client() as client:
        threads = (await client.post("/threads/search", json={})).json()

    assert threads == []
    assert not api.runs.savers
    assert (api.runs.events.published, api.runs.run_rows.calls["save"]) == ([], 0)


async def test_the_agent_recalls_its_user_all_the_same():
    api = ChatApi(ScriptedChatModel("Ada."), make=asking_agent)
    await stream(api)

    assert api.runs.profiles.calls["load"] == 1


async def test_a_wait_gives_the_last_state():
    answer = await wait(ChatApi(ScriptedChatModel("Ada.")))

    assert answer.headers["content-type"] == "application/json"
    assert answer.text.startswith("\n")
    assert json.loads(answer.text)["messages"][-1]["content"] == "Ada."


async def test_a_failing_run_gives_the_error():
    api = ChatApi(ScriptedChatModel(RuntimeError("a secret"), RuntimeError("a secret")))
    streamed, waited = await stream(api), await wait(api)

    assert (events_in(streamed.text)[-1].name, events_in(streamed.text)[-1].data["error"]) == ("error", "INTERNAL")
    assert json.loads(waited.text)["__error__"]["error"] == "INTERNAL"
    assert "secret" not in streamed.text + waited.text


async def test_a_question_to_the_user_ends_the_run():
    answer = await stream(ChatApi(ScriptedChatModel(ask("Which day?")), make=asking_agent), stream_mode="values")
    events = events_in(answer.text)

    assert events[-1].data["status"] == "interrupted"
    assert events[-2].data["__interrupt__"][0]["value"] == {"question": "Which day?"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"input": None}, "input"),
        ({"input": None, "command": {"resume": 1}}, "command.resume"),
        ({"checkpoint": {"checkpoint_id": "1ef4a9b8-d7da-679a-a45a-872054341df2"}}, "checkpoint.checkpoint_id"),
        ({"checkpoint_id": "1ef4a9b8-d7da-679a-a45a-872054341df2"}, "checkpoint_id"),
        ({"stream_resumable": True}, "stream_resumable"),
        ({"on_completion": "keep"}, "on_completion 'keep'"),
        ({"webhook": "https://example.org"}, "webhook"),
        ({"assistant_id": "other"}, "assistant_id"),
        ({"stream_mode": "tools"}, "stream_mode 'tools'"),
        ({"input": {"messages": TALK[:2]}}, "answer"),
    ],
)
async def test_what_needs_a_thread_is_refused_by_its_name(body, named):
    api = ChatApi()
    answer = await stream(api, **body)

    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert api.model.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"on_completion": "delete"},
        {"stream_resumable": False, "on_disconnect": "cancel"},
        {"multitask_strategy": "rollback", "if_not_exists": "create", "durability": "async"},
        {"metadata": {"a": 1}, "config": {"configurable": {"thread_id": "x"}, "tags": ["t"]}},
        {"stream_mode": ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "debug", "checkpoints"]},
        {"stream_mode": ["events", "values", "updates"], "stream_subgraphs": True},
    ],
)
async def test_what_clients_send_along_is_taken(options):
    assert events_in((await stream(ChatApi(), **options)).text)[-1].data["status"] == "success"


async def test_a_wait_in_a_thread_gives_the_same_and_keeps_the_turn():
    api = ChatApi(ScriptedChatModel("One.", RuntimeError("a secret")))
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi"}]}}
        waited = await client.post(f"/threads/{thread}/runs/wait", json=body)
        state = (await client.get(f"/threads/{thread}/state")).json()
        body["input"]["messages"][0]["content"] = "Again"
        failed = await client.post(f"/threads/{thread}/runs/wait", json=body)
        runs = (await client.get(f"/threads/{thread}/runs")).json()

    assert json.loads(waited.text) == state["values"]
    assert waited.headers["content-location"] == f"/threads/{thread}/runs/{runs[1]['run_id']}"
    assert json.loads(failed.text) == {
        "__error__": {"error": "INTERNAL", "message": "Something went wrong on our side. Your message is kept."}
    }
    assert [run["status"] for run in runs] == ["error", "success"]
    assert [event.outcome for event in api.runs.events.published] == ["completed", "failed"]
