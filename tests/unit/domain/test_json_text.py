import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NotJsonError
from shared.domain.json_text import compact_json, has_utf8_form

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_a_value_comes_back_from_its_bytes(value):
    assert json.loads(compact_json(value).encode()) == value


def test_nothing_is_written_that_need_not_be():
    assert compact_json({"name": "Zoë", "likes": ["茶", 1.5]}) == '{"name":"Zoë","likes":["茶",1.5]}'


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "\ud800", {"\udfff": 1}, {1, 2}, b"bytes"])
def test_what_no_other_reader_would_take_is_refused(value):
    with pytest.raises(NotJsonError):
        compact_json({"value": value})


@pytest.mark.parametrize(("text", "has"), [("", True), ("茶 🍵", True), ("half a pair: \ud83c", False)])
def test_halves_of_pairs_have_no_utf8(text, has):
    assert has_utf8_form(text) is has
