"""What an answer cites, as the clients of each protocol see it."""

import asyncio
import json

import pytest

from tests.fakes.agent_turns import Turns
from tests.fakes.chat_api import USER, ChatApi
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.chat_model import Say, ScriptedChatModel

THREAD = "7c9f8f3e-5d0f-4a53-8a39-0d6d7c0c9b11"
FOUND = Say("", [("search_knowledge_base", {"query": "When does the heron nest?"})])


@pytest.fixture
async def chat():
    library = ChatKnowledge()
    document = await library.upload("herons.md", "# Herons\n\nThe heron nests in March.", user=USER)
    model = ScriptedChatModel(FOUND, "In March [1].")
    return ChatApi(model, make=lambda chat: Turns(chat=chat, library=library).graph), document


async def test_stream_state_and_history_have_them_under_one_id(chat):
    api, document = chat
    sdk = api.sdk()
    thread = await sdk.threads.create()
    parts = [
        part
        async for part in sdk.runs.stream(
            thread["thread_id"],
            "agent",
            input={"messages": [{"role": "user", "content": "When do herons nest?"}]},
            stream_mode=["values", "messages-tuple"],
        )
    ]
    state = await sdk.threads.get_state(thread["thread_id"])
    (history,) = await sdk.threads.get_history(thread["thread_id"], limit=1)

    pieces = [part.data for part in parts if part.event == "messages" and part.data[0]["type"] == "AIMessageChunk"]
    cited = [(message, metadata) for message, metadata in pieces if message["additional_kwargs"].get("citations")]
    ((piece, metadata),) = cited
    last = [part.data for part in parts if part.event == "values"][-1]["messages"][-1]
    (citation,) = last["additional_kwargs"]["citations"]
    assert (citation["number"], citation["documentId"], citation["name"]) == (1, document.id, "herons.md")
    assert piece["additional_kwargs"]["citations"] == [citation]
    assert (piece["id"], piece["content"]) == (last["id"], "")
    assert metadata["langgraph_node"] == "model"
    assert "".join(message["content"] for message, _ in pieces if message["id"] == last["id"]) == "In March [1]."
    for values in (state["values"], history["values"]):
        assert values["messages"][-1]["additional_kwargs"]["citations"] == [citation]


async def test_an_agui_client_is_told_of_them(chat):
    api, document = chat
    body = {
        "threadId": THREAD,
        "runId": "r1",
        "state": {},
        "messages": [{"id": "h1", "role": "user", "content": "When do herons nest?"}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    reply = await api.client().post("/agui", json=body)
    events = [json.loads(line.removeprefix("data: ")) for line in reply.text.splitlines() if line.startswith("data: ")]

    (told,) = [event for event in events if event["type"] == "CUSTOM"]
    (started, *_) = [event for event in events if event["type"] == "TEXT_MESSAGE_START"]
    assert (told["name"], told["value"]["messageId"]) == ("citations", started["messageId"])
    assert [each["documentId"] for each in told["value"]["citations"]] == [document.id]


async def test_an_answer_that_was_stopped_keeps_what_it_cited(chat):
    api, document = chat
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]

    async def stop(place):
        if place == 2:
            (run,) = await sdk.runs.list(thread)
            await sdk.runs.cancel(thread, run["run_id"], wait=False)
            await asyncio.Event().wait()

    api.model._script[1] = Say("March [1] and more.", before_token=stop)
    async for _ in sdk.runs.stream(
        thread, "agent", input={"messages": [{"role": "user", "content": "When?"}]}, stream_mode="values"
    ):
        pass
    last = (await sdk.threads.get_state(thread))["values"]["messages"][-1]
    assert last["content"] == "March [1]"
    assert [each["documentId"] for each in last["additional_kwargs"]["citations"]] == [document.id]
