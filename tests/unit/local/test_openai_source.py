"""The source behind which an OpenAI-compatible server stands, against one that plays back what such servers send."""

import json
from contextlib import asynccontextmanager

import httpx
import pytest

from local.loopback import NotLoopbackError
from local.model.openai import OpenAISource, chat_request
from local.model.reply import ModelFailure
from tests.unit.local.conversation import SAVE, answer, called, request


@asynccontextmanager
async def server(*chunks, status=200, error=None):
    sent = []

    def handle(asked: httpx.Request) -> httpx.Response:
        if error is not None:
            raise error
        sent.append(json.loads(asked.content))
        if status >= 400:
            return httpx.Response(status, json={"error": {"message": "no"}})
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return httpx.Response(200, text="".join([*lines, "data: [DONE]\n\n"]))

    async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
        yield OpenAISource("http://127.0.0.1:11434/v1", "small", client=client), sent


def delta(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def test_text_and_usage_are_passed_through():
    chunks = [delta(content="Hel"), delta(content="lo"), delta("stop"), {"choices": [], "usage": {"prompt_tokens": 7}}]
    async with server(*chunks) as (source, sent):
        assert await answer(source, request("Hi")) == ("Hello", [], "end_turn")
    assert sent[0]["model"] == "small"
    assert sent[0]["stream"] is True


async def test_tool_calls_in_fragments_are_put_together():
    chunks = [
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "save_memory", "arguments": '{"pat'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": 'ches": []}'}}]),
        delta(tool_calls=[{"index": 1, "id": "b", "function": {"name": "save_memory", "arguments": "{}"}}]),
        delta("tool_calls"),
    ]
    async with server(*chunks) as (source, _):
        answered = await answer(source, request("Hi"))
    assert answered == ("", [("save_memory", {"patches": []}), ("save_memory", {})], "tool_use")


async def test_whole_tool_call_without_index_and_with_stop_is_a_tool_call():
    chunk = delta("stop", tool_calls=[{"function": {"name": "save_memory", "arguments": "{}"}}])
    async with server(chunk) as (source, _):
        assert await answer(source, request("Hi")) == ("", [("save_memory", {})], "tool_use")


def test_conversation_is_translated_with_its_tool_results():
    asked = request(
        "Hi",
        *called("save_memory", {"patches": []}, {"ok": True}),
        profile={"name": "Ada"},
        tools=(SAVE,),
        inferenceConfig={"maxTokens": 5, "temperature": 0},
    )
    body = chat_request(asked, "small")
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert '"name": "Ada"' in body["messages"][0]["content"]
    (call,) = body["messages"][2]["tool_calls"]
    assert (call["id"], call["function"]["arguments"]) == ("t1", '{"patches": []}')
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "t1", "content": '{"ok": true}'}
    assert (body["max_tokens"], body["temperature"]) == (5, 0)
    assert body["tools"][0]["function"]["parameters"] == SAVE["schema"]


def test_structured_output_is_asked_for_both_ways():
    forced = request("Hi", tools=(SAVE,), toolConfig={"toolChoice": {"tool": {"name": "save_memory"}}})
    assert chat_request(forced, "m")["tool_choice"] == {"type": "function", "function": {"name": "save_memory"}}
    text_format = {"type": "json_schema", "structure": {"jsonSchema": {"schema": '{"type": "object"}'}}}
    formatted = chat_request(request("Hi", tools=(), outputConfig={"textFormat": text_format}), "m")
    assert formatted["response_format"]["json_schema"]["schema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "ThrottlingException"),
        (401, "AccessDeniedException"),
        (404, "ResourceNotFoundException"),
        (400, "ValidationException"),
        (500, "InternalServerException"),
    ],
)
async def test_servers_errors_are_bedrocks(status, code):
    async with server(status=status) as (source, _):
        with pytest.raises(ModelFailure) as raised:
            await answer(source, request("Hi"))
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (httpx.ConnectError("refused"), "ServiceUnavailableException"),
        (httpx.ReadTimeout("slow"), "ModelTimeoutException"),
        (httpx.RemoteProtocolError("cut"), "ModelStreamErrorException"),
    ],
)
async def test_server_that_is_not_there_is_said_so(error, code):
    async with server(error=error) as (source, _):
        with pytest.raises(ModelFailure) as raised:
            await answer(source, request("Hi"))
    assert raised.value.code == code


@pytest.mark.parametrize(
    "url",
    ["http://192.168.1.2/v1", "https://api.example.com/v1", "http://127.0.0.1.example.com/v1", "http://0.0.0.0/v1"],
)
def test_server_elsewhere_needs_permission(url):
    with pytest.raises(NotLoopbackError):
        OpenAISource(url, "small")
    OpenAISource(url, "small", allow_remote=True)
