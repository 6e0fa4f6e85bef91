import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.domain.counters import ROUTER_FAILED
from shared.domain.errors import ModelThrottledError
from shared.graphs.agent.agents import enabled_agents
from shared.graphs.agent.nodes.router import keyword_routing
from tests.fakes.agent_turns import USER, Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel, routed_to
from tests.fakes.summary_entries import summary_entry

ALL = ("chat", "weather", "crypto", "code")
NAMED = {"title": "Named already"}


def turns_with(*fast: Any, **settings: Any) -> Turns:
    return Turns(fast=ScriptedChatModel(*fast), settings=chat_settings(agents=ALL, **settings))


@pytest.mark.parametrize(
    ("question", "agent", "key"),
    [
        ("What will the weather be tomorrow?", "weather", "weather"),
        ("WEATHER FORECAST for Bonn", "weather", "weather forecast"),
        ("Is bitcoin up?", "crypto", "bitcoin"),
        ("btc?", "crypto", "btc"),
        ("Here is a traceback", "code", "traceback"),
        ("```py\n1/0", "code", "```"),
    ],
)
def test_a_keyword_decides(question: str, agent: str, key: str) -> None:
    """G29."""
    assert keyword_routing(enabled_agents(ALL), question) == {"agent": agent, "source": "keyword", "matchedKey": key}


@pytest.mark.parametrize(
    "question",
    ["Hello", "I am under the weathering roof", "btcx", "Does the weather move the price of bitcoin?", ""],
)
def test_no_keyword_or_those_of_two_agents_decide_nothing(question: str) -> None:
    assert keyword_routing(enabled_agents(ALL), question) is None


async def test_with_a_keyword_no_model_is_asked() -> None:
    """G29."""
    turns = turns_with()
    thread = await turns.thread(**NAMED)

    await thread.say("How is the weather?")

    assert not turns.fast.requests
    assert (await thread.state())["routing"] == {"agent": "weather", "source": "keyword", "matchedKey": "weather"}
    assert "specialist for the weather" in turns.chat.requests[0].system


@pytest.mark.parametrize("agent", ALL)
async def test_without_one_the_fast_model_picks(agent: str) -> None:
    """G03, G29."""
    turns = turns_with(routed_to(agent))
    thread = await turns.thread(**NAMED)
    nodes = [
        node async for namespace, _, update in thread.stream("Hello", ["updates"]) if not namespace for node in update
    ]

    assert nodes == ["router", "rename_thread", f"{agent}_agent", "trigger_background_agent"]
    assert (await thread.state())["routing"] == {"agent": agent, "source": "model", "matchedKey": None}


async def test_the_model_is_told_who_there_is() -> None:
    turns = turns_with(routed_to("chat"))

    await (await turns.thread(**NAMED)).say("Hello")

    for spec in enabled_agents(ALL):
        assert f"{spec.name}: {spec.description}" in turns.fast.requests[0].system


@pytest.mark.parametrize(
    "step",
    [
        ModelThrottledError("busy"),
        RuntimeError("a bug"),
        routed_to("poet"),
        "I think weather",
        Say(calls=[("Route", {})]),
        Say(calls=[("Route", {"agent": None})]),
    ],
    ids=str,
)
async def test_whatever_fails_the_chat_agent_takes_the_turn(step: Any) -> None:
    """G05, decision 11."""
    turns = turns_with(step)
    thread = await turns.thread(**NAMED)

    messages = await thread.say("Hello")

    assert messages[-1].text == "ok"
    assert (await thread.state())["routing"] == {"agent": "chat", "source": "fallback", "matchedKey": None}
    assert turns.metrics.counts[ROUTER_FAILED] == 1


async def test_a_router_that_hangs_is_not_waited_for() -> None:
    async def for_ever(_place: int) -> None:
        await asyncio.Event().wait()

    turns = turns_with(Say("never", before_token=for_ever), router_seconds=0.01)
    thread = await turns.thread(**NAMED)

    assert (await thread.say("Hello"))[-1].text == "ok"
    assert (await thread.state())["routing"]["source"] == "fallback"


async def test_each_turn_is_routed_anew() -> None:
    turns = turns_with(routed_to("crypto"), routed_to("chat"))
    thread = await turns.thread(**NAMED)

    await thread.say("Hello")
    await thread.say("And now?")

    assert (await thread.state())["routing"]["agent"] == "chat"


async def test_a_decision_for_an_agent_that_is_gone_goes_to_chat() -> None:
    """G05: a thread may carry what another deployment decided."""
    turns = turns_with()
    thread = await turns.thread(**NAMED)
    await thread.graph.aupdate_state(
        await thread.config(),
        {"messages": [HumanMessage("Hello")], "routing": {"agent": "poet", "source": "model", "matchedKey": None}},
        as_node="router",
    )

    nodes = [
        node async for namespace, _, update in thread.stream(None, ["updates"]) if not namespace for node in update
    ]

    assert nodes == ["rename_thread", "chat_agent", "trigger_background_agent"]


async def test_the_model_sees_the_conversation_without_tools_files_and_what_summaries_hold() -> None:
    """G30."""
    turns = turns_with(routed_to("chat"), memory_thread_messages_buffer_recent_turns=0)
    thread = await turns.thread(**NAMED)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    await thread.graph.aupdate_state(
        await thread.config(),
        {
            "messages": [
                HumanMessage("Long ago", id="h1"),
                AIMessage("Indeed", id="a1"),
                HumanMessage("What was it like?", id="h2"),
                AIMessage("Looking…", id="a2", tool_calls=[{"name": "get_weather", "args": {}, "id": "c1"}]),
                ToolMessage("12 degrees", id="t2", tool_call_id="c1"),
                AIMessage([{"type": "text", "text": "Mild."}], id="a3"),
            ]
        },
        as_node="trigger_background_agent",
    )
    turns.summaries.plant(USER, summary_entry(thread.id, ["h1"]))

    await thread.say(HumanMessage([{"type": "text", "text": "And this?"}, picture]))

    assert [(message.type, message.content) for message in turns.fast.requests[0].history] == [
        ("human", "What was it like?"),
        ("ai", "Mild."),
        ("human", "And this?\n[image]"),
    ]


async def test_the_routers_words_are_not_streamed() -> None:
    """G10's tag on the router."""
    turns = turns_with(routed_to("chat"))
    thread = await turns.thread(**NAMED)

    streamed = [data async for _, _, data in thread.stream("Hello")]

    assert [message.text for message, _ in streamed if message.text] == ["ok"]
    assert {metadata["langgraph_node"] for _, metadata in streamed} == {"model"}
