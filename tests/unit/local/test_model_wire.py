"""The local model speaks Bedrock's wire: proven with botocore's own parser and langchain-aws."""

import asyncio
from contextlib import closing

import pytest
from botocore.exceptions import ClientError, EventStreamError
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel
from urllib3.exceptions import ProtocolError

from local.model.demo.source import DemoSource
from local.model.reply import Finish
from local.model.script import Failure, Match, Reply, Script, ScriptedCall
from local.model.scripted import ScriptedSource
from tests.unit.local.serve import MODEL_ID, bedrock, chat_model

USER = [{"role": "user", "content": [{"text": "hello"}]}]
TOOL = {"toolSpec": {"name": "add", "description": "Adds.", "inputSchema": {"json": {"type": "object"}}}}


def scripted(*replies: Reply, **match) -> ScriptedSource:
    source = ScriptedSource(DemoSource(pause=0))
    if replies:
        source.add(Script(match=Match(**match), replies=list(replies)))
    return source


async def stream_of(client, messages=USER, **more) -> list[dict]:
    def read() -> list[dict]:
        with closing(client.converse_stream(modelId=MODEL_ID, messages=messages, **more)["stream"]) as stream:
            return list(stream)

    return await asyncio.to_thread(read)


async def converse(client, messages=USER, **more) -> dict:
    return await asyncio.to_thread(lambda: client.converse(modelId=MODEL_ID, messages=messages, **more))


async def test_stream_has_bedrocks_events_in_bedrocks_order():
    reply = Reply(text="One two", tool_calls=[ScriptedCall(name="add", arguments={"a": 1, "ü": "é"})])
    async with bedrock(scripted(reply)) as client:
        events = await stream_of(client, toolConfig={"tools": [TOOL]})
    assert [next(iter(event)) for event in events] == [
        "messageStart",
        "contentBlockDelta",
        "contentBlockDelta",
        "contentBlockStop",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]
    assert events[1]["contentBlockDelta"] == {"delta": {"text": "One "}, "contentBlockIndex": 0}
    assert events[4]["contentBlockStart"]["start"]["toolUse"]["name"] == "add"
    assert events[5]["contentBlockDelta"] == {
        "delta": {"toolUse": {"input": '{"a": 1, "ü": "é"}'}},
        "contentBlockIndex": 1,
    }
    assert events[7]["messageStop"]["stopReason"] == "tool_use"
    assert events[8]["metadata"]["usage"]["outputTokens"] > 0


async def test_converse_collects_text_and_tool_calls():
    reply = Reply(text="One two", tool_calls=[ScriptedCall(name="add", arguments={"a": 1}, tool_use_id="t1")])
    async with bedrock(scripted(reply)) as client:
        answer = await converse(client, toolConfig={"tools": [TOOL]})
    assert answer["output"]["message"]["content"] == [
        {"text": "One two"},
        {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}},
    ]
    assert answer["stopReason"] == "tool_use"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("AccessDeniedException", 403),
        ("ModelTimeoutException", 408),
        ("ServiceUnavailableException", 503),
        ("ThrottlingException", 429),
        ("ValidationException", 400),
    ],
)
async def test_failure_before_the_first_token_is_an_http_error(code, status):
    async with bedrock(scripted(Reply(failure=Failure(code=code, message="No.")), Reply(text="never"))) as client:
        with pytest.raises(ClientError) as raised:
            await stream_of(client)
    assert raised.value.response["Error"] == {"Code": code, "Message": "No."}
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


@pytest.mark.parametrize(
    ("code", "in_stream"),
    [
        ("ThrottlingException", "throttlingException"),
        ("ServiceUnavailableException", "serviceUnavailableException"),
        ("ModelTimeoutException", "modelStreamErrorException"),
    ],
)
async def test_failure_after_a_token_is_an_exception_frame(code, in_stream):
    async with bedrock(scripted(Reply(text="One two three", failure=Failure(before=2, code=code)))) as client:
        seen: list[dict] = []

        def read() -> None:
            with closing(client.converse_stream(modelId=MODEL_ID, messages=USER)["stream"]) as stream:
                seen.extend(stream)

        with pytest.raises(EventStreamError) as raised:
            await asyncio.to_thread(read)
    assert raised.value.response["Error"]["Code"] == in_stream
    assert [e["contentBlockDelta"]["delta"]["text"] for e in seen if "contentBlockDelta" in e] == ["One ", "two "]


