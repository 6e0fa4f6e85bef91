"""The agent graph on the real chat model adapter, against Bedrock's wire."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.model_input import arrangement
from shared.domain.errors import ModelThrottledError
from tests.fakes.agent_turns import USER, Turns, at_once, chat_settings
from tests.fakes.converse_wire import Answer, ConverseWire, Refuse, converse_wire

CHAT = "eu.anthropic.claude-sonnet-4-6"
FAST = "eu.amazon.nova-lite-v1:0"
POINT = {"cachePoint": {"type": "default"}}


@pytest.fixture
def chat() -> Iterator[ConverseWire]:
    with converse_wire() as wire:
        yield wire


@pytest.fixture
def fast() -> Iterator[ConverseWire]:
    with converse_wire() as wire:
        yield wire


@pytest.fixture
def turns(chat: ConverseWire, fast: ConverseWire) -> Turns:
    return Turns(
        chat=_model(chat, CHAT),
        fast=_model(fast, FAST),
        arrange=arrangement(CHAT),
        settings=chat_settings(agents=("chat", "weather", "crypto", "code")),
    )


def _model(wire: ConverseWire, model_id: str) -> Any:
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=wire.url,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )
    return chat_model(client, model_id, max_tokens=500, attempts=Attempts(most=2, pause=at_once))


async def test_a_turn_that_saves(turns: Turns, chat: ConverseWire, fast: ConverseWire) -> None:
    """Router, rename, tool loop and cache points as Bedrock sees them; words as the client sees them."""
    patches = [{"op": "add", "path": "/city", "value": "Berlin"}]
    chat.script = [Answer(["One ", "moment."], calls=[("save_memory", {"patches": patches})]), Answer(["No", "ted."])]
    fast.script = [Answer(calls=[("Route", {"agent": "chat"})]), Answer(["At home"])]
    thread = await turns.thread()

    streamed = [message async for _, _, (message, _) in thread.stream("I live in Berlin")]

    messages = await thread.messages()
    assert [message.text for message in messages if message.type == "ai"] == ["One moment.", "Noted."]
    assert {message.id for message in streamed} == {message.id for message in messages[1:]}
    assert "".join(message.text for message in streamed if message.id == messages[3].id) == "Noted."
    assert (await turns.profiles.load(USER)).doc == {"city": "Berlin"}
    assert (await turns.threads.get(USER, thread.id)).title == "At home"

    first, second = (asked.body for asked in chat.asked)
    assert first["system"][1:] == [POINT]
    assert first["messages"] == [{"role": "user", "content": [{"text": "I live in Berlin"}, POINT]}]
    assert '"city": "Berlin"' in second["system"][2]["text"]
    assert second["system"][3] == POINT
    assert [POINT in message["content"] for message in second["messages"]] == [True, False, True]
    (result, _) = second["messages"][2]["content"]
    assert (result["toolResult"]["toolUseId"], result["toolResult"]["status"]) == ("use-1", "success")


async def test_a_failed_save_reaches_the_model_as_an_error(turns: Turns, chat: ConverseWire) -> None:
    chat.script = [Answer(calls=[("save_memory", {"patches": [{"op": "remove", "path": "/nothing"}]})])]

    await (await turns.thread()).say("Forget it")

    (result, *_) = chat.asked[1].body["messages"][2]["content"]
    assert result["toolResult"]["status"] == "error"
    assert "PATCH_FAILED" in result["toolResult"]["content"][0]["text"]


async def test_the_second_turn_reads_back_what_the_first_one_stored(turns: Turns, chat: ConverseWire) -> None:
    chat.script = [Answer(["Hello"]), Answer(["Still here"])]
    thread = await turns.thread()
    await thread.say("Hi")

    await thread.say("Are you there?")

    assert chat.asked[1].body["messages"] == [
        {"role": "user", "content": [{"text": "Hi"}, POINT]},
        {"role": "assistant", "content": [{"text": "Hello"}]},
        {"role": "user", "content": [{"text": "Are you there?"}, POINT]},
    ]


async def test_a_model_that_stays_throttled_fails_the_turn_by_name(turns: Turns, chat: ConverseWire) -> None:
    chat.script = [Refuse(429, "ThrottlingException")] * 2
    thread = await turns.thread()

    with pytest.raises(ModelThrottledError):
        await thread.say("Hi")

    assert [message.text for message in await thread.messages()] == ["Hi"]
    assert not thread.mark.ended


async def test_a_call_that_was_cut_off_by_the_token_limit_is_not_carried_out(turns: Turns, chat: ConverseWire) -> None:
    patches = [{"op": "add", "path": "/motto", "value": "To be or"}]
    chat.script = [Answer(calls=[("save_memory", {"patches": patches})], stop="max_tokens")]

    await (await turns.thread()).say("Remember my motto")

    (result, *_) = chat.asked[1].body["messages"][2]["content"]
    assert result["toolResult"]["status"] == "error"
    assert (await turns.profiles.load(USER)).doc == {}
