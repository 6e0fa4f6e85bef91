"""The official Python SDK against the app."""

import pytest
from langgraph_sdk.errors import NotFoundError

from tests.fakes.chat_api import OTHER, ChatApi
from tests.fakes.chat_model import ScriptedChatModel


async def test_the_sdk_makes_a_thread_streams_reads_lists_and_deletes():
    api = ChatApi(ScriptedChatModel("Hello there."))
    sdk = api.sdk()
    created = []
    thread = await sdk.threads.create(metadata={"from": "sdk"}, graph_id="agent")
    parts = [
        part
        async for part in sdk.runs.stream(
            thread["thread_id"],
            "agent",
            input={"messages": [{"role": "user", "content": "Hi"}]},
            stream_mode=["values", "messages-tuple"],
            on_run_created=created.append,
        )
    ]
    state = await sdk.threads.get_state(thread["thread_id"])
    history = await sdk.threads.get_history(thread["thread_id"], limit=5)
    at = await sdk.threads.get_state(thread["thread_id"], checkpoint_id=state["checkpoint"]["checkpoint_id"])
    before = await sdk.threads.get_history(thread["thread_id"], before=state["checkpoint"]["checkpoint_id"])
    found = await sdk.threads.search(metadata={"from": "sdk"}, status="idle", sort_by="updated_at", sort_order="desc")
    updated = await sdk.threads.update(thread["thread_id"], metadata={"more": True})
    count = await sdk.threads.count(metadata={"more": True})
    await sdk.threads.delete(thread["thread_id"])

    assert parts[0].event == "metadata"
    assert parts[-1].event == "end"
    assert created == [{"run_id": parts[0].data["run_id"], "thread_id": thread["thread_id"]}]
    assert "".join(part.data[0]["content"] for part in parts if part.event == "messages") == "Hello there."
    assert [message["content"] for message in state["values"]["messages"]] == ["Hi", "Hello there."]
    assert (history, at, before) == ([state], state, [])
    assert [each["thread_id"] for each in found] == [thread["thread_id"]]
    assert (updated["metadata"]["more"], count) == (True, 1)
    with pytest.raises(NotFoundError):
        await sdk.threads.get(thread["thread_id"])


async def test_the_sdks_second_stream_format_is_understood_as_well():
    api = ChatApi()
    sdk = api.sdk()
    thread = await sdk.threads.create()
    kinds = [
        part["type"]
        async for part in sdk.runs.stream(
            thread["thread_id"],
            "agent",
            input={"messages": [{"role": "user", "content": "Hi"}]},
            stream_mode=["values", "updates", "messages-tuple", "custom"],
            version="v2",
        )
    ]

    assert {"metadata", "values", "updates", "messages"} <= set(kinds)


async def test_the_sdk_resumes_an_interrupt():
    api = ChatApi(ScriptedChatModel("Done."))
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]
    question = {"messages": [{"role": "user", "content": "please confirm"}]}
    async for _ in sdk.runs.stream(thread, "agent", input=question):
        pass
    assert (await sdk.threads.get(thread))["status"] == "interrupted"
    async for _ in sdk.runs.stream(thread, "agent", command={"resume": "yes"}):
        pass

    assert (await sdk.threads.get_state(thread))["values"]["messages"][-1]["content"] == "Done."


async def test_the_sdk_cannot_reach_another_users_thread():
    api = ChatApi()
    theirs = (await api.sdk(OTHER).threads.create())["thread_id"]
    with pytest.raises(NotFoundError):
        async for _ in api.sdk().runs.stream(theirs, "agent", input={"messages": [{"role": "user", "content": "Hi"}]}):
            pass
