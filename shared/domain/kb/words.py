"""Which words a text has, for a search that compares words."""

import re
import unicodedata
from typing import Final

# Accents of Latin, Greek and Cyrillic, and the vowel points of Hebrew and Arabic: people leave them out of questions.
_OPTIONAL_MARKS: Final = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc]"
)

# Scripts that put no space between words: Thai to Burmese, Khmer, kana, Han. And Hangul, whose words carry particles.
_UNSPACED: Final = (
    "\u0e00-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1780-\u17d3\uac00-\ud7a3"
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003fffd"
)
# The Indic scripts, whose vowel signs are marks to Unicode and part of the word to a reader.
_INDIC: Final = "\u0900-\u0963\u0966-\u0dff"

_RUN: Final = re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|(?:[{_INDIC}]|[^\\W_{_UNSPACED}])+")

_SHORTEST_PLURAL: Final = 4


def words_of(text: str) -> list[str]:
    """Give the words of a text, in order, in the form in which they are compared.

    Case, accents, width and ligatures make no difference, nor does a plural's ``s``. A run of Chinese, Japanese,
    Korean, Thai and the like is given as its pairs of neighbouring characters. What stands between words separates
    them: ``ERR_TIMEOUT-42`` is three.
    """
    folded = text.casefold() if text.isascii() else _folded(text)
    words: list[str] = []
    for run in _RUN.finditer(folded):
        if run["unspaced"] is None:
            words.append(_singular(run[0]))
        else:
            words += _pairs(run[0])
    return words


def _folded(text: str) -> str:
    spread = unicodedata.normalize("NFKD", text.casefold())
    # Composed again, or the parts of a Hangul syllable would be taken for letters.
    return unicodedata.normalize("NFC", _OPTIONAL_MARKS.sub("", spread)).casefold()


def _pairs(run: str) -> list[str]:
    return [run[n : n + 2] for n in range(len(run) - 1)] or [run]


def _singular(word: str) -> str:
    """Take an English plural's ending off; a word of another language loses no more than an ``s``."""
    if len(word) < _SHORTEST_PLURAL or word[-1] != "s" or word[-2] in "us":
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    return word[:-1]
