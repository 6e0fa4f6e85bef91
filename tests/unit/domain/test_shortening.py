import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from shared.domain.shortening import turns_to_lose
from shared.domain.turns import turns_of


def thread(count: int):
    return turns_of([each for number in range(count) for each in (HumanMessage(f"h{number}"), AIMessage("a"))])


@pytest.mark.parametrize(
    ("turns", "keep_recent", "buffer_turns", "lost"),
    [
        (0, 3, 2, 0),
        (4, 3, 2, 0),
        (5, 3, 2, 3),
        (6, 3, 2, 3),
        (50, 3, 2, 3),
        (3, 3, 0, 0),
        (4, 3, 0, 3),
        (50, 0, 2, 0),
        (2, 3, 5, 0),
    ],
)
def test_a_window_goes_once_it_stands_before_the_turns_that_stay(turns, keep_recent, buffer_turns, lost):
    # ST2-26; TR12 for the off switch
    found = turns_to_lose(thread(turns), keep_recent=keep_recent, buffer_turns=buffer_turns)
    assert [turn.index for turn in found] == list(range(lost))


@given(st.integers(0, 30), st.integers(-2, 10), st.integers(0, 10))
def test_the_current_turn_always_stays_and_the_oldest_go_first(turns, keep_recent, buffer_turns):
    whole = thread(turns)
    lost = turns_to_lose(whole, keep_recent=keep_recent, buffer_turns=buffer_turns)
    assert list(lost) == whole[: len(lost)]
    assert len(lost) in (0, keep_recent)
    assert not lost or turns - len(lost) >= max(buffer_turns, 1)