async def test_cut_connection_is_no_end_of_stream():
    async with bedrock(scripted(Reply(text="One two three", failure=Failure(before=1, cut=True)))) as client:
        with pytest.raises(ProtocolError, match="prematurely"):
            await stream_of(client)


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([], id="none"),
        pytest.param([{"role": "assistant", "content": [{"text": "a"}]}], id="assistant first"),
        pytest.param([*USER, *USER], id="roles do not alternate"),
        pytest.param([{"role": "user", "content": [{"text": " "}]}], id="blank text"),
        pytest.param(
            [{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "a"}]}}]}],
            id="result without call",
        ),
        pytest.param(
            [{"role": "user", "content": [{"text": "a"}, *[{"cachePoint": {"type": "default"}}] * 5]}],
            id="five cache points",
        ),
    ],
)
async def test_what_bedrock_refuses_is_refused(messages):
    async with bedrock(scripted()) as client:
        with pytest.raises(ClientError) as raised:
            await converse(client, messages)
    assert raised.value.response["Error"]["Code"] == "ValidationException"


async def test_prefix_up_to_a_cache_point_is_read_from_cache_the_second_time():
    system = [{"text": "base " * 400}, {"cachePoint": {"type": "default"}}]
    async with bedrock(scripted()) as client:
        first = (await converse(client, system=system))["usage"]
        second = (await converse(client, [{"role": "user", "content": [{"text": "other"}]}], system=system))["usage"]
    assert first["cacheReadInputTokens"] == 0
    assert first["cacheWriteInputTokens"] == second["cacheReadInputTokens"] > 400
    assert second["cacheWriteInputTokens"] == 0


async def test_invoke_model_says_that_it_is_not_there():
    async with bedrock(scripted()) as client:
        with pytest.raises(ClientError) as raised:
            await asyncio.to_thread(lambda: client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=b"{}"))
    assert raised.value.response["Error"]["Code"] == "ValidationException"


class Joke(BaseModel):
    """A joke."""

    setup: str
    funny: bool


async def test_langchain_streams_word_by_word():
    async with chat_model(scripted(Reply(text="One two three"))) as model:
        chunks = [chunk async for chunk in model.astream([SystemMessage("s"), HumanMessage("hello")])]
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert texts == ["One ", "two ", "three"]
    assert sum((c.usage_metadata or {"output_tokens": 0})["output_tokens"] for c in chunks) > 0


async def test_langchain_calls_tools_and_sends_their_results():
    source = scripted(
        Reply(text="Let me see.", tool_calls=[ScriptedCall(name="add", arguments={"a": 1, "b": [2, 3]})]),
        Reply(text="Six."),
    )
    async with chat_model(source) as model:
        bound = model.bind_tools(
            [{"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}}]
        )
        asked = HumanMessage("What is it?")
        call: AIMessage | None = None
        async for chunk in bound.astream([asked]):
            call = chunk if call is None else call + chunk
        assert call is not None
        (made,) = call.tool_calls
        assert (made["name"], made["args"]) == ("add", {"a": 1, "b": [2, 3]})
        answer = await bound.ainvoke([asked, call, ToolMessage("6", tool_call_id=made["id"])])
    assert answer.text == "Six."
    assert source.requests[-1].body["messages"][-1]["content"][0]["toolResult"]["content"] == [{"text": "6"}]


@pytest.mark.parametrize("method", ["json_schema", "function_calling"])
async def test_langchain_gets_structured_output_both_ways(method):
    source = scripted(Reply(structured={"setup": "Knock", "funny": True}), kind="object", field="setup")
    async with chat_model(source) as model:
        joke = await model.with_structured_output(Joke, method=method).ainvoke([HumanMessage("A joke")])
    assert joke == Joke(setup="Knock", funny=True)


async def test_source_that_says_nothing_is_an_error_and_no_empty_stream():
    class Silent:
        async def reply(self, request):
            for part in ():
                yield part

    async with bedrock(Silent()) as client:
        with pytest.raises(ClientError) as raised:
            await stream_of(client)
    assert raised.value.response["Error"]["Code"] == "InternalServerException"


async def test_finish_without_text_is_an_empty_answer():
    class Empty:
        async def reply(self, request):
            yield Finish()

    async with bedrock(Empty()) as client:
        events = await stream_of(client)
    assert [next(iter(event)) for event in events] == ["messageStart", "messageStop", "metadata"]
