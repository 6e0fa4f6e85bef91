import asyncio
import json
import logging
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from shared.domain.counters import MEMORY_SAVE_FAILED, TOOL_FAILED
from shared.domain.errors import StoreError, VersionConflictError
from shared.domain.profile import AccountOverlay
from shared.graphs.agent.agents import all_agents
from shared.graphs.agent.tools import common_tools
from tests.fakes.agent_turns import OTHER, USER, Thread, Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel

ADD_CITY = {"op": "add", "path": "/city", "value": "Berlin"}


def saving(*lists: list[dict[str, Any]], **settings: Any) -> Turns:
    """Give a product whose model calls the tool once with each list, all at once, then says "Done."."""
    calls = [("save_memory", {"patches": patches}) for patches in lists]
    return Turns(chat=ScriptedChatModel(Say("", calls), "Done."), settings=chat_settings(agents=("chat",), **settings))


async def results(thread: Thread, question: str = "Remember this") -> list[dict[str, Any]]:
    return [json.loads(message.text) for message in await tool_messages(thread, question)]


async def tool_messages(thread: Thread, question: str = "Remember this") -> list[ToolMessage]:
    messages = await thread.say(question)
    assert messages[-1].text == "Done."
    return [message for message in messages if isinstance(message, ToolMessage)]


async def saved(turns: Turns, user: Any = USER) -> dict[str, Any]:
    return (await turns.profiles.load(user)).doc


@pytest.mark.parametrize("agent", ["chat", "weather", "crypto", "code"])
async def test_every_agent_has_it(agent: str) -> None:
    """SM01, LK01, KB23."""
    turns = Turns(settings=chat_settings(agents=(agent,)))

    await (await turns.thread()).say("Hi")

    common = {"save_memory", "lookup_thread_messages", "search_knowledge_base", "list_documents"}
    assert common <= set(turns.chat.requests[0].tools)


async def test_there_is_no_tool_that_forgets() -> None:
    """SM26, decision 13."""
    turns = Turns(settings=chat_settings(agents=tuple(all_agents())))
    own = {tool.name for spec in all_agents().values() for tool in spec.tools(turns.deps)}

    names = own | {tool.name for tool in common_tools(turns.deps)}

    assert names == {
        "save_memory",
        "lookup_thread_messages",
        "search_knowledge_base",
        "list_documents",
        "get_weather",
        "get_crypto_price",
    }


async def test_saves_and_answers_with_the_diff() -> None:
    """SM02, SM15–SM19."""
    turns = saving([ADD_CITY, {"op": "replace", "path": "/city", "value": "Munich"}])
    thread = await turns.thread()
    thread.account = AccountOverlay(name="Lin")

    (message,) = await tool_messages(thread)

    assert message.status == "success"
    assert json.loads(message.text) == {
        "ok": True,
        "bytes": 17,
        "keyCount": 1,
        "before": {"name": "Lin"},
        "after": {"city": "Munich", "name": "Lin"},
        "patches": [
            {"op": "add", "path": "/city", "key": "city", "value": "Berlin"},
            {"op": "replace", "path": "/city", "key": "city", "oldValue": "Berlin", "value": "Munich"},
        ],
    }
    assert await saved(turns) == {"city": "Munich"}


async def test_notes_where_it_was_said() -> None:
    turns = saving([ADD_CITY])
    thread = await turns.thread()
    messages = await thread.say(HumanMessage("I live in Berlin", id="h-1"))

    origin = (await turns.profiles.load(USER)).origins["city"]

    assert (origin.thread_id, origin.human_message_id) == (thread.id, "h-1")
    assert origin.tool_call_id == messages[1].tool_calls[0]["id"]


async def test_keys_of_the_account_can_be_replaced() -> None:
    """SM07, SM12."""
    turns = saving([{"op": "replace", "path": "/name", "value": "Lin Wu"}])
    thread = await turns.thread()
    thread.account = AccountOverlay(name="Lin")

    (result,) = await results(thread)

    assert result["ok"]
    assert await saved(turns) == {"name": "Lin Wu"}


@pytest.mark.parametrize(
    "patches",
    [
        [{"op": "move", "path": "/a", "from": "/b"}],
        [{"op": "copy", "path": "/a", "from": "/b"}],
        [{"op": "test", "path": "/a", "value": 1}],
        *(
            [{"op": "add", "path": path, "value": 1}]
            for path in ("/0", "/a/b", "/", "role", "/../x", "/a.b", "/a b", "//a", "/~0a", "/" + "a" * 65)
        ),
        [{"op": "add", "path": "/a"}],
        [{"op": "remove", "path": "/a", "value": 1}],
        [ADD_CITY] * 51,
        "not a list",
        [{}],
    ],
    ids=lambda patches: json.dumps(patches)[:40],
)
async def test_arguments_that_do_not_fit_are_told_and_change_nothing(patches: Any) -> None:
    """SM03–SM06, HID-15."""
    turns = saving(patches)

    (message,) = await tool_messages(await turns.thread())

    result = json.loads(message.text)
    assert message.status == "error"
    assert (result["ok"], result["code"]) == (False, "BAD_REQUEST")
    assert "patches" in result["message"]
    assert turns.profiles.calls["save"] == 0


