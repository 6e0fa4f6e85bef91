import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from shared.domain.errors import StoreError
from shared.graphs.agent.tools import common_tools
from tests.fakes.agent_turns import OTHER, USER, Thread, Turns
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.summary_entries import summary_entry


def looking_up(**args: Any) -> Turns:
    return Turns(chat=ScriptedChatModel("Nice to meet you.", Say("", [("lookup_thread_messages", args)]), "Done."))


async def result(thread: Thread) -> dict[str, Any]:
    """Run a first turn and one that looks up, and give what the tool answered."""
    await thread.say(HumanMessage("My cat is called Momo", id="h1"))
    messages = await thread.say("What was it called?")
    assert messages[-1].text == "Done."
    (message,) = [message for message in messages if isinstance(message, ToolMessage)]
    return json.loads(message.text)


async def test_gives_an_earlier_turn_word_for_word() -> None:
    """LK06, LK09, LK15."""
    answer = await result(await looking_up(refs="#1").thread())

    assert answer == {
        "ok": True,
        "queryRefs": "#1",
        "matchCount": 1,
        "turns": [
            {
                "ref": "#1",
                "messages": [
                    {"role": "user", "content": "My cat is called Momo"},
                    {"role": "assistant", "content": "Nice to meet you."},
                ],
            }
        ],
    }


async def test_tool_messages_are_shown_when_asked_for() -> None:
    """LK03, LK12: the turn that asks shows its own call."""
    answer = await result(await looking_up(refs=["#2"], includeToolMessages=True).thread())

    assert answer["turns"][0]["messages"][1]["toolCalls"] == [
        {"name": "lookup_thread_messages", "args": {"refs": ["#2"], "includeToolMessages": True}}
    ]


def test_its_arguments_are_the_seeds() -> None:
    """LK02, LK03."""
    _, tool, *_ = common_tools(Turns().deps)

    schema = convert_to_openai_tool(tool)["function"]["parameters"]

    assert set(schema["properties"]) == {"refs", "includeToolMessages"}
    assert schema["required"] == ["refs"]
    assert schema["properties"]["includeToolMessages"]["default"] is False


@pytest.mark.parametrize(("refs", "code"), [("abc", "BAD_REFS"), ("#99", "NOT_FOUND")])
async def test_what_cannot_be_found_is_told(refs: str, code: str) -> None:
    """LK05, LK10."""
    answer = await result(await looking_up(refs=refs).thread())

    assert (answer["ok"], answer["code"]) == (False, code)


async def test_arguments_of_another_kind_are_told() -> None:
    answer = await result(await looking_up(refs={"from": 1}).thread())

    assert (answer["ok"], answer["code"]) == (False, "BAD_REQUEST")


@pytest.mark.parametrize("missing", ["userId", "thread_id"])
async def test_without_user_or_thread_there_is_nothing_to_look_in(missing: str) -> None:
    """LK04."""
    turns = Turns(chat=ScriptedChatModel(Say("", [("lookup_thread_messages", {"refs": "#1"})]), "Done."))
    configurable = {"userId": USER, "thread_id": (await turns.thread()).id}
    del configurable[missing]

    after = await turns.graph.ainvoke({"messages": [HumanMessage("Hi")]}, {"configurable": configurable})

    (message,) = [message for message in after["messages"] if isinstance(message, ToolMessage)]
    assert json.loads(message.text)["ok"] is False


async def test_refs_are_resolved_by_id() -> None:
    """RF07: the summary calls h1 turn #4."""
    turns = looking_up(refs="#4")
    thread = await turns.thread()
    turns.summaries.plant(USER, summary_entry(thread.id, ["h1"], start=3))

    assert (await result(thread))["turns"][0]["messages"][0]["content"] == "My cat is called Momo"


async def test_turns_are_found_when_summaries_cannot_be_read() -> None:
    """LK07, HID-30."""
    turns = looking_up(refs="#1")
    turns.summaries.failure = StoreError("down")

    assert (await result(await turns.thread()))["ok"]


async def test_another_users_thread_cannot_be_named() -> None:
    """HID-12: there is no argument for it; what is not in this thread is not found."""
    turns = looking_up(refs="#1", thread_id="theirs", userId=OTHER)
    theirs = await turns.thread(OTHER)
    await theirs.graph.aupdate_state(
        await theirs.config(), {"messages": [HumanMessage("A secret")]}, as_node="trigger_background_agent"
    )

    answer = await result(await turns.thread())

    assert "A secret" not in json.dumps(answer)


async def test_looking_up_changes_nothing() -> None:
    """LK14."""
    turns = looking_up(refs="#1")
    thread = await turns.thread()
    await thread.say(HumanMessage("My cat is called Momo", id="h1"))
    before = await thread.messages()

    await thread.say("What was it called?")

    assert (await thread.messages())[: len(before)] == before
    assert turns.profiles.calls["save"] == 0
