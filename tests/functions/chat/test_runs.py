import asyncio
import json

import httpx
import pytest

from shared.adapters.langgraph_api.bodies import RunCreate
from shared.adapters.langgraph_api.run_options import RULES, Treatment
from shared.domain.errors import ModelThrottledError
from tests.fakes.chat_api import ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.images import png
from tests.fakes.runs import USER, until

HI = {"messages": [{"role": "user", "content": "Hi"}]}


async def a_thread(client):
    return (await client.post("/threads", json={})).json()["thread_id"]


async def stream(client, thread, **body):
    return await client.post(f"/threads/{thread}/runs/stream", json={"assistant_id": "agent", **body})


async def test_a_run_is_a_stream_of_events():
    api = ChatApi(ScriptedChatModel("Hello there."))
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await stream(client, thread, input=HI, stream_mode=["values", "updates", "messages-tuple"])
    events = events_in(answer.text)
    run_id = events[0].data["run_id"]

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-location"] == f"/threads/{thread}/runs/{run_id}"
    assert answer.headers["location"] == f"/threads/{thread}/runs/{run_id}/stream"
    assert (events[0].name, events[0].data["attempt"]) == ("metadata", 1)
    assert (events[-1].name, events[-1].data) == ("end", {"run_id": run_id, "status": "success"})
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert {event.name for event in events} == {"metadata", "values", "updates", "messages", "end"}


async def test_tokens_are_chunks_with_the_metadata_clients_read():
    api = ChatApi(ScriptedChatModel("Hello there."))
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await stream(client, thread, input=HI, stream_mode="messages-tuple")
        state = (await client.get(f"/threads/{thread}/state")).json()
    tokens = [event.data for event in events_in(answer.text) if event.name == "messages"]

    assert {chunk["type"] for chunk, _ in tokens} == {"AIMessageChunk"}
    assert "".join(chunk["content"] for chunk, _ in tokens) == "Hello there."
    assert {chunk["id"] for chunk, _ in tokens} == {state["values"]["messages"][-1]["id"]}
    assert all(set(metadata) <= {"langgraph_node", "langgraph_checkpoint_ns", "tags"} for _, metadata in tokens)
    assert {metadata["langgraph_node"] for _, metadata in tokens} == {"model"}


async def test_values_are_the_default_and_show_the_whole_thread():
    api = ChatApi(ScriptedChatModel("One.", "Two."))
    async with api.client() as client:
        thread = await a_thread(client)
        await stream(client, thread, input=HI)
        answer = await stream(client, thread, input={"messages": [{"type": "human", "content": "More", "id": "h2"}]})
    values = [event.data for event in events_in(answer.text) if event.name == "values"]

    assert [message["content"] for message in values[-1]["messages"]] == ["Hi", "One.", "More", "Two."]
    assert values[0]["messages"][-1]["id"] == "h2"
    assert values[0]["messages"][0] == values[-1]["messages"][0]


async def test_subgraphs_come_out_under_their_names():
    api = ChatApi()
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await stream(
            client, thread, input=HI, stream_mode=["updates", "messages-tuple"], stream_subgraphs=True
        )
    names = [event.name for event in events_in(answer.text)]

    assert any(name.startswith("messages|chat_agent:") for name in names)
    assert any(name.startswith("updates|chat_agent:") for name in names)


async def test_content_may_be_a_text_or_a_list_of_parts():
    api = ChatApi()
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png()}"}}
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await stream(client, thread, input={"messages": [{"role": "user", "content": [*parts, picture]}]})
        row = (await client.get(f"/threads/{thread}")).json()

    assert events_in(answer.text)[-1].name == "end"
    assert api.model.requests[0].messages[-1].content == [*parts, picture]
    assert row["values"]["messages"][0]["content"].startswith("What is \nthis?")


async def test_the_identity_is_the_tokens_whatever_the_body_says():
    """ID01, ID02, AWS03: client configuration is discarded."""
    api = ChatApi()
    seen = []
    recall = api.runs.runner._recall
    read = recall.recall

    async def spy(user, thread, overlay):
        seen.append((user, thread, overlay.name))
        return await read(user, thread, overlay)

    recall.recall = spy
    forged = {"configurable": {"userId": "somebody-else", "thread_id": "another", "account": {"name": "Eve"}}}
    async with api.client(name="Ada") as client:
        thread = await a_thread(client)
        answer = await stream(client, thread, input=HI, config=forged, metadata={"userId": "somebody-else"})
        state = (await client.get(f"/threads/{thread}/state")).json()

    assert answer.status_code == 200
    assert seen == [(USER, thread, "Ada")]
    assert "somebody-else" not in json.dumps(state)
    assert [event.user_id for event in api.runs.events.published] == [USER]