async def test_a_patch_that_does_not_fit_the_profile_is_told() -> None:
    """SM09, SM10."""
    turns = saving([ADD_CITY, {"op": "replace", "path": "/job", "value": "cook"}])

    (result,) = await results(await turns.thread())

    assert (result["ok"], result["code"]) == (False, "PATCH_FAILED")
    assert "/job" in result["message"]
    assert await saved(turns) == {}


async def test_a_profile_that_would_be_too_large_is_told_with_both_numbers() -> None:
    """SM13, SM23."""
    turns = saving([ADD_CITY], memory_profile_max_bytes=10)

    (result,) = await results(await turns.thread())

    assert result["code"] == "MEMORY_SIZE_EXCEEDED"
    assert (result["attemptedBytes"], result["maxBytes"]) == (17, 10)
    assert turns.profiles.calls["save"] == 0


@pytest.mark.parametrize("configurable", [{}, {"userId": ""}, {"userId": 42}, {"userId": None}, {"userId": "a.b"}])
async def test_without_an_identity_nothing_is_written(configurable: dict[str, Any]) -> None:
    """SM20."""
    turns = saving([ADD_CITY])

    after = await turns.graph.ainvoke({"messages": [HumanMessage("Hi")]}, {"configurable": configurable})

    (message,) = [message for message in after["messages"] if isinstance(message, ToolMessage)]
    assert json.loads(message.text)["code"] == "MISSING_USER_ID"
    assert not turns.profiles.calls


@pytest.mark.parametrize("step", ["load", "save"])
async def test_a_database_that_fails_is_told_and_the_turn_goes_on(step: str) -> None:
    """SM24, HID-30."""
    turns = saving([ADD_CITY])
    thread = await turns.thread()
    turns.profiles.failures[step] = StoreError("The profile could not be read or written.")

    (result,) = await results(thread)

    assert (result["ok"], result["code"]) == (False, "STORE_UNAVAILABLE")
    assert turns.metrics.counts[MEMORY_SAVE_FAILED] == 1
    turns.profiles.failures.clear()
    assert await saved(turns) == {}


async def test_a_race_that_is_lost_for_good_is_told() -> None:
    turns = saving([ADD_CITY])
    turns.profiles.failures["save"] = VersionConflictError("Somebody else wrote first.")

    (result,) = await results(await turns.thread())

    assert result["code"] == "VERSION_CONFLICT"


async def test_what_nobody_expected_says_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    turns = saving([ADD_CITY])
    thread = await turns.thread()
    turns.profiles.failures["save"] = RuntimeError("secret of the database")

    with caplog.at_level(logging.ERROR):
        (result,) = await results(thread)

    assert result["code"] == "INTERNAL"
    assert "secret" not in json.dumps(result)
    assert turns.metrics.counts[TOOL_FAILED] == 1
    assert "tool failed" in caplog.text


async def test_several_saves_in_one_answer_all_count() -> None:
    """HID-11."""
    turns = saving(*([{"op": "add", "path": f"/key_{n}", "value": n}] for n in range(8)))

    answers = await results(await turns.thread())

    assert all(answer["ok"] for answer in answers)
    assert await saved(turns) == {f"key_{n}": n for n in range(8)}
    assert all(f'"key_{n}"' in turns.chat.requests[1].system for n in range(8))


async def test_users_at_the_same_time_never_cross() -> None:
    """HID-13, ID01."""
    turns = Turns(
        chat=ScriptedChatModel(*[lambda request: _save_what_was_said(request.history[-1].text)] * 2, "Done.", "Done.")
    )
    mine, theirs = await turns.thread(), await turns.thread(OTHER)

    await asyncio.gather(mine.say("Berlin"), theirs.say("Oslo"))

    assert await saved(turns) == {"city": "Berlin"}
    assert await saved(turns, OTHER) == {"city": "Oslo"}


def _save_what_was_said(city: str) -> Say:
    return Say("", [("save_memory", {"patches": [{"op": "add", "path": "/city", "value": city}]})])


async def test_the_model_cannot_name_a_user() -> None:
    """ID02, SM02: identity is no argument."""
    turns = Turns()
    tool, *_ = common_tools(turns.deps)
    call = ("save_memory", {"patches": [ADD_CITY], "userId": OTHER, "runtime": {"config": {}}, "user": OTHER})
    turns.chat._script.extend([Say("", [call]), "Done."])

    (result,) = await results(await turns.thread())

    assert list(convert_to_openai_tool(tool)["function"]["parameters"]["properties"]) == ["patches"]
    assert result["ok"]
    assert await saved(turns) == {"city": "Berlin"}
    assert await saved(turns, OTHER) == {}


def test_the_model_is_told_what_to_save_and_what_not() -> None:
    """SM22."""
    tool, *_ = common_tools(Turns().deps)
    topics = [
        "durable",
        "passing matters",
        "infer or guess",
        "sensitive",
        "documents or web pages",
        "encoded data",
        "once per turn",
        "ask before",
        "One key per fact",
        "remove",
    ]

    assert [topic for topic in topics if topic not in " ".join(tool.description.split())] == []
