"""What a process keeps is bounded in bytes, whatever the number of threads it serves."""

import pytest

from shared.adapters.dynamodb.checkpointer.cache import ByteLimited


@pytest.fixture
def kept():
    return ByteLimited[str, str](limit=1_000)


def test_what_was_kept_is_given(kept):
    kept.keep("a", "apple", 5)
    assert kept.get("a") == "apple"
    assert kept.get("b") is None


def test_it_never_holds_more_than_its_limit(kept):
    for number in range(100):
        kept.keep(str(number), "x", number)
        assert kept.bytes <= 1_000
    assert 0 < len(kept) < 10


def test_what_was_used_longest_ago_goes_first(kept):
    for key in "abcd":
        kept.keep(key, key, 0)
    kept.get("a")
    kept.keep("e", "e", 100)
    assert kept.get("b") is None
    assert kept.get("a") == "a"


def test_a_new_value_takes_the_place_of_the_old_one(kept):
    kept.keep("a", "old", 300)
    kept.keep("a", "new", 100)
    assert kept.get("a") == "new"
    assert kept.bytes < 400


def test_what_is_too_large_is_not_kept_and_drives_nothing_out(kept):
    kept.keep("a", "a", 10)
    kept.keep("b", "b", 5_000)
    assert kept.get("b") is None
    assert kept.get("a") == "a"


def test_a_value_that_became_too_large_is_not_kept_in_its_old_form(kept):
    kept.keep("a", "old", 10)
    kept.keep("a", "new", 5_000)
    assert kept.get("a") is None


def test_forgotten_is_forgotten(kept):
    kept.keep("a", "a", 10)
    kept.forget("a")
    kept.forget("a")
    assert kept.get("a") is None
    assert kept.bytes == 0
