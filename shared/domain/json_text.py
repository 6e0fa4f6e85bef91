"""Text and JSON as they are stored and measured: UTF-8, no white space."""

import json

from shared.domain.errors import NotJsonError


def has_utf8_form(text: str) -> bool:
    """Tell whether a text can leave the process: Python's may hold halves of surrogate pairs, which UTF-8 cannot.

    A request's JSON can bring one in, and no database and no model takes it.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def compact_json(value: object) -> str:
    """Write JSON as it is stored and measured: no white space, no escapes but those JSON needs.

    Raises
    ------
    NotJsonError
        For ``NaN``, the infinities and lone surrogates, which Python reads from a request's JSON but no other reader
        would.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise NotJsonError("$", "it is no JSON value") from error
    if not has_utf8_form(text):
        raise NotJsonError("$", "a text holds a lone surrogate")
    return text
