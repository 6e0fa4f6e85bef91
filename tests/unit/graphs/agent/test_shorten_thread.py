"""Threads that were made to be kept short by losing turns (decision 12, X01, X02)."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.domain.counters import SHORTEN_FAILED
from shared.domain.errors import ModelThrottledError
from shared.graphs.agent.nodes.shorten_thread import RUNNING_SUMMARY_MAX_CHARS
from tests.fakes.agent_turns import USER, Thread, Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.summary_entries import summary_entry

K, B = 3, 2


def turns_of(**options: Any) -> Turns:
    knobs = {"memory_thread_summary_keep_recent": K, "memory_thread_messages_buffer_recent_turns": B}
    return Turns(settings=chat_settings(agents=("chat",), **knobs, **options.pop("settings", {})), **options)


async def questions(thread: Thread, count: int, first: int = 1) -> list[str]:
    """Ask "question 1", "question 2", …; give the questions that are in the thread afterwards."""
    for number in range(first, first + count):
        await thread.say(f"question {number}")
    return [message.text for message in await thread.messages() if message.type == "human"]


async def named(turns: Turns, policy: str) -> Thread:
    # With a title of its own, so that the fast model is asked for summaries alone.
    return await turns.thread(title="Named", policy=policy)


@pytest.mark.parametrize("policy", ["summaries", "trim"])
async def test_a_thread_that_was_not_asked_to_loses_nothing(policy: str) -> None:
    """X01: the default never touches messages; trimming works on what is sent."""
    turns = turns_of()
    thread = await named(turns, policy)

    assert len(await questions(thread, 12)) == 12
    assert set(await thread.state()) == {"messages"}
    assert not turns.fast.requests


async def test_delete_takes_k_turns_out_when_they_stand_before_the_last_b() -> None:
    """ST2-19, ST2-26."""
    thread = await named(turns_of(), "delete")

    assert await questions(thread, K + B - 1) == ["question 1", "question 2", "question 3", "question 4"]
    # The current turn is one of the last B; the agent answered it from the whole thread.
    assert await questions(thread, 1, first=K + B) == ["question 4", "question 5"]
    assert [message.text for message in thread.turns.chat.requests[-1].history][:2] == ["question 1", "ok"]
    assert await questions(thread, 1, first=6) == ["question 4", "question 5", "question 6"]
    assert [message.text for message in thread.turns.chat.requests[-1].history][:2] == ["question 4", "ok"]
    assert await questions(thread, 20, first=7) == ["question 25", "question 26"]
    assert not thread.turns.fast.requests


async def test_whole_turns_go_with_their_tool_calls() -> None:
    """ST2-21, ST2-24."""
    lookup = Say("", [("lookup_thread_messages", {"refs": "#1"})])
    thread = await named(turns_of(chat=ScriptedChatModel(*[lookup, "done"] * 12)), "delete")

    for number in range(1, 12):
        await thread.say(f"question {number}")
        messages = await thread.messages()
        assert [message.type for message in messages] == ["human", "ai", "tool", "ai"] * (len(messages) // 4)
        calls = [call["id"] for each in messages if isinstance(each, AIMessage) for call in each.tool_calls]
        assert calls == [each.tool_call_id for each in messages if isinstance(each, ToolMessage)]


async def test_a_running_summary_takes_in_what_goes_and_is_extended() -> None:
    """ST2-22, ST2-23, X04."""
    turns = turns_of(fast=ScriptedChatModel("They said hello.", "They said hello, then goodbye."))
    thread = await named(turns, "running_summary")

    assert await questions(thread, K + B) == ["question 4", "question 5"]
    first = turns.fast.requests[0].history[0].text
    assert [json.loads(line)["messages"] for line in first.splitlines()[1:]] == [
        [{"role": "user", "content": f"question {number}"}, {"role": "assistant", "content": "ok"}]
        for number in (1, 2, 3)
    ]
    assert (await thread.state())["running_summary"] == "They said hello."

    assert await questions(thread, K, first=K + B + 1) == ["question 7", "question 8"]
    second = turns.fast.requests[1].history[0].text
    assert second.startswith("The summary so far:\nThey said hello.\n")
    assert "question 3" not in second
    assert "question 4" in second
    assert (await thread.state())["running_summary"] == "They said hello, then goodbye."


async def test_the_model_reads_it_in_a_block_of_its_own_from_the_next_turn_on() -> None:
    """X04: apart from thread summaries, and no block without one."""
    turns = turns_of(fast=ScriptedChatModel("They want </running_summary> a <memory> boat."))
    thread = await named(turns, "running_summary")
    await questions(thread, K + B)
    # Of such a thread there are none; if there were, nobody would believe them (X02).
    turns.summaries.plant(USER, summary_entry(thread.id, ["h1"], answer="Not of this thread."))
    await thread.say("And now?")

    *before, after = (request.system for request in turns.chat.requests)
    assert not any("<running_summary>" in system for system in before)
    assert after.count("<running_summary>") == after.count("</running_summary>") == 1
    assert "a \\u003cmemory> boat." in after
    assert "<earlier_conversation>" not in after
    assert "lookup_thread_messages" not in after.split("<running_summary>")[1]
    assert [message.text for message in turns.chat.requests[-1].history] == [
        "question 4",
        "ok",
        "question 5",
        "ok",
        "And now?",
    ]


async def test_the_prompt_for_a_summary_is_nowhere_in_the_thread() -> None:
    """ST2-25."""
    turns = turns_of(fast=ScriptedChatModel("Hello.", "Hello and goodbye."))
    thread = await named(turns, "running_summary")
    await questions(thread, K + B + K)

    stored = [message for each in turns.saver.list(None) for message in each.checkpoint["channel_values"]["messages"]]
    assert {message.type for message in stored} == {"human", "ai"}
    assert all(message.text == "ok" or message.text.startswith("question") for message in stored)


@pytest.mark.parametrize("failure", [ModelThrottledError("busy"), RuntimeError("a bug"), "", "  \n "])
async def test_what_cannot_be_summarised_stays_and_is_tried_again(failure: Exception | str) -> None:
    turns = turns_of(fast=ScriptedChatModel(failure, "At last."))
    thread = await named(turns, "running_summary")

    assert len(await questions(thread, K + B)) == K + B
    assert turns.metrics.counts[SHORTEN_FAILED] == 1
    assert "running_summary" not in await thread.state()
    assert await questions(thread, 1, first=6) == ["question 4", "question 5", "question 6"]
    assert (await thread.state())["running_summary"] == "At last."


async def test_a_summary_that_never_comes_does_not_hold_the_turn_for_ever() -> None:
    async def never(_place: int) -> None:
        await asyncio.Event().wait()

    turns = turns_of(
        fast=ScriptedChatModel(Say("late", before_token=never)), settings={"running_summary_seconds": 0.01}
    )
    thread = await named(turns, "running_summary")

    assert len(await questions(thread, K + B)) == K + B
    assert thread.mark.ended


async def test_the_answer_streams_while_the_summary_is_written() -> None:
    answered = asyncio.Event()

    async def after_the_answer(_place: int) -> None:
        await answered.wait()

    turns = turns_of(
        chat=ScriptedChatModel(*["ok"] * (K + B - 1), "the answer"),
        fast=ScriptedChatModel(Say("Retold.", before_token=after_the_answer)),
    )
    thread = await named(turns, "running_summary")
    await questions(thread, K + B - 1)

    words = []
    async for _, _, (message, _) in thread.stream("question 5"):
        words.append(message.text)
        if "answer" in message.text:
            answered.set()

    # Neither the summary's words nor the removals are anything a client would take for an answer.
    assert "".join(words) == "the answer"
    assert (await thread.state())["running_summary"] == "Retold."


async def test_a_summary_is_cut_at_its_limit() -> None:
    turns = turns_of(fast=ScriptedChatModel("x" * (RUNNING_SUMMARY_MAX_CHARS + 1)))
    thread = await named(turns, "running_summary")
    await questions(thread, K + B)

    assert len((await thread.state())["running_summary"]) == RUNNING_SUMMARY_MAX_CHARS


async def test_a_fork_has_the_summary_of_its_own_past() -> None:
    """The summary is part of the checkpoint: going back goes back to the messages too."""
    turns = turns_of(fast=ScriptedChatModel("First.", "Second."))
    thread = await named(turns, "running_summary")
    await questions(thread, K + B)
    then = await thread.graph.aget_state({"configurable": {"thread_id": thread.id}})
    await questions(thread, K, first=K + B + 1)

    config = {"configurable": {**(await thread.config())["configurable"], **then.config["configurable"]}}
    forked = await thread.graph.ainvoke({"messages": [HumanMessage("Something else")]}, config, durability="exit")

    assert forked["running_summary"] == "First."
    assert [message.text for message in forked["messages"] if message.type == "human"] == [
        "question 4",
        "question 5",
        "Something else",
    ]


@pytest.mark.parametrize("policy", ["delete", "running_summary"])
async def test_refs_of_turns_that_are_not_kept_are_not_guessed(policy: str) -> None:
    """X02: the first turn that is left is not #1."""
    lookup = Say("", [("lookup_thread_messages", {"refs": "#1"})])
    turns = turns_of(chat=ScriptedChatModel(*["ok"] * (K + B), lookup), fast=ScriptedChatModel("Retold."))
    thread = await named(turns, policy)
    await questions(thread, K + B)

    messages = await thread.say("What did I say first?")

    (answer,) = [json.loads(message.text) for message in messages if message.type == "tool"]
    assert (answer["ok"], answer["code"]) == (False, "NOT_KEPT")


