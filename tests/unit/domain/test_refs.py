import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.refs import expand_refs, parse_refs, refs_text, with_hash


@pytest.mark.parametrize(
    ("refs", "numbers"),
    [
        # LK02
        ("#3", [3]),
        ("3", [3]),
        ("#3-#5", [3, 4, 5]),
        ("3-5", [3, 4, 5]),
        ("#3-5", [3, 4, 5]),
        ("#5-#3", [3, 4, 5]),
        ("#3, #1", [1, 3]),
        ("#1,#3-#4,7", [1, 3, 4, 7]),
        (["#2", "#4-#5"], [2, 4, 5]),
        (" # 3 - # 5 ", [3, 4, 5]),
        ("#3–#5", [3, 4, 5]),
        ("#3—#5", [3, 4, 5]),
        ("#007", [7]),
        (["#2", "#2", "#1-#3"], [1, 2, 3]),
        ("#0-#2", [1, 2]),
        # no refs
        ("", []),
        ([], []),
        ("abc", []),
        ("#", []),
        ("#0", []),
        ("#-3", []),
        ("3-", []),
        ("#3-#4-#5", []),
        ("##3", []),
        ("3.5", []),
        ("#१", []),
        ("#1000000000", []),
        ("#3 and #4", []),
        (["abc", "#2", ""], [2]),
        ("#1,,x,#2", [1, 2]),
    ],
)
def test_refs_as_the_model_and_the_user_write_them(refs: str | list[str], numbers: list[int]) -> None:
    assert parse_refs(refs, limit=50) == numbers


@pytest.mark.parametrize(
    ("refs", "numbers"),
    [
        ("#1-#999999999", [1, 2, 3]),
        ("#999999999-#1", [1, 2, 3]),
        ("#9, #1-#999999999", [1, 2, 9]),
        (["#5"] * 100 + ["#6", "#7", "#8"], [5, 6, 7]),
    ],
)
def test_no_more_turns_than_the_limit_are_named(refs: str | list[str], numbers: list[int]) -> None:
    # HID-25: and the range is not expanded to find that out.
    assert parse_refs(refs, limit=3) == numbers


def test_a_stored_entry_names_a_bounded_number_of_turns() -> None:
    assert len(expand_refs(["#1-#999999999"])) == 10_000
    assert expand_refs(["#2", "4-5"]) == [2, 4, 5]


@pytest.mark.parametrize(
    ("numbers", "refs"),
    [([], []), ([3], ["#3"]), ([3, 4], ["#3-#4"]), ([5, 4, 3, 9, 3], ["#3-#5", "#9"]), ([1, 3], ["#1", "#3"])],
)
def test_numbers_are_written_as_refs(numbers: list[int], refs: list[str]) -> None:
    assert refs_text(numbers) == refs


@given(st.sets(st.integers(1, 60)))
def test_refs_are_read_as_they_were_written(numbers: set[int]) -> None:
    assert parse_refs(refs_text(numbers), limit=100) == sorted(numbers)
    assert parse_refs(", ".join(refs_text(numbers)), limit=100) == sorted(numbers)


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        ("#3", "#3"),
        ("3", "#3"),  # RF05
        ("4-6", "#4-#6"),
        ("#4-6", "#4-#6"),
        ("#4–#6", "#4-#6"),
        ("1, 2", "#1, #2"),
        (" 1 ,, #2,", "#1, #2"),
        ("intro", "#intro"),
        ("#intro", "#intro"),
    ],
)
def test_a_ref_is_shown_with_its_hash(ref: str, shown: str) -> None:
    assert with_hash(ref) == shown
