"""Ranking by words: Okapi BM25, in the form that has no negative weights."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shared.domain.kb.words import words_of

SATURATION: Final = 1.2
"""k1: how soon more of the same word stops to count."""
LENGTH_WEIGHT: Final = 0.75
"""b: how much a long text is held against it."""


class Postings:
    """Which of some texts have which words, and how often.

    Texts that come and go together belong in one of these; a search takes as many as it is about.

    Parameters
    ----------
    texts : iterable of str
        Are known by their place from here on.

    Attributes
    ----------
    words : int
        How many words the texts have together.
    """

    __slots__ = ("_lengths", "_occurrences", "words")

    def __init__(self, texts: Iterable[str]) -> None:
        # Place and count alternate: an array takes a tenth of what a list of pairs would.
        self._occurrences: dict[str, array[int]] = {}
        self._lengths = array("L")
        for place, text in enumerate(texts):
            counts = Counter(words_of(text))
            self._lengths.append(counts.total())
            for word, count in counts.items():
                self._occurrences.setdefault(word, array("L")).extend((place, count))
        self.words = sum(self._lengths)

    def __len__(self) -> int:
        return len(self._lengths)

    def scores(self, rarities: Mapping[str, float], average_length: float) -> dict[int, float]:
        """Score the texts that have any of some words.

        Parameters
        ----------
        rarities : mapping
            How much each word counts.
        average_length : float
            In words, of all the texts that are searched.
        """
        scores: dict[int, float] = {}
        lengths, same = self._lengths, SATURATION * (1 - LENGTH_WEIGHT)
        longer = SATURATION * LENGTH_WEIGHT / average_length
        for word, rarity in rarities.items():
            weight = rarity * (SATURATION + 1)
            alternating = iter(self._occurrences.get(word, ()))
            for place, count in zip(alternating, alternating, strict=True):
                score = weight * count / (count + same + longer * lengths[place])
                scores[place] = scores.get(place, 0.0) + score
        return scores

    def texts_with(self, word: str) -> int:
        """Count the texts that have the word."""
        return len(self._occurrences.get(word, ())) // 2


def bm25_scores(question: str, shelves: Sequence[Postings]) -> Mapping[tuple[int, int], float]:
    """Score the texts that have words of a question.

    What is rare is judged within ``shelves``: in a search of one document a word is rare when that document hardly
    has it.

    Returns
    -------
    mapping
        By number of the shelf and place on it. Texts without any of the words are left out.
    """
    texts = sum(map(len, shelves))
    if not texts:
        return {}
    average = max(sum(shelf.words for shelf in shelves) / texts, 1.0)
    rarities = {
        word: times * math.log(1 + (texts - having + 0.5) / (having + 0.5))
        for word, times in Counter(words_of(question)).items()
        if (having := sum(shelf.texts_with(word) for shelf in shelves))
    }
    return {
        (number, place): score
        for number, shelf in enumerate(shelves)
        for place, score in shelf.scores(rarities, average).items()
    }