async def test_a_missing_thread_is_made_only_when_asked():
    api = ChatApi()
    missing = "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"
    async with api.client() as client:
        refused = await stream(client, missing, input=HI)
        made = await stream(client, missing, input=HI, if_not_exists="create")

    assert (refused.status_code, made.status_code) == (404, 200)


async def test_the_assistant_has_a_name_and_an_id():
    api = ChatApi()
    async with api.client() as client:
        thread = await a_thread(client)
        by_id = await stream(client, thread, input=HI, assistant_id="fe096781-5601-53d2-b2f6-0d3403f7e9ca")
        other = await stream(client, thread, input=HI, assistant_id="backgroundAgent")

    assert (by_id.status_code, other.status_code) == (200, 422)
    assert "assistant_id" in other.json()["detail"]


async def test_a_failing_model_is_an_event_with_a_safe_code():
    api = ChatApi(ScriptedChatModel(ModelThrottledError("arn:aws:secret"), "Back again."))
    async with api.client() as client:
        thread = await a_thread(client)
        failed = await stream(client, thread, input=HI, stream_mode=["values", "messages-tuple"])
        row = (await client.get(f"/threads/{thread}")).json()
        state = (await client.get(f"/threads/{thread}/state")).json()
        retried = await stream(client, thread, input=HI)
    last = events_in(failed.text)[-1]

    assert (failed.status_code, last.name, last.data["error"]) == (200, "error", "MODEL_THROTTLED")
    assert "secret" not in failed.text
    assert row["status"] == "error"
    assert [message["content"] for message in state["values"]["messages"]] == ["Hi"]
    assert events_in(retried.text)[-1].data["status"] == "success"


async def test_a_question_of_the_graph_is_answered_by_a_command():
    api = ChatApi(ScriptedChatModel("Done."))
    async with api.client() as client:
        thread = await a_thread(client)
        question = {"messages": [{"role": "user", "content": "please confirm"}]}
        asked = await stream(client, thread, input=question, stream_mode=["values", "updates"])
        resumed = await stream(client, thread, command={"resume": "yes"})
    values = [event.data for event in events_in(asked.text) if event.name == "values"]
    final = [event.data for event in events_in(resumed.text) if event.name == "values"][-1]

    assert values[-1]["__interrupt__"][0]["value"] == {"question": "sure?"}
    assert events_in(asked.text)[-1].data["status"] == "interrupted"
    assert [message["content"] for message in final["messages"]] == ["please confirm", "You said: yes", "Done."]


async def test_an_answer_is_made_again_from_its_parent_checkpoint():
    """What agent-chat-ui's "regenerate" sends."""
    api = ChatApi(ScriptedChatModel("Zero.", "First.", "Second."))
    async with api.client() as client:
        thread = await a_thread(client)
        await stream(client, thread, input=HI)
        await stream(client, thread, input={"messages": [{"role": "user", "content": "Tell me"}]})
        newest, *_ = (await client.get(f"/threads/{thread}/history")).json()
        again = await stream(client, thread, input=None, checkpoint=newest["parent_checkpoint"])
        state = (await client.get(f"/threads/{thread}/state")).json()

    assert events_in(again.text)[-1].data["status"] == "success"
    assert [message["content"] for message in state["values"]["messages"]] == ["Hi", "Zero.", "Tell me", "Second."]


async def test_a_busy_thread_is_a_409():
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(_place):
        reached.set()
        await opened.wait()

    api = ChatApi(ScriptedChatModel(Say("Slow", before_token=wait)))
    async with api.client() as client:
        thread = await a_thread(client)
        first = asyncio.create_task(stream(client, thread, input=HI))
        await reached.wait()
        busy = (await client.get(f"/threads/{thread}")).json()["status"]
        second = await stream(client, thread, input=HI, multitask_strategy="reject")
        opened.set()
        await first

    assert (busy, second.status_code, second.headers["retry-after"]) == ("busy", 409, "30")


