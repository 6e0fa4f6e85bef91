"""Text as the knowledge base keeps it, and how good a text is."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Final

from shared.domain.kb.words import words_of

# Where a word was broken at the end of a line: Unicode's soft hyphen, and what PDFium writes in its place.
_BROKEN_WORD: Final = re.compile("[\u00ad\u0002\ufffe]\\s*\n\\s*(?=\\w)")
_INVISIBLE: Final = re.compile("[\u00ad\ufeff\ufffe\uffff\u200b\u2060\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_END: Final = re.compile("\r\n?|\u2028|\u2029")
_TRAILING: Final = re.compile(r"[ \t]+$", re.MULTILINE)
_GAP: Final = re.compile(r"\n{3,}")
_WIDE_BAR_IN_TABLE: Final = re.compile("^([ \t]*\\|.*)\uff5c", re.MULTILINE)

# Private use is where fonts without a map to Unicode put their glyphs; control characters are glyph numbers that were
# never translated.
_BAD: Final = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd\x00-\x08\x0e-\x1f\x7f-\x9f]")
_NOT_TEXT: Final = re.compile("[\\s\u0002\u00ad\ufffe\ufeff]")


def normalised(text: str) -> str:
    r"""Give a text in the one form in which it is kept, split, searched and shown.

    Compatibility forms become what they stand for (a search for "office" finds "oﬃce", full width becomes plain), words
    broken by a soft hyphen are joined, soft hyphens and control characters go, lines end in ``\n``.
    """
    text = _LINE_END.sub("\n", text)
    text = _BROKEN_WORD.sub("", text)
    while (escaped := _WIDE_BAR_IN_TABLE.sub(r"\1\\|", text)) != text:
        text = escaped
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return _GAP.sub("\n\n", _TRAILING.sub("", text)).strip("\n")


@dataclass(frozen=True, slots=True)
class Legibility:
    """How much of a text there is, and how much of that is no text.

    Parameters
    ----------
    characters : int
        Those that are not white space.
    bad_share : float
        Which share of them are replacement, private or control characters; 0 without any.
    """

    characters: int
    bad_share: float


def legibility(text: str) -> Legibility:
    """Measure a text as a parser gave it, before it is normalised: what is bad would be gone."""
    characters = len(_NOT_TEXT.sub("", text))
    # A broken word's mark is a control character that means something.
    bad = len(_BAD.findall(text)) - text.count("\u0002")
    return Legibility(characters, bad / characters if characters else 0.0)


def agreement(one: str, other: str) -> float:
    """Say how far two texts have the same words, whatever their order: the F1 of their words, 0 to 1."""
    counts, others = Counter(words_of(one)), Counter(words_of(other))
    total = counts.total() + others.total()
    return 2 * (counts & others).total() / total if total else 1.0
