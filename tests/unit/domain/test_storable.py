from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.domain.storable import fault_in, faults_of_calls, fitted, fitted_message, storable_answer

SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": [value]}
    return value


FAULTY = [
    2**64,
    -(2**63) - 1,
    10**400,
    float("nan"),
    float("inf"),
    "\ud800",
    {"\ud800": 1},
    nested(40),
    nested(3000 // 8),
]
FINE = [2**64 - 1, -(2**63), 1.5, True, None, "\U0001f600", {"a": ["b", {"c": 1}]}, nested(32)]


@pytest.mark.parametrize("value", FAULTY, ids=lambda value: type(value).__name__)
def test_what_cannot_be_stored_is_found_and_made_to_fit(value: Any) -> None:
    fits = fitted({"x": value})

    assert fault_in({"x": value})
    assert fault_in(fits) is None
    assert SERDE.loads_typed(SERDE.dumps_typed(fits)) == fits


@pytest.mark.parametrize("value", FINE, ids=lambda value: type(value).__name__)
def test_what_can_be_stored_stays_as_it_is(value: Any) -> None:
    assert fault_in(value) is None
    assert fitted(value) is value
    assert SERDE.loads_typed(SERDE.dumps_typed(value)) == value


def test_an_answer_without_faults_is_the_same_one() -> None:
    answer = AIMessage("Hi", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}], additional_kwargs={"a": 1})
    assert storable_answer(answer) is answer
    assert faults_of_calls(answer) == {}


def test_a_faulty_call_is_stored_with_its_fault_and_without_the_vendors_copy() -> None:
    part = {"type": "tool_use", "id": "bad", "name": "f", "input": {"x": 2**70}}
    answer = AIMessage(
        [{"type": "text", "text": "\ud800Now."}, part],
        tool_calls=[{"name": "f", "args": {"x": 2**70}, "id": "bad"}, {"name": "f", "args": {"x": 7}, "id": "good"}],
        response_metadata={"stopReason": "tool_use"},
    )
    stored = storable_answer(answer)

    assert SERDE.loads_typed(SERDE.dumps_typed(stored)) == stored
    assert [call["args"] for call in stored.tool_calls] == [{"x": hex(2**70)}, {"x": 7}]
    assert list(faults_of_calls(stored)) == ["bad"]
    assert stored.content == [{"type": "text", "text": "\N{REPLACEMENT CHARACTER}Now."}]
    assert stored.response_metadata["stopReason"] == "tool_use"


def test_calls_that_broke_off_or_share_an_id_are_told_apart() -> None:
    broken = {"name": "f", "args": '{"x": ', "id": "c", "error": None, "type": "invalid_tool_call"}
    calls = [{"name": "f", "args": {}, "id": "c"}, {"name": "g", "args": {}, "id": None}]
    stored = storable_answer(AIMessage("", tool_calls=calls, invalid_tool_calls=[broken]))

    ids = [call["id"] for call in stored.tool_calls]
    assert (ids[0], len({*ids}), all(ids)) == ("c", 3, True)
    assert list(faults_of_calls(stored)) == [ids[2]]
    assert stored.invalid_tool_calls == []


def test_the_last_call_of_an_answer_that_was_cut_off_is_not_what_was_meant() -> None:
    calls = [{"name": "f", "args": {"x": "whole"}, "id": "a"}, {"name": "f", "args": {"x": "ha"}, "id": "b"}]
    cut = AIMessage("", tool_calls=calls, response_metadata={"stopReason": "max_tokens"})
    assert list(faults_of_calls(storable_answer(cut))) == ["b"]


def test_a_tools_result_is_made_to_fit() -> None:
    fine = ToolMessage("ok", tool_call_id="c")
    assert fitted_message(fine) is fine
    assert fitted_message(ToolMessage("a\udfffb", tool_call_id="c")).content == "a\N{REPLACEMENT CHARACTER}b"