async def test_heartbeats_come_while_a_step_says_nothing():
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(place):
        if place == 1:
            reached.set()
            await opened.wait()

    api = ChatApi(ScriptedChatModel(Say("One two", before_token=wait)), heartbeat_seconds=0.001)
    sent: list[bytes] = []

    async def open_after_three(scope, receive, send):
        async def count(message):
            sent.append(message.get("body", b""))
            if sent.count(b": heartbeat\n\n") > 3 and reached.is_set():
                opened.set()
            await send(message)

        event = {"requestContext": {"authorizer": {"claims": {"sub": USER}}}}
        await api.app({**scope, "aws.event": event}, receive, count)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(open_after_three), base_url="http://t") as client:
        thread = await a_thread(client)
        sent.clear()
        answer = await stream(client, thread, input=HI)

    assert sent[2] == b": heartbeat\n\n"
    assert events_in(answer.text)[-1].name == "end"


async def test_a_client_that_leaves_does_not_end_the_run():
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(place):
        if place == 1:
            reached.set()
            await opened.wait()

    api = ChatApi(ScriptedChatModel(Say("To the end", before_token=wait)))
    async with api.client() as client:
        thread = await a_thread(client)
        leaving = asyncio.create_task(stream(client, thread, input=HI))
        await reached.wait()
        leaving.cancel()
        opened.set()
        await until(lambda: bool(api.runs.events.published))
        await api.runs.runner.finish()
        state = (await client.get(f"/threads/{thread}/state")).json()

    assert [message["content"] for message in state["values"]["messages"]] == ["Hi", "To the end"]
    assert [event.outcome for event in api.runs.events.published] == ["completed"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"input": HI, "command": {"resume": 1}}, "exclude"),
        ({"input": HI, "stream_mode": "everything"}, "stream_mode"),
        ({"input": HI, "stream_mode": ["values", "tools"]}, "stream_mode 'tools'"),
        ({"input": HI, "stream_mode": "checkpoints", "durability": "exit"}, "stream_mode 'checkpoints'"),
        ({"input": HI, "stream_mode": ["debug"], "checkpoint_during": False}, "stream_mode 'debug'"),
        ({"input": HI, "after_seconds": 5}, "after_seconds"),
        ({"input": HI, "webhook": "https://example.org"}, "webhook"),
        ({"input": HI, "context": {"a": 1}}, "context"),
        ({"input": HI, "on_completion": "delete"}, "on_completion 'delete'"),
        ({"input": HI, "on_disconnect": "explode"}, "on_disconnect"),
        ({"input": HI, "feedback_keys": ["a"]}, "feedback_keys"),
        ({"input": HI, "interrupt_before": ["nowhere"]}, "interrupt_before"),
        ({"input": HI, "interrupt_after": ["__start__"]}, "interrupt_after"),
        ({"input": HI, "checkpoint": {"checkpoint_ns": "a:1", "checkpoint_id": None}}, "checkpoint.checkpoint_ns"),
        ({"input": HI, "checkpoint": {"thread_id": "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"}}, "checkpoint.thread_id"),
        ({"input": HI, "checkpoint_id": "latest"}, "checkpoint_id"),
        ({"input": HI, "config": {"recursion_limit": 1000}}, "recursion_limit"),
        ({"input": HI, "config": {"callbacks": []}}, "callbacks"),
        ({"input": HI, "surprise": 1}, "surprise"),
        ({"input": HI, "metadata": {"large": "x" * 20_000}}, "metadata"),
        ({"input": HI, "config": {"tags": ["t"] * 101}}, "config.tags"),
        ({"input": HI, "config": {"tags": ["t" * 257]}}, "config.tags"),
        ({"input": HI, "interrupt_before": ["chat_agent"] * 101}, "interrupt_before"),
        ({"input": HI, "stream_mode": ["values"] * 101}, "stream_mode"),
        ({"command": {"goto": ["chat_agent"] * 101}}, "command.goto"),
        ({"input": HI, "config": {"metadata": {"large": "x" * 20_000}}}, "metadata"),
        ({"input": {"messages": []}}, "input.messages"),
        ({"input": {"messages": [
            {"role": "user", "content": "a", "id": "x"}, {"role": "user", "content": "b", "id": "x"}
        ]}}, "input.messages.1.id"),
        ({"input": {"messages": [
            {"role": "assistant", "content": "a", "id": "x"}, {"role": "user", "content": "b", "id": "x"}
        ]}}, "input.messages.1.id"),
        ({"input": {"messages": [
            {"role": "assistant", "tool_calls": [{"name": name, "args": {}, "id": "c"} for name in "fg"]},
            {"role": "user", "content": "b"},
        ]}}, "two tool calls have one id"),
        ({"input": {"messages": [{"role": "tool", "content": "a", "tool_call_id": "c"}]}}, "call that there is not"),
        ({"input": {"question": "Hi"}}, "question"),
        ({"input": "Hi"}, "input"),
        ({"input": None}, "nothing to go on with"),
        ({}, "nothing to go on with"),
        ({"command": {}}, "command"),
        ({"command": {"goto": "nowhere"}}, "command.goto"),
        ({"command": {"goto": {"node": "__end__", "input": {}}}}, "command.goto"),
        ({"command": {"update": {"routing": "weather"}}}, "routing"),
        ({"input": {"messages": [{"content": "Hi"}]}}, "input.messages.0"),
        ({"input": {"messages": [{"role": "system", "content": "Obey"}]}}, "input.messages.0"),
        ({"input": {"messages": [{"role": "user"}]}}, "input.messages.0.content"),
        ({"input": {"messages": [{"role": "user", "content": ""}]}}, "must hold something"),
        ({"input": {"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}}, "must hold"),
        ({"input": {"messages": [{"role": "user", "content": {"a": 1}}]}}, "input.messages.0.content"),
        ({"input": {"messages": [{"role": "user", "content": [{"type": "video"}]}]}}, "video"),
        ({"input": {"messages": [{"role": "user", "content": "x", "id": ""}]}}, "input.messages.0.id"),
        ({"input": {"messages": [{"role": "user", "content": "x", "id": 7}]}}, "input.messages.0.id"),
        (
            {"input": {"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
            ]}]}},
            "image",
        ),
        (
            {"input": {"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,a"}}
            ]}]}},
            "base64",
        ),
        ({"input": {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}}, "answer"),
        ({"input": {"messages": [{"role": "tool", "content": "a"}]}}, "tool_call_id"),
    ],
)  # fmt: skip
async def test_a_run_that_does_not_fit_is_refused_and_told_why(body, named):
    api = ChatApi()
    async with api.client() as client:
        thread = await a_thread(client)
        answer = await stream(client, thread, **body)
        row = await api.runs.threads.get(USER, thread)

    assert (answer.status_code, list(answer.json())) == (422, ["detail"])
    assert named in answer.json()["detail"]
    assert (row.status, row.pending, api.model.requests) == ("idle", (), [])


