import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.values import MAX_DEPTH, value_fault

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc é", max_size=5), inner, max_size=3),
    max_leaves=8,
)


def nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth - 1):
        value = [value] if level % 2 else {"k": value}
    return value


@given(JSON)
def test_json_is_taken_and_comes_back_from_its_text(value: Any) -> None:
    assert value_fault(value) is None
    assert json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False)) == value


@pytest.mark.parametrize(
    "value",
    [
        "likes data: numbers, charts",
        "metadata:text/plain, that",
        "see https://x.example/" + "a/b-c?" * 200,
        "sha256 " + "0f" * 32,
        "A" * 511,
        "word " * 400,
        "林" * 600,
        10**900,
        -0.0,
        True,
    ],
)
def test_facts_are_taken(value: Any) -> None:
    # SM21: a short hash is a fact.
    assert value_fault(value) is None


@pytest.mark.parametrize(
    "value",
    [
        # SM21
        "data:image/png;base64,iVBORw0KGgo=",
        "my picture: DATA:image/svg+xml;utf8,<svg/>",
        "(data:text/html;charset=utf-8,%3Ch1%3E)",
        "data:,x",
        "data:application/vnd.ms-excel;base64,AAAA",
        "A" * 512,
        "see " + "aB9+/" * 103,
        "aB9-_" * 103,
        # not JSON
        float("nan"),
        float("inf"),
        float("-inf"),
        b"bytes",
        (1, 2),
        {1, 2},
        object(),
        # no UTF-8
        "\ud800",
        # no reader takes it
        10**1000,
        pytest.param(-(10**5000), id="a number of 5001 digits"),
    ],
)
def test_what_has_no_place_in_memory_is_refused_wherever_it_stands(value: Any) -> None:
    assert value_fault(value)
    assert value_fault([1, {"k": [value]}])


@pytest.mark.parametrize("name", ["data:image/png;base64,AAAA", "A" * 512, "\ud800", 4, None])
def test_names_within_a_value_are_looked_at_too(name: Any) -> None:
    assert value_fault({"a": {name: 1}})


def test_a_value_is_nested_to_a_limit() -> None:
    assert value_fault(nested(MAX_DEPTH)) is None
    assert value_fault(nested(MAX_DEPTH + 1))
    assert value_fault(nested(sys.getrecursionlimit() * 3))


def test_a_long_text_costs_no_more_than_its_length() -> None:
    # Texts that made patterns of this kind slow: many starts, no end. The suite's time limit is the judge.
    for text in (
        "data:" * 200_000,
        "data:a/b" + ";a" * 300_000,
        "data:a/b;x" * 100_000,
        "data:" + "a/." * 300_000,
        ("A" * 511 + ".") * 2000,
    ):
        assert value_fault(text) is None
