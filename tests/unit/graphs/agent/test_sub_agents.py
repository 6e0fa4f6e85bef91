import json
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.domain.counters import RECALL_DEGRADED
from shared.domain.errors import ModelError, StoreError
from shared.graphs.agent.agents import all_agents
from shared.graphs.agent.sub_agent import MAX_TOOL_ROUNDS, sub_agent, tool_rounds
from tests.fakes.agent_turns import Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel

LOOKUP = Say("", [("lookup_thread_messages", {"refs": "#1"})])


def no_network(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("There is no network.")


async def tool_results(turns: Turns) -> list[dict[str, Any]]:
    messages = await (await turns.thread()).say("Hi")
    return [json.loads(message.text) for message in messages if isinstance(message, ToolMessage)]


async def test_an_agent_is_a_graph_of_model_and_tools() -> None:
    """G04."""
    graph = sub_agent(all_agents()["chat"], Turns().deps).get_graph()

    assert {(edge.source, edge.target) for edge in graph.edges} == {
        ("__start__", "model"),
        ("model", "tools"),
        ("tools", "model"),
        ("model", "__end__"),
    }


async def test_one_tool_call_makes_two_model_calls() -> None:
    """G04."""
    turns = Turns(chat=ScriptedChatModel(LOOKUP, "Done."))

    messages = await (await turns.thread()).say("Hi")

    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert len(turns.chat.requests) == 2
    assert [message.type for message in turns.chat.requests[1].history] == ["human", "ai", "tool"]


async def test_a_tool_that_does_not_exist_is_told() -> None:
    turns = Turns(chat=ScriptedChatModel(Say("", [("forget_memory", {})]), "Done."))

    (result,) = await tool_results(turns)

    assert (result["ok"], result["code"]) == (False, "NO_SUCH_TOOL")
    assert "save_memory" in result["message"]


async def test_a_model_that_does_not_stop_calling_tools_is_told_to() -> None:
    turns = Turns(chat=ScriptedChatModel(*[LOOKUP] * (MAX_TOOL_ROUNDS + 1), "All right."))

    results = await tool_results(turns)

    assert [result["ok"] for result in results] == [True] * MAX_TOOL_ROUNDS + [False]
    assert results[-1]["code"] == "TOOL_LIMIT"


async def test_a_model_that_goes_on_all_the_same_fails_the_turn() -> None:
    turns = Turns(chat=ScriptedChatModel(*[LOOKUP] * 100))

    with pytest.raises(ModelError):
        await (await turns.thread()).say("Hi")

    assert len(turns.chat.requests) == MAX_TOOL_ROUNDS + 2


def test_rounds_are_counted_within_the_turn() -> None:
    call = AIMessage("", tool_calls=[{"name": "save_memory", "args": {}, "id": "c"}])

    assert tool_rounds([HumanMessage("1"), call, call, HumanMessage("2"), call, AIMessage("ok")]) == 1


@pytest.mark.parametrize(
    ("agent", "call"),
    [("weather", ("get_weather", {"place": "Berlin"})), ("crypto", ("get_crypto_price", {"coin": "BTC"}))],
)
async def test_without_a_network_the_model_reads_why(agent: str, call: tuple[str, dict[str, Any]]) -> None:
    """Decision 11."""
    turns = Turns(
        chat=ScriptedChatModel(Say("", [call]), "I cannot look it up at the moment."),
        settings=chat_settings(agents=(agent,)),
        transport=httpx.MockTransport(no_network),
    )

    (result,) = await tool_results(turns)

    assert (result["ok"], result["code"]) == (False, "SOURCE_UNAVAILABLE")


async def test_the_weather_agent_reads_the_weather() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/search":
            return httpx.Response(200, json={"results": [{"name": "Berlin", "latitude": 52.5, "longitude": 13.4}]})
        assert request.url.params["forecast_days"] == "2"
        body: dict[str, Any] = {"current_units": {}, "daily_units": {}, "daily": {}}
        return httpx.Response(200, json={**body, "current": {"temperature_2m": 11}})

    turns = Turns(
        chat=ScriptedChatModel(Say("", [("get_weather", {"place": "Berlin", "days": 2})]), "Mild."),
        settings=chat_settings(agents=("weather",)),
        transport=httpx.MockTransport(respond),
    )

    (result,) = await tool_results(turns)

    assert result["ok"]
    assert result["now"] == {"temperature_2m": 11}


async def test_the_crypto_agent_reads_prices() -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/search"):
            return httpx.Response(200, json={"coins": [{"id": "bitcoin", "name": "Bitcoin", "symbol": "BTC"}]})
        return httpx.Response(200, json={"bitcoin": {"usd": 64000}})

    turns = Turns(
        chat=ScriptedChatModel(Say("", [("get_crypto_price", {"coin": "btc"})]), "A lot."),
        settings=chat_settings(agents=("crypto",)),
        transport=httpx.MockTransport(respond),
    )

    (result,) = await tool_results(turns)

    assert (result["ok"], result["price"], result["currency"]) == (True, 64000, "usd")


@pytest.mark.parametrize("args", [{"place": ""}, {"place": "x" * 101}, {"place": "Berlin", "days": 99}, {}])
async def test_arguments_out_of_bounds_are_told(args: dict[str, Any]) -> None:
    turns = Turns(
        chat=ScriptedChatModel(Say("", [("get_weather", args)]), "Sorry."),
        settings=chat_settings(agents=("weather",)),
        transport=httpx.MockTransport(no_network),
    )

    (result,) = await tool_results(turns)

    assert result["code"] == "BAD_REQUEST"


@pytest.mark.parametrize("broken", [("profiles",), ("summaries",), ("profiles", "summaries", "threads")])
@pytest.mark.parametrize("error", [StoreError("down"), RuntimeError("a bug")])
async def test_memory_that_fails_never_fails_the_turn(broken: tuple[str, ...], error: Exception) -> None:
    """HID-30, P17, P18: the answer comes, the turn ends, a counter tells."""
    turns = Turns(chat=ScriptedChatModel("Hello"), fast=ScriptedChatModel("Title"))
    thread = await turns.thread()
    config = await thread.config()
    for part in broken:
        getattr(turns, part).failure = error

    after = await thread.graph.ainvoke({"messages": [HumanMessage("Hi")]}, config)

    assert after["messages"][-1].text == "Hello"
    assert thread.mark.ended
    assert turns.metrics.counts[RECALL_DEGRADED] == len({"profiles", "summaries"} & set(broken))