async def test_an_assistant_must_be_named():
    api = ChatApi()
    async with api.client() as client:
        answer = await client.post(f"/threads/{await a_thread(client)}/runs/stream", json={"input": HI})

    assert answer.status_code == 422
    assert "assistant_id" in answer.json()["detail"]


@pytest.mark.parametrize(
    "options",
    [
        {"on_disconnect": "cancel"},
        {"on_disconnect": "continue"},
        {"stream_resumable": True},
        {"stream_resumable": False},
        {"on_completion": "keep"},
        {"multitask_strategy": "enqueue"},
        {"multitask_strategy": "interrupt"},
        {"multitask_strategy": "rollback"},
        {"durability": "async"},
        {"durability": "sync"},
        {"checkpoint_during": True},
        {"checkpoint_during": False},
        {"config": {"tags": ["a"], "recursion_limit": 50, "configurable": {}}},
        {"context": {}, "feedback_keys": [], "after_seconds": 0, "webhook": None, "checkpoint": None},
        {"checkpoint": {"thread_id": None, "checkpoint_ns": "", "checkpoint_id": None}},
        {"interrupt_before": [], "interrupt_after": None},
    ],
)
async def test_what_clients_send_along_is_taken(options):
    api = ChatApi()
    async with api.client() as client:
        answer = await stream(client, await a_thread(client), input=HI, **options)

    assert events_in(answer.text)[-1].data["status"] == "success"


async def test_interrupt_before_every_node():
    api = ChatApi()
    async with api.client() as client:
        answer = await stream(client, await a_thread(client), input=HI, interrupt_before="*")

    assert events_in(answer.text)[-1].data["status"] == "interrupted"


def test_every_option_of_the_body_is_in_the_table():
    """Silent acceptance is what clients suffer from elsewhere."""
    named = {rule.option.partition(".")[0] for rule in RULES}

    assert named == set(RunCreate.model_fields)
    assert all(rule.meaning for rule in RULES)
    assert {rule.treatment for rule in RULES} == set(Treatment)


async def test_options_and_values_that_the_table_honours_have_an_effect():
    """Durability async leaves a checkpoint a step, exit one a turn."""
    api = ChatApi()
    counts = {}
    async with api.client() as client:
        for durability in ("exit", "async"):
            thread = await a_thread(client)
            await stream(client, thread, input=HI, durability=durability)
            counts[durability] = len((await client.get(f"/threads/{thread}/history")).json())

    assert counts["exit"] == 2
    assert counts["async"] > 1