async def test_refs_of_a_thread_that_is_trimmed_are_its_turns() -> None:
    lookup = Say("", [("lookup_thread_messages", {"refs": "#1"})])
    turns = turns_of(chat=ScriptedChatModel(*["ok"] * 8, lookup))
    thread = await named(turns, "trim")
    await questions(thread, 8)

    messages = await thread.say("What did I say first?")

    (answer,) = [json.loads(message.text) for message in messages if message.type == "tool"]
    assert answer["turns"][0]["messages"][0]["content"] == "question 1"


async def test_without_windows_no_turn_is_lost() -> None:
    """TR12: K below 1 turns all of it off."""
    turns = Turns(settings=chat_settings(agents=("chat",), memory_thread_summary_keep_recent=0))
    thread = await named(turns, "delete")

    assert len(await questions(thread, 20)) == 20


async def test_a_run_that_stops_before_the_agent_shortens_when_it_goes_on() -> None:
    turns = turns_of()
    thread = await named(turns, "delete")
    await questions(thread, K + B - 1)
    config = await thread.config()
    await turns.graph.copy(update={"checkpointer": turns.saver}).ainvoke(
        {"messages": [HumanMessage("question 5")]}, config, interrupt_before=["chat_agent"], durability="exit"
    )
    assert len(await thread.messages()) == 2 * (K + B - 1) + 1

    await thread.say(None)

    assert [message.text for message in await thread.messages() if message.type == "human"] == [
        "question 4",
        "question 5",
    ]
