"""What each stream mode brings."""

import json

import pytest

from tests.fakes.asking_agent import ask, asking_agent
from tests.fakes.chat_api import USER, ChatApi, events_in
from tests.fakes.chat_model import ScriptedChatModel

HI = {"messages": [{"role": "user", "content": "Hi"}]}


async def streamed(api, *modes, **body):
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "input": HI, "stream_mode": list(modes), **body}
        answer = await client.post(f"/threads/{thread}/runs/stream", json=body)
        history = (await client.get(f"/threads/{thread}/history")).json()
    return thread, events_in(answer.text), history


def named(events, name):
    return [event.data for event in events if event.name == name]


async def test_messages_are_answers_so_far():
    _, events, history = await streamed(ChatApi(ScriptedChatModel("Hello there Ada")), "messages")
    partial = [message for (message,) in named(events, "messages/partial")]
    known = {name for event in named(events, "messages/metadata") for name in event}

    assert [message["content"] for message in partial if message["content"]][:3] == [
        "Hello",
        "Hello there",
        "Hello there Ada",
    ]
    assert {message["id"] for message in partial} == {history[0]["values"]["messages"][-1]["id"]} <= known
    assert "messages" not in {event.name for event in events}


async def test_every_checkpoint_that_is_told_of_can_be_read():
    thread, events, history = await streamed(ChatApi(), "checkpoints", "values")
    told = named(events, "checkpoints")

    assert len(told) > 2
    *stored, root = [each["checkpoint_id"] for each in history]
    assert [each["checkpoint"]["checkpoint_id"] for each in reversed(told)] == stored
    assert told[0]["parent_checkpoint"]["checkpoint_id"] == root
    assert {each["checkpoint"]["thread_id"] for each in told} == {thread}
    assert told[-1]["values"] == named(events, "values")[-1]


async def test_tasks_begin_and_end():
    _, events, _ = await streamed(ChatApi(), "tasks")
    tasks = named(events, "tasks")

    assert [task["name"] for task in tasks if "triggers" in task] == [
        "confirm",
        "chat_agent",
        "trigger_background_agent",
    ]
    assert [task["name"] for task in tasks if "result" in task] == ["confirm", "chat_agent", "trigger_background_agent"]


async def test_debug_is_checkpoints_and_tasks():
    _, events, _ = await streamed(ChatApi(), "debug")

    assert {event["type"] for event in named(events, "debug")} == {"checkpoint", "task", "task_result"}


async def test_events_are_langchains_and_hold_no_prompt():
    api = ChatApi(ScriptedChatModel("Hello there"), make=asking_agent)
    _, events, history = await streamed(api, "events", "values", "messages-tuple")
    langchains = named(events, "events")
    chunks = [event["data"]["chunk"] for event in langchains if event["event"] == "on_chat_model_stream"]

    assert "".join(chunk["content"] for chunk in chunks) == "Hello there"
    assert {chunk["id"] for chunk in chunks} == {history[0]["values"]["messages"][-1]["id"]}
    assert api.model.requests[0].system[:40] not in json.dumps(langchains)
    assert named(events, "values")[-1] == history[0]["values"]
    assert "".join(chunk["content"] for chunk, _ in named(events, "messages")) == "Hello there"
    assert events[-1].data["status"] == "success"


@pytest.mark.parametrize("mode", ["checkpoints", "debug", "tasks", "events", "messages", "updates", "values", "custom"])
@pytest.mark.parametrize("subgraphs", [False, True])
async def test_no_mode_tells_what_is_the_products_own(mode, subgraphs):
    """Ids of users and leases, paths of modules, texts of errors."""
    api = ChatApi(ScriptedChatModel(ask("Which day?")), make=asking_agent)
    _, events, _ = await streamed(api, mode, stream_subgraphs=subgraphs)
    said = json.dumps([event.data for event in events])

    assert events[-1].data["status"] == "interrupted"
    for inner in (f'"{USER}"', "lease_number", "TurnMemory", "TurnMark", "__pregel_runtime", "turn_memory"):
        assert inner not in said


@pytest.mark.parametrize("mode", ["values", "updates", "tasks", "checkpoints", "debug"])
async def test_subgraphs_come_out_under_their_names(mode):
    _, events, _ = await streamed(ChatApi(), mode, stream_subgraphs=True)

    assert any(event.name.startswith(f"{mode}|chat_agent:") for event in events)


async def test_a_failing_step_tells_no_story():
    api = ChatApi(ScriptedChatModel(RuntimeError("a secret of ours")))
    _, events, _ = await streamed(api, "tasks", "debug", "events", "checkpoints", "updates")

    assert events[-1].name == "error"
    assert "a secret of ours" not in json.dumps([event.data for event in events])
