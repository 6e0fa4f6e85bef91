from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.ids import MessageId
from shared.domain.summary import SummaryEntry
from shared.domain.window import NO_COVERAGE, Coverage, Window, coverage, next_window, turn_of_ref, window_key
from tests.unit.domain.conversations import entry, ids


def covered_to(last: int) -> list[SummaryEntry]:
    """The entries of a thread that is covered to the turn ``last``."""
    return [entry(0, last)] if last >= 0 else []


def bounds(window: Window | None) -> tuple[int, int] | None:
    return None if window is None else (window.start, window.end)


@pytest.mark.parametrize(
    ("k", "humans", "last_end", "expected"),
    [
        # seed_rows section 17, row by row; TR02, TR04
        (3, 2, -1, None),
        (3, 3, -1, (0, 2)),
        (3, 4, -1, (0, 2)),
        (3, 5, 2, None),
        (3, 6, 2, (3, 5)),
        (3, 7, -1, (0, 5)),
        (3, 7, 2, (3, 5)),
        (3, 9, 5, (6, 8)),
        (3, 9, -1, (0, 8)),
        (3, 10, -1, (0, 8)),
        (10, 9, -1, None),
        (10, 10, -1, (0, 9)),
        (10, 11, -1, (0, 9)),
        (10, 15, 9, None),
        (10, 21, 9, (10, 19)),
        (1, 2, 0, (1, 1)),
        (3, 8, 3, (4, 6)),  # HID-21: counted from what is uncovered, not from the thread's length
        (10, 15, 3, (4, 13)),
        (0, 5, -1, None),  # TR12, HID-22
        (-1, 5, -1, None),
    ],
)
def test_the_window_formula(k: int, humans: int, last_end: int, expected: tuple[int, int] | None) -> None:
    window = next_window(ids(humans), covered_to(last_end), keep_recent=k)
    assert bounds(window) == expected
    if window is not None:
        # TR05, TP14
        assert window.message_ids == tuple(f"m{n}" for n in range(window.start, window.end + 1))


def test_a_thread_rolled_back_behind_its_summaries_is_not_summarised() -> None:
    # Section 17, last row: H=2, lastEnd=5. The entry's turns are gone, so it counts for nothing (HID-14).
    assert next_window(ids(2), covered_to(5), keep_recent=3) is None
    assert coverage(ids(2), covered_to(5)) == NO_COVERAGE


@pytest.mark.parametrize(("k", "rounds"), [(3, [3, 6, 9, 12]), (10, [10, 20, 30])])
def test_a_fresh_thread_is_summarised_every_k_turns_and_is_quiet_between(k: int, rounds: list[int]) -> None:
    # TR06, TR07, TR08
    entries: list[SummaryEntry] = []
    fired: list[int] = []
    for humans in range(1, rounds[-1] + k):
        if window := next_window(ids(humans), entries, keep_recent=k):
            fired.append(humans)
            entries.append(entry(window.start, window.end, sequence=len(entries) + 1))
    assert fired == rounds
    assert [(e.start_message_index, e.end_message_index) for e in entries] == [(n - k, n - 1) for n in rounds]


def test_deleting_the_summaries_covers_the_turns_anew() -> None:
    # TR10
    assert bounds(next_window(ids(7), [entry(0, 2), entry(3, 5, sequence=2)], keep_recent=3)) is None
    assert bounds(next_window(ids(7), [], keep_recent=3)) == (0, 5)


def test_a_replayed_or_regenerated_turn_makes_no_second_window() -> None:
    # TR13: a regenerated answer leaves the human message and its id.
    assert next_window(ids(3), [entry(0, 2)], keep_recent=3) is None
    assert next_window(ids(5), [entry(0, 2)], keep_recent=3) is None


@given(st.integers(0, 60), st.integers(-2, 12))
def test_without_entries_it_tells_whether_reading_them_can_lead_to_a_pass(humans: int, k: int) -> None:
    # TR11: no read of the store while H < K.
    assert (next_window(ids(humans), (), keep_recent=k) is None) == (k < 1 or humans < k)


