"""Bodies of items: what is written can be read for ever, and what is damaged is noticed."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.adapters.dynamodb.checkpointer import codec

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(st.lists(PLAIN) | st.dictionaries(st.text(), PLAIN))
def test_a_structure_is_read_back(structure):
    assert codec.decode(codec.encode(structure)) == structure


# Written by the first release.
@pytest.mark.parametrize(
    ("body", "structure"),
    [
        (
            "019b86122e8d3047ed0b075536d0523e39b1201398b041f5821b284e52ed8f3031309eb6ffc10006070e0300",
            ["HumanMessage", {"content": "What is the capital of France?"}, b"\x00\x01", 1.5, None, True],
        ),
        ("0093010203", [1, 2, 3]),
    ],
)
def test_a_body_of_an_earlier_release_is_read(body, structure):
    assert codec.decode(bytes.fromhex(body)) == structure


def test_what_does_not_compress_is_left_as_it_is():
    noise = random.Random(7).randbytes(1_000)  # noqa: S311 - no secret
    assert len(codec.encode([noise])) <= len(noise) + 8


def test_a_turn_takes_about_what_was_said():
    serde = JsonPlusSerializer()
    turn = [
        HumanMessage("Where did we leave off with the boat trip, and what did Ada say about the weather?", id="m1"),
        AIMessage("We had settled on Saturday. Ada said that the wind would be strong after noon.", id="a1"),
    ]
    packed = [serde.dumps_typed(message)[1] for message in turn]
    said = sum(len(message.content) for message in turn)
    assert sum(map(len, packed)) > 2.5 * said
    assert len(codec.encode(packed)) < 1.3 * said


@pytest.mark.parametrize("body", [b"", b"\x02abc", b"\x01", b"\x01\xff\xff\xff", b"\x00\xc1", b"\x00"])
def test_what_is_no_body_is_refused(body):
    with pytest.raises(ValueError):  # noqa: PT011 - any will do
        codec.decode(body)


@settings(deadline=None)
@given(st.data())
def test_a_body_that_lost_its_end_is_refused(data):
    body = codec.encode([{"content": "the same again and again " * 9}])
    with pytest.raises(ValueError):  # noqa: PT011
        codec.decode(body[: data.draw(st.integers(0, len(body) - 1))])


def test_no_object_is_ever_built_from_a_structure():
    _, packed = JsonPlusSerializer().dumps_typed(HumanMessage("hello"))
    assert not isinstance(codec.decode(b"\x00" + packed), AIMessage)
