"""Channel values, element by element or whole, and the digests they are compared by."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from shared.adapters.dynamodb.checkpointer.values import (
    Listed,
    Whole,
    deserialize,
    digest,
    from_wire,
    serialize,
    to_wire,
)

SERDE = JsonPlusSerializer()
VALUES = [
    [],
    [1, 2.5, None, "text", b"bytes", {"a": {1, 2}}],
    [HumanMessage("hello", id="m1")],
    [[1], [2, [3]]],
    {"a": [1]},
    {1, 2, 3},
    b"\x00\xff",
    bytearray(b"abc"),
    None,
    1.5,
    deque([1, 2]),
    _DeltaSnapshot([1, 2]),
    _DeltaSnapshot({"a": 1}),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_read_back_with_its_type(value):
    read = deserialize(SERDE, serialize(SERDE, value))
    assert read == value
    assert type(read) is type(value)


def test_only_lists_are_taken_apart():
    assert isinstance(serialize(SERDE, [1]), Listed)
    assert serialize(SERDE, _DeltaSnapshot([1])) == Listed(serialize(SERDE, [1]).elements, snapshot=True)
    for whole in ((1,), {"a": 1}, "text", {1}, _DeltaSnapshot({"a": 1})):
        assert isinstance(serialize(SERDE, whole), Whole)


def test_a_very_long_list_of_numbers_is_data_and_stays_whole():
    assert isinstance(serialize(SERDE, [0.5] * 50_001), Whole)


def test_each_reading_gives_objects_of_its_own():
    stored = serialize(SERDE, [{"a": 1}])
    first, second = deserialize(SERDE, stored), deserialize(SERDE, stored)
    first[0]["a"] = 2
    assert second == [{"a": 1}]


def test_a_byte_array_that_changes_later_does_not_change_what_was_stored():
    value = bytearray(b"abc")
    stored = serialize(SERDE, value)
    value[0] = 0
    assert deserialize(SERDE, stored) == bytearray(b"abc")


@settings(deadline=None)
@given(
    st.sampled_from(["msgpack", "bytes", "null", "json"]),
    st.binary(),
    st.sampled_from(["msgpack", "bytes"]),
    st.binary(),
)
def test_equal_digests_mean_equal_values(kind, content, other_kind, other_content):
    equal = (kind, content) == (other_kind, other_content)
    assert (digest((kind, content)) == digest((other_kind, other_content))) == equal


@settings(deadline=None)
@given(st.sampled_from(["msgpack", "bytes", "null", "pickle"]), st.binary())
def test_type_and_bytes_survive_being_written(kind, content):
    assert from_wire(to_wire((kind, content))) == (kind, content)
