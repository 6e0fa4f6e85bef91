"""What may be saved as a value of the profile: JSON that a model can read, and no blobs."""

import math
import re
from typing import Final, cast

from shared.domain.json_text import has_utf8_form

MAX_DEPTH: Final = 32
"""Levels of nesting: far above any fact, far below what readers and writers of JSON can take."""

MAX_DIGITS: Final = 1000
"""Digits of a whole number. Python reads no more than 4300 back from text."""

# Bounded everywhere, so that a text made of beginnings costs no more than its length.
_DATA_URI: Final = re.compile(r"\bdata:(?:[\w.+-]{1,127}/[\w.+*-]{1,127})?(?:;[^;,\s]{0,127}){0,8},", re.IGNORECASE)
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{512}")


def value_fault(value: object) -> str | None:
    """Say why a value has no place in a profile; ``None`` when it has.

    Parameters
    ----------
    value : object
        The value of one patch.

    Returns
    -------
    str or None
        A reason when the value, or anything within it, is not JSON (NaN and infinities are not), holds a lone
        surrogate, is nested too deep, or holds a ``data:`` URI or a run of base64 (SM21): memory is for facts, and
        what is in it is sent with every model call.
    """
    return _fault(value, 1)


def _fault(value: object, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return f"a value may be nested {MAX_DEPTH} levels deep"
    match value:
        case None | bool():
            return None
        case str():
            return _text_fault(value)
        case int():
            return f"a number may have {MAX_DIGITS} digits" if abs(value) >= 10**MAX_DIGITS else None
        case float():
            return None if math.isfinite(value) else "NaN and infinities are no JSON"
        case list():
            members = cast("list[object]", value)
            return next((fault for member in members if (fault := _fault(member, depth + 1))), None)
        case dict():
            return _object_fault(cast("dict[object, object]", value), depth)
        case _:
            return f"a value is JSON, which {type(value).__name__} is not"


def _object_fault(members: dict[object, object], depth: int) -> str | None:
    for name, member in members.items():
        if not isinstance(name, str):
            return "the names in an object are strings"
        if fault := _text_fault(name) or _fault(member, depth + 1):
            return fault
    return None


def _text_fault(text: str) -> str | None:
    if not has_utf8_form(text):
        return "a text may not hold a lone surrogate"
    if _DATA_URI.search(text) or _BASE64_RUN.search(text):
        return "data URIs and base64 have no place in memory, save the fact in words"
    return None
