"""The official Python SDK against the app."""

import asyncio

import httpx
import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from shared.adapters.http import EVENT_SCOPE_KEY
from tests.fakes.chat_api import OTHER, USER, ChatApi
from tests.fakes.chat_model import Say, ScriptedChatModel


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
    assert (history[:-1], at, before) == ([state], state, history[-1:])
    assert history[-1]["checkpoint"] == state["parent_checkpoint"]
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


async def test_the_sdk_finds_the_assistant_and_draws_it():
    sdk = ChatApi().sdk()
    (assistant,) = await sdk.assistants.search(graph_id="agent", limit=5)
    by_name = await sdk.assistants.get("agent")
    schemas = await sdk.assistants.get_schemas(assistant["assistant_id"])
    graph = await sdk.assistants.get_graph(assistant["assistant_id"], xray=True)

    assert by_name == assistant
    assert "messages" in schemas["input_schema"]["properties"]
    assert {"nodes", "edges"} == set(graph)


async def test_the_sdk_waits_for_a_run():
    api = ChatApi(ScriptedChatModel("Hello there.", RuntimeError("a secret")))
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]
    values = await sdk.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "Hi"}]})
    with pytest.raises(Exception, match="INTERNAL") as failed:
        await sdk.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "More"}]})
    runs = await sdk.runs.list(thread, limit=5)
    one = await sdk.runs.get(thread, runs[1]["run_id"])

    assert values["messages"][-1]["content"] == "Hello there."
    assert "secret" not in str(failed.value)
    assert [run["status"] for run in runs] == ["error", "success"]
    assert one == runs[1]


async def test_the_sdk_runs_without_a_thread():
    api = ChatApi(ScriptedChatModel("Ada.", "Ada."))
    sdk = api.sdk()
    talk = {"messages": [{"role": "user", "content": "I am Ada. Who am I?"}]}
    values = await sdk.runs.wait(None, "agent", input=talk, on_completion="delete")
    names = [
        part.event async for part in sdk.runs.stream(None, "agent", input=talk, stream_mode=["values", "messages"])
    ]

    assert values["messages"][-1]["content"] == "Ada."
    assert {"metadata", "values", "messages/metadata", "messages/partial", "end"} <= set(names)


async def test_the_sdk_joins_a_run_and_goes_on_where_it_was():
    api = ChatApi(ScriptedChatModel("Once upon a time"))
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]
    question = {"messages": [{"role": "user", "content": "A story"}]}
    modes = ["values", "messages-tuple"]
    stream = sdk.runs.stream(thread, "agent", input=question, stream_mode=modes, stream_resumable=True)
    parts = [part async for part in stream]
    (run,) = await sdk.runs.list(thread)
    joined = [part async for part in sdk.runs.join_stream(thread, run["run_id"], stream_mode=modes)]
    rest = [part async for part in sdk.runs.join_stream(thread, run["run_id"], last_event_id=parts[2].id)]

    assert joined == parts
    assert rest == parts[3:]


async def test_the_sdk_comes_back_by_itself_when_the_stream_is_cut():
    """It follows `Location` with `Last-Event-ID`: the answer arrives whole."""
    api = ChatApi(ScriptedChatModel("Once upon a time there was a princess"))
    event = {"requestContext": {"authorizer": {"claims": {"sub": USER}}}}

    async def through_gateway(scope, receive, send):
        await api.app({**scope, EVENT_SCOPE_KEY: event}, receive, send)

    class Cut(httpx.AsyncByteStream):
        """Half of an answer, and then no connection any more."""

        def __init__(self, body):
            self._body = body

        async def __aiter__(self):
            yield self._body[: len(self._body) // 2]
            raise httpx.ReadError("cut")

    class Cutting(httpx.ASGITransport):
        async def handle_async_request(self, request):
            answer = await super().handle_async_request(request)
            if request.method == "POST" and request.url.path.endswith("/stream"):
                return httpx.Response(answer.status_code, headers=answer.headers, stream=Cut(await answer.aread()))
            return answer

    sdk = LangGraphClient(httpx.AsyncClient(transport=Cutting(through_gateway), base_url="http://chat.test"))
    thread = (await sdk.threads.create())["thread_id"]
    question = {"messages": [{"role": "user", "content": "A story"}]}
    parts = [part async for part in sdk.runs.stream(thread, "agent", input=question, stream_mode="messages-tuple")]

    assert parts[-1].event == "end"
    assert [int(part.id) for part in parts] == list(range(1, len(parts) + 1))
    said = "".join(part.data[0]["content"] for part in parts if part.event == "messages")
    assert said == "Once upon a time there was a princess"


async def test_the_sdk_stops_and_undoes_runs():
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(place):
        if place == 1:
            reached.set()
            await opened.wait()

    api = ChatApi(ScriptedChatModel(Say("Once upon a time", before_token=wait)))
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]

    async def read():
        question = {"messages": [{"role": "user", "content": "A story"}]}
        return [part async for part in sdk.runs.stream(thread, "agent", input=question)]

    reading = asyncio.create_task(read())
    await reached.wait()
    (run,) = await sdk.runs.list(thread)
    await sdk.runs.cancel(thread, run["run_id"], wait=True)
    parts = await reading
    with pytest.raises(NotFoundError):
        await sdk.runs.cancel(thread, run["run_id"])

    assert parts[-1].data["status"] == "interrupted"
    assert (await sdk.threads.get_state(thread))["values"]["messages"][-1]["content"] == "Once"


async def test_the_sdk_changes_and_copies():
    api = ChatApi(ScriptedChatModel("One."))
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]
    await sdk.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": "Hi"}]})
    changed = await sdk.threads.update_state(thread, {"messages": [{"type": "ai", "content": "Two.", "id": "a2"}]})
    state = await sdk.threads.get_state(thread, checkpoint=changed["checkpoint"])
    copies = await sdk.threads.search(limit=10)
    await sdk.threads.copy(thread)

    assert [message["content"] for message in state["values"]["messages"]] == ["Hi", "One.", "Two."]
    assert len(await sdk.threads.search(limit=10)) == len(copies) + 1


async def test_a_remote_graph_invokes_streams_reads_and_changes():
    """LangGraph's own client for graphs that run elsewhere, with a thread and without one."""
    api = ChatApi(ScriptedChatModel("One.", "Two.", "Three."))
    sdk = api.sdk()
    remote = RemoteGraph("agent", client=sdk, sync_client=None)
    thread = (await sdk.threads.create())["thread_id"]
    config = {"configurable": {"thread_id": thread}}
    question = {"messages": [{"role": "user", "content": "Hi"}]}
    values = await remote.ainvoke(question, config)
    parts = [part async for part in remote.astream(question, config, stream_mode=["values", "messages"])]
    alone = await remote.ainvoke(question)
    state = await remote.aget_state(config)
    history = [each async for each in remote.aget_state_history(config)]
    await remote.aupdate_state(config, {"messages": [{"type": "ai", "content": "More.", "id": "m"}]})
    after = await remote.aget_state(config)
    graph = await remote.aget_graph()

    assert values["messages"][-1]["content"] == "One."
    assert {part[0] for part in parts} == {"values", "messages"}
    assert alone["messages"][-1]["content"] == "Three."
    assert state.values["messages"][-1]["content"] == "Two."
    assert [len(each.values["messages"]) for each in history] == [4, 2, 0]
    assert history[1].parent_config == history[2].config
    assert after.values["messages"][-1]["content"] == "More."
    assert "chat_agent" in graph.nodes
