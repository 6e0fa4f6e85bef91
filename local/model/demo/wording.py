"""Cutting the user's text into clauses, and turning phrases into keys and keys into phrases."""

import json
import re
from typing import Any, Final

_SENTENCE: Final = re.compile(r"[^.!?\n]+(?:\.(?=\w)[^.!?\n]+)*[.!?]*")
_CONJUNCTION: Final = re.compile(
    r"(?:,|;)?\s+(?:and|but)\s+(?=(?:i|i'm|i've|my|call me)\b)|[;]\s+|,\s+(?=(?:i|i'm|my)\s)", re.IGNORECASE
)
_MAX_KEY = 64


def clauses(text: str) -> list[str]:
    """Cut statements into clauses; questions are left out."""
    found: list[str] = []
    for sentence in _SENTENCE.findall(text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        stripped = sentence.strip()
        if stripped.endswith("?"):
            continue
        found.extend(part.strip(" .!,;") for part in _CONJUNCTION.split(stripped))
    return [clause for clause in found if clause]


def key_from(phrase: str) -> str:
    """Make a legal profile key from a phrase; empty when nothing of it can stand in one."""
    return re.sub(r"[^\w]+", "_", phrase.strip().lower()).strip("_")[:_MAX_KEY].lstrip("0123456789")


def phrase_from(key: str) -> str:
    """Make a key readable."""
    return key.replace("_", " ").replace("-", " ")


def plain(value: Any) -> str:  # noqa: ANN401 - a profile value may be any JSON
    """Write a JSON value the way a person would."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " and ".join([", ".join(value[:-1]), value[-1]] if len(value) > 1 else value)
    return json.dumps(value, ensure_ascii=False)


def shortened(text: str, limit: int) -> str:
    """Cut a text at a word's end so that it has at most ``limit`` characters."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:.")
    return f"{cut}…"
