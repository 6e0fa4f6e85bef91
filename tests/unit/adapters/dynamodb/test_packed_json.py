"""Packed JSON comes back as it was, or not at all."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.dynamodb.packed_json import SMALLEST, pack, unpack
from shared.domain.errors import NotJsonError

LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner)
)


@given(JSON)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert unpack(pack(value), limit=1_000_000) == value


def test_a_higher_level_is_read_alike_and_no_larger() -> None:
    value = {"text": "the heron nests in March " * 40}

    assert unpack(pack(value, level=SMALLEST), limit=10_000) == value
    assert len(pack(value, level=SMALLEST)) <= len(pack(value))


@pytest.mark.parametrize(
    "packed",
    [b"", b"no zlib", pack({"a": "b" * 100})[:-5], zlib.compress(b"no json"), pack("x" * 2_000)],
    ids=["nothing", "damaged", "cut off", "other text", "over the limit"],
)
def test_what_is_not_whole_is_an_error(packed: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own is one
        unpack(packed, limit=1_000)


def test_what_is_no_json_is_not_packed() -> None:
    with pytest.raises(NotJsonError):
        pack(float("nan"))
