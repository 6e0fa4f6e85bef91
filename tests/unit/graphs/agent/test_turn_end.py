import asyncio
from dataclasses import replace

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from shared.domain.errors import ModelThrottledError
from shared.graphs.agent import agents
from shared.graphs.agent.envelope import TurnMark
from tests.fakes.agent_turns import USER, Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel


async def test_a_turn_that_ended_is_marked_with_its_human_message() -> None:
    """G12, G13, ID04."""
    turns = Turns()
    thread = await turns.thread()
    await thread.say(HumanMessage("One", id="h1"))
    await thread.say(HumanMessage("Two", id="h2"))

    assert (thread.mark.ended, thread.mark.human_message_id, thread.mark.human_count) == (True, "h2", 2)


async def test_the_end_adds_nothing_to_the_thread_and_nothing_to_the_stream() -> None:
    """G12: an empty state update."""
    thread = await Turns().thread()
    updates = [update async for namespace, _, update in thread.stream("Hi", ["updates"]) if not namespace]

    assert updates[-1] == {"trigger_background_agent": None}
    assert len(await thread.messages()) == 2
    assert "turn_mark" not in repr(updates)


@pytest.mark.parametrize("missing", ["userId", "thread_id"])
async def test_without_user_or_thread_nothing_is_marked(missing: str) -> None:
    """G14."""
    turns = Turns()
    mark = TurnMark()
    configurable = {"userId": USER, "thread_id": (await turns.thread()).id, "turn_mark": mark}
    del configurable[missing]

    after = await turns.graph.ainvoke({"messages": [HumanMessage("Hi")]}, {"configurable": configurable})

    assert after["messages"][-1].text == "ok"
    assert not mark.ended


async def test_without_a_mark_the_turn_ends_all_the_same() -> None:
    turns = Turns()
    configurable = {"userId": USER, "thread_id": (await turns.thread()).id}

    after = await turns.graph.ainvoke({"messages": [HumanMessage("Hi")]}, {"configurable": configurable})

    assert after["messages"][-1].text == "ok"


async def test_a_thread_without_a_human_message_has_no_turn_to_end() -> None:
    mark = TurnMark()
    mark.set([])

    assert not mark.ended


async def test_a_failed_turn_has_not_ended_and_keeps_the_question() -> None:
    thread = await Turns(chat=ScriptedChatModel(ModelThrottledError("busy"), "Better now.")).thread()

    with pytest.raises(ModelThrottledError):
        await thread.say(HumanMessage("Hi", id="h1"))

    assert not thread.mark.ended
    assert [message.id for message in await thread.messages()] == ["h1"]
    # The thread is usable: the same turn can be run again.
    assert (await thread.say(None))[-1].text == "Better now."
    assert thread.mark.human_message_id == "h1"


async def test_a_cancelled_turn_has_not_ended_and_leaves_whole_steps_only() -> None:
    speaking = asyncio.Event()

    async def then_silence(place: int) -> None:
        if place == 1:
            speaking.set()
            await asyncio.Event().wait()

    thread = await Turns(chat=ScriptedChatModel(Say("Half an answer", before_token=then_silence), "Whole.")).thread()
    running = asyncio.create_task(thread.say(HumanMessage("Hi", id="h1")))
    await speaking.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert not thread.mark.ended
    assert [message.id for message in await thread.messages()] == ["h1"]
    assert (await thread.say("Again"))[-1].text == "Whole."


async def test_a_save_that_was_cancelled_is_whole_or_not_there() -> None:
    saving = asyncio.Event()

    class SlowProfiles(type(Turns().profiles)):
        async def save(self, *args: object) -> None:
            saving.set()
            await asyncio.Event().wait()

    patches = [{"op": "add", "path": "/city", "value": "Berlin"}]
    turns = Turns(chat=ScriptedChatModel(Say("", [("save_memory", {"patches": patches})])), profiles=SlowProfiles())
    thread = await turns.thread()
    running = asyncio.create_task(thread.say("I live in Berlin"))
    await saving.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await turns.profiles.load(USER)).doc == {}
    assert [message.type for message in await thread.messages()] == ["human"]


async def test_an_interrupted_turn_has_not_ended_until_it_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """G31."""

    @tool
    def ask_the_user(question: str) -> str:
        """Ask."""
        return f"They said {interrupt(question)}"

    asking = replace(agents.all_agents()["chat"], tools=lambda _deps: [ask_the_user])
    monkeypatch.setattr(agents, "all_agents", lambda: {"chat": asking})
    call = Say("", [("ask_the_user", {"question": "Sure?"})])
    turns = Turns(chat=ScriptedChatModel(call, "Then I do it."), settings=chat_settings(agents=("chat",)))
    thread = await turns.thread()

    await thread.say(HumanMessage("Do it", id="h1"))

    assert not thread.mark.ended
    snapshot = await thread.graph.aget_state({"configurable": {"thread_id": thread.id}})
    assert [each.value for each in snapshot.interrupts] == ["Sure?"]

    messages = await thread.say(Command(resume="yes"))

    assert [message.text for message in messages[2:]] == ["They said yes", "Then I do it."]
    assert thread.mark.human_message_id == "h1"
