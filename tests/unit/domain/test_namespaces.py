from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.dynamodb.schema import decode_key, encode_key
from shared.domain.ids import ThreadId, UserId
from shared.domain.namespaces import (
    MEMORY_KEY,
    log_key,
    memory_log_namespace,
    memory_namespace,
    parse_summary_key,
    summary_key,
    threads_namespace,
)

USER = UserId("u-1")
# Names made of what could forge a boundary, beside any other text.
NAMES = st.one_of(
    st.text('ab:!"#/\x00\U0001f600', min_size=1, max_size=5),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
USERS = NAMES.map(UserId)
THREADS = NAMES.map(ThreadId)
NUMBERS = st.integers(1, 10**9)

Item = tuple[tuple[str, ...], str]
ITEMS: st.SearchStrategy[Item] = st.one_of(
    USERS.map(lambda user: (memory_namespace(user), MEMORY_KEY)),
    st.tuples(USERS, NUMBERS).map(lambda of: (memory_log_namespace(of[0]), log_key(of[1]))),
    st.tuples(USERS, THREADS, NUMBERS).map(lambda of: (threads_namespace(of[0]), summary_key(of[1], of[2]))),
)


def test_the_seed_s_places() -> None:
    # ST01, ST02, ST03
    thread = ThreadId("t-1")
    assert (memory_namespace(USER), MEMORY_KEY) == (("u-1", "memory"), "main")
    assert memory_log_namespace(USER) == ("u-1", "memory", "log")
    assert (threads_namespace(USER), summary_key(thread, 12)) == (("u-1", "threads"), "t-1:12")


@given(ITEMS, ITEMS)
def test_no_two_items_share_a_key_in_the_table(one: Item, other: Item) -> None:
    assert (encode_key(*one) == encode_key(*other)) == (one == other)


@given(ITEMS)
def test_an_item_is_read_back_from_its_key(item: Item) -> None:
    assert decode_key(encode_key(*item)) == item


@given(THREADS, THREADS, NUMBERS, NUMBERS)
def test_summary_keys_are_one_to_one(thread: ThreadId, other: ThreadId, sequence: int, another: int) -> None:
    assert parse_summary_key(summary_key(thread, sequence)) == (thread, sequence)
    same = (thread, sequence) == (other, another)
    assert (summary_key(thread, sequence) == summary_key(other, another)) == same


@pytest.mark.parametrize(
    "key", ["", "t", "t:", ":1", "t:0", "t:01", "t:-1", "t:1 ", "t:1\n", "t:x", "t:१", "t:1:", "t:" + "9" * 5000]
)
def test_keys_that_no_entry_has_are_not_read(key: str) -> None:
    assert parse_summary_key(key) is None


@pytest.mark.parametrize("sequence", [0, -1])
def test_sequences_start_at_one(sequence: int) -> None:
    # TP12
    with pytest.raises(ValueError, match="start at 1"):
        summary_key(ThreadId("t"), sequence)


@given(st.lists(st.integers(1, 10**12 - 1), unique=True, min_size=2))
def test_log_keys_sort_as_the_versions_do(versions: list[int]) -> None:
    keys = [log_key(version) for version in sorted(versions)]
    assert all(earlier < later for earlier, later in pairwise(keys))


@pytest.mark.parametrize("version", [0, -1, 10**12])
def test_a_version_that_no_write_makes_has_no_key(version: int) -> None:
    with pytest.raises(ValueError, match="No write"):
        log_key(version)
