"""Text to the word pieces that the model was trained on, as BERT's uncased tokenizer makes them."""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

UNKNOWN: Final = 100
START: Final = 101
END: Final = 102

_LONGEST_WORD: Final = 100

# Every Han character is a word of its own.
_HAN: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# Control and format characters, halves of pairs, private use.
_NOTHING: Final = frozenset({"Cc", "Cf", "Cs", "Co"})
# What ASCII counts as symbols counts as punctuation here.
_ASCII_MARKS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def pieces_of(text: str) -> list[int]:
    """Give the ids of a text's pieces, without those that mark start and end.

    Marks such as ``[SEP]`` are text when they stand in a text.
    """
    vocabulary = _vocabulary()
    return [piece for word in _words(text) for piece in _pieces(word, vocabulary)]


@cache
def _vocabulary() -> dict[str, int]:
    lines = (Path(__file__).parent / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}


def _words(text: str) -> Iterator[str]:
    for chunk in _plain(text).split():
        start = 0
        for n, char in enumerate(chunk):
            if _stands_alone(char):
                if start < n:
                    yield chunk[start:n]
                yield char
                start = n + 1
        if start < len(chunk):
            yield chunk[start:]


def _plain(text: str) -> str:
    """Fold case and accents; what shows as nothing goes, every kind of space becomes one."""
    if text.isascii():
        return "".join(char if char.isprintable() or char in "\t\n\r" else "" for char in text).lower()
    kept = "".join(" " if char.isspace() else char for char in text if not _is_nothing(char))
    spread = unicodedata.normalize("NFD", kept)
    # One by one: as a whole, a Greek word's last letter would become another.
    return "".join(char.lower() for char in spread if unicodedata.category(char) != "Mn")


def _is_nothing(char: str) -> bool:
    return char == "\ufffd" or (char not in "\t\n\r" and unicodedata.category(char) in _NOTHING)


def _stands_alone(char: str) -> bool:
    if char.isascii():
        return char in _ASCII_MARKS
    code = ord(char)
    return unicodedata.category(char)[0] == "P" or any(first <= code <= last for first, last in _HAN)


def _pieces(word: str, vocabulary: dict[str, int]) -> Sequence[int]:
    """Cut a word into the longest known pieces from its beginning."""
    if len(word) > _LONGEST_WORD:
        return (UNKNOWN,)
    pieces: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = vocabulary.get(("##" if start else "") + word[start:end])
            if piece is not None:
                pieces.append(piece)
                start = end
                break
        else:
            return (UNKNOWN,)
    return pieces
