"""Neither what a model refuses nor what it makes up stands in a thread's way."""

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.domain.errors import ModelRefusedError
from shared.domain.history import LEFT_OUT
from tests.fakes.agent_turns import USER, Turns
from tests.fakes.chat_model import Request, Say, ScriptedChatModel
from tests.fakes.images import png

PICTURE = {"type": "image", "base64": png(), "mime_type": "image/png"}
SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


def looking() -> HumanMessage:
    return HumanMessage([{"type": "text", "text": "What is it?"}, PICTURE], id="q1")


def refusing_pictures(request: Request) -> str:
    if any(PICTURE in list(message.content) for message in request.history):
        raise ModelRefusedError("no")
    return "Hello."


def refusing(word: str) -> Any:
    def answer(request: Request) -> str:
        if any(word in message.text for message in request.history):
            raise ModelRefusedError("no")
        return "Hello."

    return answer


async def test_a_picture_that_was_refused_is_not_sent_again_and_stays_in_the_thread() -> None:
    turns = Turns(chat=ScriptedChatModel(refusing_pictures, refusing_pictures, refusing_pictures))
    thread = await turns.thread()
    with pytest.raises(ModelRefusedError):
        await thread.say(looking())

    messages = await thread.say("Are you there?")

    assert [message.text for message in messages] == ["What is it?", "Are you there?", "Hello."]
    assert messages[0].content == looking().content
    sent = turns.chat.requests[-1].history[0].content
    assert sent == [{"type": "text", "text": "What is it?"}, {"type": "text", "text": f"[image] ({LEFT_OUT})"}]
    assert len(turns.chat.requests) == 2


async def test_a_picture_that_the_model_saw_is_sent_again() -> None:
    turns = Turns(chat=ScriptedChatModel("A dot."))
    thread = await turns.thread()
    await thread.say(looking())

    await thread.say("Sure?")

    assert PICTURE in turns.chat.requests[-1].history[0].content


async def test_two_messages_of_one_run_are_both_sent_as_they_are() -> None:
    turns = Turns()
    thread = await turns.thread()
    config = await thread.config()
    config["configurable"]["asked"] = ("q1", "q2")
    await thread.graph.ainvoke({"messages": [looking(), HumanMessage("Well?", id="q2")]}, config)

    assert PICTURE in turns.chat.requests[-1].history[0].content


async def test_an_earlier_message_that_is_refused_for_its_words_does_not_block_the_thread() -> None:
    turns = Turns(chat=ScriptedChatModel("Fine.", *[refusing("forbidden")] * 4))
    thread = await turns.thread()
    await thread.say("Hi")
    with pytest.raises(ModelRefusedError):
        await thread.say("forbidden")
    asked = len(turns.chat.requests)

    messages = await thread.say("Go on")

    assert [message.text for message in messages] == ["Hi", "Fine.", "forbidden", "Go on", "Hello."]
    assert [message.text for message in turns.chat.requests[-1].history] == ["Hi", "Fine.", "Go on"]
    assert len(turns.chat.requests) - asked == 2


async def test_a_message_that_is_refused_for_itself_is_not_asked_twice() -> None:
    turns = Turns(chat=ScriptedChatModel(refusing("forbidden")))
    with pytest.raises(ModelRefusedError):
        await (await turns.thread()).say("forbidden")

    assert len(turns.chat.requests) == 1


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, float("nan"), float("-inf"), "\ud800", {"\udfff": 1}], ids=repr)
async def test_what_cannot_be_stored_is_not_saved_and_the_model_is_told(value: Any) -> None:
    patches = [{"op": "add", "path": "/number", "value": value}]
    turns = Turns(chat=ScriptedChatModel(Say("", [("save_memory", {"patches": patches})]), "Sorry."))
    thread = await turns.thread()

    messages = await thread.say("Remember my number")

    result = next(message for message in messages if isinstance(message, ToolMessage))
    assert result.status == "error"
    assert json.loads(result.text)["code"] == "BAD_REQUEST"
    assert "Nothing was done" in result.text
    assert (await turns.profiles.load(USER)).doc == {}
    assert messages[-1].text == "Sorry."
    assert SERDE.loads_typed(SERDE.dumps_typed(messages)) == messages


async def test_deep_arguments_are_refused_the_other_calls_are_carried_out() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    fine = {"patches": [{"op": "add", "path": "/city", "value": "Berlin"}]}
    turns = Turns(chat=ScriptedChatModel(Say("", [("save_memory", {"patches": deep}), ("save_memory", fine)]), "Done."))
    messages = await (await turns.thread()).say("Remember")

    assert [message.status for message in messages if isinstance(message, ToolMessage)] == ["error", "success"]
    assert (await turns.profiles.load(USER)).doc == {"city": "Berlin"}
    assert SERDE.loads_typed(SERDE.dumps_typed(messages)) == messages