def test_an_unanswered_last_turn_waits() -> None:
    # HID-20
    assert next_window(ids(3), [], keep_recent=3, last_answered=False) is None
    assert bounds(next_window(ids(4), [], keep_recent=3, last_answered=False)) == (0, 2)
    assert next_window(ids(3), [entry(0, 2)], keep_recent=3, last_answered=False) is None
    assert next_window([], [], keep_recent=1, last_answered=False) is None


def test_an_edited_turn_takes_its_summary_with_it() -> None:
    # decision 2, HID-14: a fork at turn #5 keeps m0 to m3.
    forked = [*ids(4), *ids(3, prefix="new")]
    entries = [entry(0, 2), entry(3, 5, sequence=2)]
    assert coverage(forked, entries) == Coverage(2, (entries[0],))
    window = next_window(forked, entries, keep_recent=3)
    assert window == Window(3, 5, (MessageId("m3"), MessageId("new0"), MessageId("new1")))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_lost_entry_leaves_a_gap_that_the_next_pass_fills(k: int) -> None:
    # AMB-31, decision 1: no further than the next covered turn, and trimming stops before the gap.
    entries = [entry(0, 2, sequence=1), entry(6, 8, sequence=3)]
    covered = coverage(ids(10), entries)
    assert covered.end == 2
    assert covered.entries == tuple(entries)
    assert bounds(next_window(ids(10), entries, keep_recent=k)) == (3, 5)


def test_a_gap_that_is_no_multiple_of_k_is_filled_whole() -> None:
    entries = [entry(4, 6, sequence=2)]
    assert bounds(next_window(ids(10), entries, keep_recent=3)) == (0, 3)
    # Two turns and the entry after them.
    assert bounds(next_window(ids(5), [entry(2, 4)], keep_recent=3)) == (0, 1)


def test_coverage_is_by_identity_where_turns_were_removed() -> None:
    # X02: m1 was deleted, so the first entry is void and the second stands two places from the start.
    thread = [MessageId(f"m{n}") for n in (0, 2, 3, 4, 5)]
    assert coverage(thread, [entry(0, 2), entry(3, 5, sequence=2)]).end == -1
    assert bounds(next_window(thread, [entry(0, 2), entry(3, 5, sequence=2)], keep_recent=3)) == (0, 1)


def test_entries_come_by_sequence_as_a_number() -> None:
    # HID-28
    entries = [entry(n, n, sequence=n + 1) for n in range(12)]
    found = coverage(ids(12), reversed(entries))
    assert [e.sequence for e in found.entries] == list(range(1, 13))
    assert found.end == 11


ENTRIES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=6).map(
    lambda spans: [entry(start, start + length - 1, sequence=n) for n, (start, length) in enumerate(spans, start=1)]
)


@given(st.integers(0, 40), ENTRIES, st.integers(1, 7), st.booleans())
def test_a_window_is_the_first_run_of_uncovered_turns(
    humans: int, entries: list[SummaryEntry], k: int, answered: bool
) -> None:
    turn_ids = ids(humans)
    valid = [e for e in entries if e.end_message_index < humans]
    covered = {n for e in valid for n in range(e.start_message_index, e.end_message_index + 1)}
    assert set(range(coverage(turn_ids, entries).end + 1)) <= covered
    assert coverage(turn_ids, entries).end + 1 not in covered

    window = next_window(turn_ids, entries, keep_recent=k, last_answered=answered)
    first = coverage(turn_ids, entries).end + 1
    waiting = humans - (0 if answered else 1) - first
    assert (window is None) == (waiting < k)
    if window is None:
        return
    size = window.end - window.start + 1
    assert window.start == first
    assert window.message_ids == tuple(turn_ids[window.start : window.end + 1])
    assert not covered & set(range(window.start, window.end + 1))
    closed_by_an_entry = window.end + 1 in covered
    assert closed_by_an_entry or (size % k == 0 and waiting - size < k)


