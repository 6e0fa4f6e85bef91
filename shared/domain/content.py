"""The text of a message's content, which is a string or a list of parts in the shapes of several vendors."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from shared.domain.kb.file_parts import FileIdentity, files_in

_MARKER_MAX_CHARS: Final = 200

_KINDS: Final[Mapping[str, str]] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": "file",
    "text-plain": "file",
}

_TEXTS: Final = frozenset({"text", "input_text", "output_text"})

CALL_PARTS: Final = frozenset({"tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call"})
"""Parts that stand for a tool call; vendors put them beside the message's field of calls."""

# The model's thoughts and marks for the vendor; calls are a field of the message.
_UNSPOKEN: Final = CALL_PARTS | frozenset(
    {
        "input_json_delta",
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_content",
        "cachePoint",
        "cache_point",
        # Stands beside a file, which is named already.
        "kb_ref",
    }
)

_NAME_KEYS: Final = ("filename", "file_name", "name", "title")
_ADDRESS_KEYS: Final = ("url", "image_url", "video_url", "file_url", "file_id")
_NESTED_KEYS: Final = ("file", "image", "document", "source", "metadata", "extras", *_ADDRESS_KEYS)


def is_attachment(part: object) -> bool:
    """Say whether a part of a message's content is an image, a recording or a file, in whatever vendor's shape."""
    if not isinstance(part, Mapping):
        return False
    fields = cast("Mapping[str, Any]", part)
    kind = fields.get("type") or next(iter(fields), None)
    return isinstance(kind, str) and kind in _KINDS


def says_the_same(one: object, other: object) -> bool:
    """Say whether two contents are one message, which a client may send again in another shape or in less detail.

    Parameters
    ----------
    one : object
        A string or a list of parts, as it is known.
    other : object
        As it came again: perhaps a list instead of a string, and perhaps without its images and files.

    Returns
    -------
    bool
        Whether the words are the same, and the images and the files as well if there are any in ``other``.
    """
    images = _images(other)
    same_images = not images or images == _images(one)
    return _words(one) == _words(other) and same_images and _has_files_of(one, other)


def _has_files_of(one: object, other: object) -> bool:
    known, again = files_in(one), files_in(other)
    return not again or (len(known) == len(again) and all(map(FileIdentity.may_be, known, again)))


def _words(content: object) -> str:
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    return " ".join(" ".join(part if isinstance(part, str) else _word_of(part) for part in parts).split())


def _word_of(part: object) -> str:
    match part:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            return text
        case _:
            return ""


def _images(content: object) -> list[str]:
    parts = cast("list[object]", content) if isinstance(content, list) else []
    return [data for part in parts if (data := _image_data(part))]


def _image_data(part: object) -> str | None:
    match part:
        case {"type": "image", "base64": str(data)}:
            return data
        case {"type": "image_url", "image_url": {"url": str(address)}}:
            return address.partition(",")[2] or address
        case _:
            return None


def text_of(content: object) -> str:
    """Give what a message says, as text.

    Parameters
    ----------
    content : object
        A string or a list of parts.

    Returns
    -------
    str
        The texts of the parts, a line each. An image, a recording or a file becomes a short marker with its name or
        address, so that a reader knows of it; tool calls, thoughts and cache points are no text; a part of an
        unknown kind becomes JSON (TP06). Never the bytes of anything.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return _json(content)
    return "\n".join(_part_texts(cast("list[object]", content)))


def _part_texts(parts: list[object]) -> Iterator[str]:
    for part in parts:
        text = part if isinstance(part, str) else _part_text(part)
        if text:
            yield text


def _part_text(part: object) -> str:
    if not isinstance(part, Mapping):
        return _json(part)
    fields = cast("Mapping[str, Any]", part)
    # A part without a type is the Converse API's own shape: its first key is its kind.
    kind = fields.get("type") or next(iter(fields), None)
    if not isinstance(kind, str):
        return _json(fields)
    if kind in _TEXTS and isinstance(text := fields.get("text"), str):
        return text
    if kind in _UNSPOKEN:
        return ""
    if kind in _KINDS:
        return _marker(_KINDS[kind], fields)
    return _json(fields)


def _marker(kind: str, fields: Mapping[str, Any]) -> str:
    name = _name(fields)
    return f"[{kind}: {_short(name)}]" if name else f"[{kind}]"


def _name(fields: Mapping[str, Any]) -> str | None:
    """Find a name, else an address, in the part or one level below: each vendor puts them elsewhere."""
    nested: list[object] = [fields.get(key) for key in _NESTED_KEYS]
    levels = [fields, *(cast("Mapping[str, Any]", level) for level in nested if isinstance(level, Mapping))]
    for key in (*_NAME_KEYS, *_ADDRESS_KEYS):
        for level in levels:
            value = level.get(key)
            if isinstance(value, str) and value and not value.lower().startswith("data:"):
                return value
    return None


def _json(value: object) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str) -> str:
    return text if len(text) <= _MARKER_MAX_CHARS else f"{text[:_MARKER_MAX_CHARS]}…"
