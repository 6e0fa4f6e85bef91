from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.domain.ids import MessageId
from shared.domain.summary import (
    QuestionAnswer,
    SummaryEntry,
    SummaryOutput,
    SummaryRows,
    estimate_tokens,
    format_entries,
    format_passes,
    refs_within,
    turns_covered,
)
from shared.domain.window import Window
from tests.unit.domain.conversations import entry


def answer(*entries: list[str]) -> SummaryOutput:
    """A model's answer with these refs."""
    return SummaryOutput(entries=[QuestionAnswer(question="q", answer="a", refs=refs) for refs in entries])


def window(first: int, last: int) -> Window:
    """The window of the turns ``#first`` to ``#last``."""
    return Window(first - 1, last - 1, tuple(MessageId(f"m{n - 1}") for n in range(first, last + 1)))


def refs_of(output: SummaryOutput) -> list[list[str]]:
    return [entry.refs for entry in output.entries]


class TestEntry:
    def test_a_whole_entry_is_read_back_from_json(self) -> None:
        # TP13
        written = entry(3, 5, sequence=2)
        assert SummaryEntry.model_validate_json(written.model_dump_json()) == written

    @pytest.mark.parametrize(
        "change",
        [
            {"thread_id": ""},  # TS01
            {"sequence": 0},
            {"sequence": 1.5},
            {"start_message_index": -1},
            {"end_message_index": -1},
            {"message_count": -1},
            {"token_count_before": -1},
            {"token_count_after": -1},
            {"message_count": 2},  # TS02: off by one
            {"message_count": 4},
            {"end_message_index": 6},
            {"start_message_index": 6, "message_count": 0, "message_ids": []},  # covers nothing
            {"message_ids": ["m3", "m4"]},  # TS03
            {"message_ids": ["m3", "m4", ""]},
            {"message_ids": ["m3", "m4", 5]},
            {"trigger_reason": "manual"},  # TS04
            {"created_at": "yesterday"},  # TS05
            {"created_at": datetime(2026, 5, 4, 12)},  # noqa: DTZ001 - that is the point
            {"created_at": None},
            {"summary": {"entries": [{"question": " ", "answer": "a", "refs": ["#4"]}]}},  # TP11
            {"summary": {"entries": [{"question": "q", "answer": "", "refs": ["#4"]}]}},
            {"summary": {"entries": [{"question": "q", "answer": "a", "refs": []}]}},
            {"summary": {"entries": [{"question": "q", "answer": "a", "refs": [""]}]}},
            {"summary": {"entries": [{"question": "q", "answer": "a"}]}},
            {"summary": "text"},
        ],
    )
    def test_what_breaks_a_rule_is_no_entry(self, change: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            SummaryEntry.model_validate(entry(3, 5).model_dump() | change)

    def test_the_least_entry(self) -> None:
        # TS01
        least = {"thread_id": "t", "token_count_before": 0, "token_count_after": 0, "message_ids": ["m"]}
        assert SummaryEntry.model_validate(entry(0, 0).model_dump() | least).message_ids == ["m"]

    def test_both_reasons_are_read(self) -> None:
        # TS04
        for reason in ("turn_based", "token_based"):
            assert SummaryEntry.model_validate(entry(3, 5).model_dump() | {"trigger_reason": reason})

    def test_an_entry_does_not_change(self) -> None:
        # TS05
        with pytest.raises(ValidationError):
            entry(3, 5).sequence = 2


def test_a_thread_without_rows_has_none_and_starts_at_the_first() -> None:
    # TP12
    assert SummaryRows().model_dump() == {"entries": (), "corrupt": 0, "highest_sequence": 0}


class TestFormat:
    def test_the_exact_text_of_two_entries(self) -> None:
        # P12
        entries = [
            QuestionAnswer(question="Where is it warm?", answer="In Oslo, 4 degrees.", refs=["#1", "#2"]),
            QuestionAnswer(question='What about "Rome"\n& more?', answer="<b>20</b>", refs=["4-6", "8"]),
        ]
        assert format_entries(entries) == (
            "#1, #2\nQ: Where is it warm?\nA: In Oslo, 4 degrees.\n\n"
            '#4-#6, #8\nQ: What about "Rome"\n& more?\nA: <b>20</b>'
        )

    def test_passes_follow_each_other_by_sequence(self) -> None:
        # P10, P11, HID-28
        passes = [entry(9, 9, sequence=10, question="ten"), entry(0, 0, sequence=1), entry(1, 1, sequence=2)]
        first, second, tenth = (format_entries(p.summary.entries) for p in (passes[1], passes[2], passes[0]))
        assert format_passes(passes) == f"{first}\n\n{second}\n\n{tenth}"

    def test_nothing_is_nothing(self) -> None:
        assert format_entries([]) == format_passes([]) == ""


class TestRefsWithinTheWindow:
    def test_an_answer_whose_refs_hold_stays_as_it_came(self) -> None:
        # TP16: stored verbatim
        output = answer(["#4"], ["5-6"], ["#4, #5", "#6"])
        assert refs_within(output, window(4, 6)) == (output, 0)

    @pytest.mark.parametrize(
        ("refs", "kept", "dropped"),
        [
            # RF08, decision 10
            (["#3"], [], 1),
            (["#7"], [], 1),
            (["#4", "#7"], ["#4"], 1),
            (["#1-#5"], ["#4-#5"], 1),
            (["#6-#999999999"], ["#6"], 1),
            (["#0-#9"], ["#4-#6"], 1),
            (["#1-#3"], [], 1),
            (["all of it"], [], 1),
            (["#4", "", "n/a"], ["#4"], 1),
            (["#4, x, #9"], ["#4"], 2),
            (["#4", "#4"], ["#4"], 0),
            (["#4-#5", "#5-#6"], ["#4-#5", "#6"], 0),
            (["#6", "#4"], ["#6", "#4"], 0),
        ],
    )
    def test_refs_that_cannot_be_true_are_dropped_and_counted(
        self, refs: list[str], kept: list[str], dropped: int
    ) -> None:
        output, count = refs_within(answer(["#5"], [ref for ref in refs if ref]), window(4, 6))
        assert refs_of(output) == [["#5"], kept] if kept else [["#5"]]
        assert count == dropped

    def test_an_answer_that_speaks_of_no_turn_of_the_window_is_empty(self) -> None:
        output, dropped = refs_within(answer(["#1"], ["first"]), window(4, 6))
        assert (output.entries, dropped) == ([], 2)

    @given(
        st.lists(st.lists(st.text("#0123456789-, x", min_size=1, max_size=8), min_size=1, max_size=4), max_size=4),
        st.integers(1, 20),
        st.integers(0, 10),
    )
    def test_what_is_kept_names_turns_of_the_window_once_an_entry(
        self, entries: list[list[str]], first: int, more: int
    ) -> None:
        entries = [[ref for ref in refs if ref.strip()] or ["#1"] for refs in entries]
        output, dropped = refs_within(answer(*entries), window(first, first + more))
        assert turns_covered(output) <= set(range(first, first + more + 1))
        assert refs_within(output, window(first, first + more)) == (output, 0)
        assert dropped or len(output.entries) == len(entries)

    def test_the_answer_itself_does_not_change(self) -> None:
        output = answer(["#4", "#9"])
        refs_within(output, window(4, 6))
        assert output == answer(["#4", "#9"])


def test_coverage_counts_turns_not_refs() -> None:
    # HID-19, RF04
    assert turns_covered(answer(["#4-#6"], ["#6", "#8"])) == {4, 5, 6, 8}
    assert turns_covered(answer()) == set()


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ü" * 8, 2)])
def test_tokens_are_a_quarter_of_the_characters_rounded_up(text: str, tokens: int) -> None:
    # TP15
    assert estimate_tokens(text) == tokens
