from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.adapters.dynamodb.schema import (
    FIRST_STORE_KEY,
    decode_key,
    decode_part,
    encode_key,
    encode_part,
    encode_prefix,
    moment,
    row_key,
    row_prefix,
)
from shared.domain.errors import InvalidIdError

# Half of the examples are made of nothing but what the encoding itself uses, and its neighbours.
PARTS = st.one_of(
    st.text('\x00\x01 !"#$a`bc@\x7f\U0010ffff', max_size=6),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
TUPLES = st.lists(PARTS, min_size=1, max_size=4).map(tuple)


def encode(parts: Sequence[str]) -> str:
    return encode_key(parts[:-1], parts[-1])


@given(TUPLES)
def test_what_was_encoded_is_read_back(parts: tuple[str, ...]) -> None:
    assert decode_key(encode(parts)) == (parts[:-1], parts[-1])


@given(PARTS)
def test_a_part_is_read_back_and_is_not_empty(part: str) -> None:
    # DynamoDB takes no empty key.
    assert decode_part(encode_part(part)) == part
    assert encode_part(part)


@given(TUPLES, TUPLES)
def test_equal_keys_come_only_from_equal_tuples(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@given(TUPLES, TUPLES)
def test_dynamodb_s_order_is_the_order_of_the_tuples(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (encode(one).encode() < encode(other).encode()) == (one < other)


@given(TUPLES, TUPLES)
def test_a_prefix_finds_the_keys_below_it_and_no_others(prefix: tuple[str, ...], parts: tuple[str, ...]) -> None:
    below = len(parts) > len(prefix) and parts[: len(prefix)] == prefix
    assert encode(parts).startswith(encode_prefix(prefix)) == below


@given(TUPLES, TUPLES)
def test_no_store_item_has_the_key_of_a_row_of_our_own(item: tuple[str, ...], row: tuple[str, ...]) -> None:
    assert row_key("thread", *row) < FIRST_STORE_KEY <= encode(item)


@given(TUPLES, TUPLES, st.sampled_from(["thread", "claim"]), st.sampled_from(["thread", "claim"]))
def test_rows_of_our_own_do_not_collide(one: tuple[str, ...], other: tuple[str, ...], kind: str, another: str) -> None:
    same = (kind, one) == (another, other)
    assert (row_key(kind, *one) == row_key(another, *other)) == same
    assert row_key(kind, *one).startswith(row_prefix(kind, *one[:-1]))


@given(TUPLES)
def test_rows_are_found_under_their_own_kind_only(row: tuple[str, ...]) -> None:
    assert not row_key("thread", *row).startswith(row_prefix("claim"))


@pytest.mark.parametrize("part", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_refused(part: str) -> None:
    with pytest.raises(InvalidIdError):
        encode_part(part)


@given(
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))])),
    st.datetimes(timezones=st.just(UTC)),
)
def test_moments_sort_as_time_does(one: datetime, other: datetime) -> None:
    assume(one.year not in (1, 9999))
    assert (moment(one) < moment(other)) == (one < other)
    assert datetime.fromisoformat(moment(one)) == one


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        moment(datetime(2026, 5, 4, 12))  # noqa: DTZ001 - that is the point
