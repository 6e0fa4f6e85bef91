import asyncio
from typing import Any

from langchain_core.messages import AIMessageChunk, HumanMessage

from tests.fakes.agent_turns import Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel, routed_to

ALL = ("chat", "weather", "crypto", "code")
SAVE = Say("One moment.", [("save_memory", {"patches": [{"op": "add", "path": "/city", "value": "Berlin"}]})])


async def test_streamed_words_carry_the_id_of_the_message_in_the_thread() -> None:
    """Otherwise a client shows every answer twice."""
    thread = await Turns(chat=ScriptedChatModel(SAVE, "All saved.")).thread()

    streamed = [message async for _, _, (message, _) in thread.stream("I live in Berlin")]

    _, first, result, last = await thread.messages()
    text: dict[Any, str] = {}
    for message in streamed:
        text[message.id] = text.get(message.id, "") + message.text
    assert text == {first.id: "One moment.", result.id: result.text, last.id: "All saved."}


async def test_each_message_is_streamed_once() -> None:
    thread = await Turns(chat=ScriptedChatModel("Hello there")).thread()

    streamed = [message async for _, _, (message, _) in thread.stream("Hi")]

    assert all(isinstance(message, AIMessageChunk) for message in streamed)
    assert "".join(message.text for message in streamed) == "Hello there"


async def test_words_come_while_the_model_speaks() -> None:
    """The model waits with each word until the one before was read."""
    read = asyncio.Semaphore(1)

    async def until_read(_place: int) -> None:
        await read.acquire()

    thread = await Turns(chat=ScriptedChatModel(Say("one two three", before_token=until_read))).thread()
    words = []
    async for _, _, (message, _) in thread.stream("Count"):
        if message.text:
            words.append(message.text)
            read.release()

    assert words == ["one", " two", " three"]


async def test_only_the_agents_words_are_streamed() -> None:
    """G10: neither the router's nor the title's."""
    turns = Turns(
        chat=ScriptedChatModel("The answer."),
        fast=ScriptedChatModel(routed_to("chat"), "A title"),
        settings=chat_settings(agents=ALL),
    )
    thread = await turns.thread()

    streamed = [data async for _, _, data in thread.stream("Hi")]

    assert "".join(message.text for message, _ in streamed) == "The answer."
    assert {metadata["langgraph_node"] for _, metadata in streamed} == {"model"}
    assert len(turns.fast.requests) == 2


async def test_an_agents_update_holds_what_is_new_and_not_the_whole_thread() -> None:
    thread = await Turns(chat=ScriptedChatModel("one", SAVE, "two")).thread()
    await thread.say("First")

    updates = {}
    async for namespace, _, update in thread.stream(HumanMessage("Second", id="h2"), ["updates"]):
        if not namespace:
            updates |= update

    assert [message.type for message in updates["chat_agent"]["messages"]] == ["ai", "tool", "ai"]


async def test_nothing_that_is_streamed_holds_an_object_of_the_run() -> None:
    turns = Turns(chat=ScriptedChatModel(SAVE, "Done."))
    thread = await turns.thread()
    modes = ["values", "updates", "messages", "custom", "tasks", "debug", "checkpoints"]

    parts = [part async for part in thread.stream("Hi", modes)]

    # The configuration itself is the one place where the envelope may be seen.
    seen = [(mode, data) for _, mode, data in parts if mode not in {"checkpoints", "debug"}]
    assert {mode for mode, _ in seen} >= {"values", "updates", "messages", "tasks"}
    assert "TurnMemory" not in repr(seen)
    assert "TurnMark" not in repr(seen)
