import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.kb.fusion import fuse_ranks


def test_scores_are_reciprocal_ranks_with_sixty():
    """KB24."""
    assert fuse_ranks(["a", "b"], ["b"]) == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
    ]


def test_no_ranking_gives_nothing():
    assert fuse_ranks() == fuse_ranks([], []) == []


def test_equals_stay_in_the_order_in_which_they_were_named():
    assert [thing for thing, _ in fuse_ranks(["a"], ["b"])] == ["a", "b"]


@settings(deadline=None)
@given(st.permutations("abcdef"))
def test_one_ranking_stays_as_it_is(ranking):
    assert [thing for thing, _ in fuse_ranks(ranking)] == ranking


@settings(deadline=None)
@given(st.permutations("abcdef"), st.permutations("abcdef"))
def test_what_is_better_in_every_ranking_is_better_in_the_whole(one, other):
    place = {thing: n for n, (thing, _) in enumerate(fuse_ranks(one, other))}
    for first in "abcdef":
        for second in "abcdef":
            if one.index(first) < one.index(second) and other.index(first) < other.index(second):
                assert place[first] < place[second]
