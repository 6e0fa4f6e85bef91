from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import boto3
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.model_ids import takes_cache_points
from shared.adapters.bedrock.model_input import arrangement, plain
from shared.domain.prompt import PromptBlocks
from tests.fakes.converse_wire import ConverseWire, converse_wire

CLAUDE = "eu.anthropic.claude-sonnet-4-6"
NOVA = "eu.amazon.nova-pro-v1:0"
POINT = {"cachePoint": {"type": "default"}}

BASE = PromptBlocks("You are brief.")
FULL = PromptBlocks(
    "You are brief.", "<memory>\nfacts\n</memory>", "<earlier_conversation>\nq\n</earlier_conversation>"
)


def human(text: str) -> HumanMessage:
    return HumanMessage(text)


def calling(call: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "save_memory", "args": {}, "id": call}])


def result(call: str) -> ToolMessage:
    return ToolMessage('{"ok": true}', tool_call_id=call)


@pytest.fixture(scope="module")
def wire() -> Iterator[ConverseWire]:
    with converse_wire() as wire:
        yield wire


async def sent(wire: ConverseWire, model_id: str, blocks: PromptBlocks, history: list[AnyMessage]) -> dict[str, Any]:
    """Give the body that goes over the wire."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=wire.url,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    tools = [{"name": "save_memory", "description": "Save.", "parameters": {"type": "object", "properties": {}}}]
    model = chat_model(client, model_id, max_tokens=10).bind_tools(tools)
    await model.ainvoke(arrangement(model_id)(blocks, history))
    return wire.asked[-1].body


def points(body: dict[str, Any]) -> list[tuple[int, int]]:
    """Give where cache points stand in the messages: message and block."""
    return [
        (place, number)
        for place, message in enumerate(body["messages"])
        for number, block in enumerate(message["content"])
        if "cachePoint" in block
    ]


async def test_points_stand_after_base_after_the_blocks_and_on_the_question(wire: ConverseWire) -> None:
    """Decision 4."""
    body = await sent(wire, CLAUDE, FULL, [human("Hi")])

    assert body["system"] == [
        {"text": "You are brief."},
        POINT,
        {"text": f"\n\n{FULL.memory}"},
        {"text": f"\n\n{FULL.earlier}"},
        POINT,
    ]
    assert body["messages"] == [{"role": "user", "content": [{"text": "Hi"}, POINT]}]


async def test_without_blocks_there_is_one_point_in_the_system_message(wire: ConverseWire) -> None:
    assert (await sent(wire, CLAUDE, BASE, [human("Hi")]))["system"] == [{"text": "You are brief."}, POINT]


async def test_what_one_call_writes_the_next_one_reads(wire: ConverseWire) -> None:
    """The next call has a point where the last one of the call before was, with the same prefix before it."""
    turns: list[list[AnyMessage]] = [
        [human("One")],
        [human("One"), calling("c1"), result("c1")],
        [human("One"), calling("c1"), result("c1"), AIMessage("Done."), human("Two")],
        [human("One"), calling("c1"), result("c1"), AIMessage("Done."), human("Two"), AIMessage("Yes."), human("3")],
    ]
    bodies = [await sent(wire, CLAUDE, FULL, history) for history in turns]

    for before, after in pairwise(bodies):
        written = points(before)[-1]
        assert written in points(after)
        assert _prefix(before, written) == _prefix(after, written)
        assert before["system"] == after["system"]


def _prefix(body: dict[str, Any], end: tuple[int, int]) -> list[Any]:
    """Give all blocks up to a place, without the points, which are no part of what is cached."""
    flat = [
        (message["role"], block)
        for place, message in enumerate(body["messages"])
        for number, block in enumerate(message["content"])
        if (place, number) <= end
    ]
    return [block for block in flat if "cachePoint" not in block[1]]


@pytest.mark.parametrize("blocks", [BASE, FULL])
@pytest.mark.parametrize("model_id", [CLAUDE, NOVA])
async def test_there_are_never_more_than_four(model_id: str, blocks: PromptBlocks, wire: ConverseWire) -> None:
    history: list[AnyMessage] = []
    for number in range(10):
        history += [human(f"Q{number}"), calling(f"c{number}"), result(f"c{number}"), AIMessage("A")]
        body = await sent(wire, model_id, blocks, [*history, human("next")])
        assert len(points(body)) + body["system"].count(POINT) <= 4


async def test_nova_gets_no_point_beside_a_tools_result(wire: ConverseWire) -> None:
    body = await sent(wire, NOVA, FULL, [human("One"), calling("c1"), result("c1")])

    assert points(body) == [(0, 1)]


async def test_a_message_of_parts_keeps_them(wire: ConverseWire) -> None:
    message = HumanMessage([{"type": "text", "text": "Look"}, {"type": "text", "text": "here"}])

    body = await sent(wire, CLAUDE, BASE, [message])

    assert body["messages"][0]["content"] == [{"text": "Look"}, {"text": "here"}, POINT]


@pytest.mark.parametrize("model_id", ["meta.llama3-1-70b-instruct-v1:0", "anthropic.claude-3-haiku-20240307-v1:0"])
def test_models_without_a_prompt_cache_get_no_points(model_id: str) -> None:
    assert arrangement(model_id) is plain


def test_plain_is_one_system_message_and_the_history() -> None:
    """P02, P06."""
    history: list[AnyMessage] = [human("Hi")]

    assert plain(BASE, history) == [SystemMessage("You are brief."), *history]
    assert plain(FULL, history)[0].content == FULL.text


def test_with_points_the_model_reads_the_same_text() -> None:
    (system, *_) = arrangement(CLAUDE)(FULL, [human("Hi")])

    assert isinstance(system, SystemMessage)
    assert "".join(block.get("text", "") for block in system.content if isinstance(block, dict)) == FULL.text


def test_the_history_itself_is_left_alone() -> None:
    """TT01."""
    history: list[AnyMessage] = [human("One"), calling("c1"), result("c1")]
    before = [message.model_copy(deep=True) for message in history]

    arrangement(CLAUDE)(FULL, history)

    assert history == before


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", True),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", True),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", True),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", False),
        ("anthropic.claude-3-opus-20240229-v1:0", False),
        ("anthropic.claude-v2:1", False),
        ("amazon.nova-micro-v1:0", True),
        ("amazon.nova-2-lite-v1:0", True),
        ("amazon.titan-text-express-v1", False),
        ("mistral.mistral-large-2407-v1:0", False),
    ],
)
def test_knows_which_models_take_points(model: str, takes: bool) -> None:
    assert takes_cache_points(model) is takes
