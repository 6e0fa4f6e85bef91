import math

import pytest

from shared.domain.kb.bm25 import Postings, bm25_scores

TEXTS = [
    "the lease renews every ten seconds",
    "the the the the the",
    "a lease is a lease is a lease",
    "nothing to see",
]


def ranked(question, *shelves):
    scores = bm25_scores(question, shelves)
    return sorted(scores, key=lambda key: -scores[key])


def test_a_score_is_what_the_formula_gives():
    """Counted by hand for one text and one word: KB24."""
    scores = bm25_scores("seconds", [Postings(TEXTS)])
    rarity = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    average = (6 + 5 + 8 + 3) / 4
    assert scores == {(0, 0): pytest.approx(rarity * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / average)))}


def test_texts_without_any_of_the_words_are_left_out():
    assert (0, 3) not in bm25_scores("lease", [Postings(TEXTS)])
    assert bm25_scores("zebra", [Postings(TEXTS)]) == {}
    assert bm25_scores("", [Postings(TEXTS)]) == {}
    assert bm25_scores("lease", []) == {}
    assert bm25_scores("lease", [Postings([""])]) == {}


def test_a_rare_word_counts_for_more_than_a_frequent_one():
    assert ranked("the seconds", Postings(TEXTS))[0] == (0, 0)


def test_more_of_a_word_counts_for_more_and_length_against_it():
    shelf = Postings(["tea", "tea tea", "tea " + "water " * 30])
    assert ranked("tea", shelf) == [(0, 1), (0, 0), (0, 2)]


def test_scores_do_not_depend_on_how_the_texts_are_shelved():
    together = bm25_scores("the lease of ten", [Postings(TEXTS)])
    apart = bm25_scores("the lease of ten", [Postings(TEXTS[:1]), Postings([]), Postings(TEXTS[1:])])
    places = {(0, 0): (0, 0), (0, 1): (2, 0), (0, 2): (2, 1)}
    assert {places[key]: pytest.approx(score) for key, score in together.items()} == apart


def test_what_is_rare_is_judged_among_the_shelves_that_are_searched():
    common, other = Postings(["lease", "lease", "lease"]), Postings(["lease", "other", "other", "other"])
    assert bm25_scores("lease", [other])[0, 0] > bm25_scores("lease", [common, other])[1, 0]