@given(st.integers(1, 40), ENTRIES, st.integers(1, 5))
def test_passes_end_with_everything_covered_but_less_than_k_turns(
    humans: int, entries: list[SummaryEntry], k: int
) -> None:
    turn_ids, rows = ids(humans), list(entries)
    for _ in range(humans + 1):
        window = next_window(turn_ids, rows, keep_recent=k)
        if window is None:
            break
        rows.append(entry(window.start, window.end, sequence=len(rows) + 1))
    assert humans - (coverage(turn_ids, rows).end + 1) < k


@pytest.mark.parametrize(
    ("room", "expected"),
    [(100, (0, 8)), (9, (0, 8)), (8, (0, 5)), (6, (0, 5)), (5, (0, 2)), (3, (0, 2)), (2, (0, 2)), (0, (0, 2))],
)
def test_a_large_backlog_is_cut_at_a_multiple_of_k(room: int, expected: tuple[int, int]) -> None:
    # Decision 10, HID-17: but never below K, or the thread would be blocked.
    assert (
        bounds(next_window(ids(10), [], keep_recent=3, fits=lambda window: len(window.message_ids) <= room)) == expected
    )


def test_a_backlog_is_fitted_in_few_tries() -> None:
    asked: list[Window] = []

    def fits(window: Window) -> bool:
        asked.append(window)
        return len(window.message_ids) <= 100

    assert bounds(next_window(ids(3000), [], keep_recent=1, fits=fits)) == (0, 99)
    assert len(asked) < 15


def test_a_gap_is_cut_too_when_it_does_not_fit() -> None:
    assert bounds(next_window(ids(12), [entry(7, 9)], keep_recent=3, fits=lambda w: len(w.message_ids) < 7)) == (0, 5)


WINDOWS = st.tuples(
    st.integers(0, 5), st.lists(st.text("ab,\"'[]\\ \ud800", max_size=3).map(MessageId), min_size=1, max_size=3)
).map(lambda of: Window(of[0], of[0] + len(of[1]) - 1, tuple(of[1])))


@given(WINDOWS, WINDOWS)
def test_equal_windows_and_only_they_have_one_key(one: Window, other: Window) -> None:
    # HID-07
    assert (window_key(one) == window_key(other)) == (one == other)


def test_window_keys_sort_by_start() -> None:
    keys = [window_key(Window(start, start, (MessageId("m"),))) for start in (0, 2, 10, 100)]
    assert keys == sorted(keys)


class TestRefs:
    def resolve(self, number: int, turn_ids: Sequence[MessageId], entries: Sequence[SummaryEntry]) -> str | None:
        index = turn_of_ref(number, turn_ids, entries)
        return None if index is None else turn_ids[index]

    def test_the_seed_s_example(self) -> None:
        # RF02: window [3..5] has #4, #5, #6 at the ids' positions 0, 1, 2.
        entries = [entry(0, 2), entry(3, 5, sequence=2)]
        assert [self.resolve(n, ids(6), entries) for n in (4, 5, 6)] == ["m3", "m4", "m5"]

    def test_a_turn_nobody_summarised_is_found_by_its_place(self) -> None:
        assert self.resolve(5, ids(6), [entry(0, 2)]) == "m4"
        assert self.resolve(1, ids(1), []) == "m0"

    def test_the_id_goes_before_the_place(self) -> None:
        # RF07: the first turn is gone, and every place with it.
        assert self.resolve(4, ids(7)[1:], [entry(0, 2), entry(3, 5, sequence=2)]) == "m3"

    def test_an_entry_that_does_not_fit_the_thread_is_not_believed(self) -> None:
        assert self.resolve(2, ["m0", "new", "m2"], [entry(0, 2)]) == "new"

    def test_the_latest_entry_is_believed(self) -> None:
        older = entry(0, 1, sequence=1, message_ids=["m1", "m2"])
        newer = entry(0, 1, sequence=2, message_ids=["m0", "m1"])
        assert self.resolve(1, ids(3), [newer, older]) == "m0"

    @pytest.mark.parametrize("number", [0, -1, 7, 10**6])
    def test_there_is_no_such_turn(self, number: int) -> None:
        # LK10
        assert turn_of_ref(number, ids(6), []) is None
