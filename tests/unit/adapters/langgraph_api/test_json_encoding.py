import json
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.types import Interrupt
from pydantic import BaseModel

from shared.adapters.langgraph_api.json_encoding import encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class Card(BaseModel):
    title: str


@dataclass
class Place:
    city: str
    country: str | None = None


def read(value):
    return json.loads(encode(value))


@given(JSON)
def test_json_comes_back_as_it_was(value):
    assert read(value) == value


def test_messages_are_written_as_langgraphs_server_writes_them():
    messages = [
        HumanMessage("Hi", id="1"),
        AIMessage("", id="2", tool_calls=[{"name": "look", "args": {"at": 1}, "id": "c"}]),
        ToolMessage("seen", id="3", tool_call_id="c", status="error"),
        AIMessageChunk("par", id="4"),
    ]
    written = read({"messages": messages})["messages"]

    assert written == [message.model_dump(mode="json") for message in messages]
    assert [message["type"] for message in written] == ["human", "ai", "tool", "AIMessageChunk"]


def test_an_interrupt_has_a_value_and_an_id():
    assert read(Interrupt(value={"question": "sure?"}, id="i1")) == {"value": {"question": "sure?"}, "id": "i1"}
    assert read(Interrupt(value=None, id="i1")) == {"value": None, "id": "i1"}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00+00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Card(title="t"), {"title": "t"}),
        (Place("Turku"), {"city": "Turku"}),
        ((1, (2,)), [1, [2]]),
        (namedtuple("Pair", "a b")(1, 2), [1, 2]),  # noqa: PYI024 - what a graph may hold
        ({1: "a"}, {"1": "a"}),
        ({7}, [7]),
        (b"\xff", "/w=="),
        (2**70, 2**70),
        (float("nan"), None),
        (RuntimeError("a secret"), "<RuntimeError>"),
        (object(), "<object>"),
    ],
)
def test_what_is_no_json_is_written_as_something_clients_can_read(value, written):
    assert read({"it": value}) == {"it": written}


def test_half_of_a_surrogate_pair_breaks_nothing():
    written = read({"messages": [AIMessage("\ud800", id="1")], "at": datetime(2026, 3, 1, tzinfo=UTC)})

    assert written["messages"][0]["content"] == "\ud800"
    assert written["at"].startswith("2026-03-01")


def test_something_else_may_stand_for_whole_messages():
    value = {"messages": [HumanMessage("Hi", id="1"), AIMessageChunk("par", id="2")]}
    written = json.loads(encode(value, lambda message: b'"%s"' % (message.id or "").encode()))

    assert written["messages"][0] == "1"
    assert written["messages"][1]["content"] == "par"
