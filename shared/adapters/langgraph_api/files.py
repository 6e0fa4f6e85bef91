"""Files and images in messages, in the shapes that clients send them."""

from collections.abc import Mapping
from typing import Any, Final, cast

from shared.domain.kb.file_parts import FILE

_DATA_ADDRESS: Final = "data:"
_NAMES: Final = ("filename", "file_name", "name", "title")
_KINDS: Final = ("mime_type", "mimeType", "media_type", "mediaType")
_DATA: Final = ("base64", "data", "file_data", "fileData", "url", "value")
_NESTED: Final = ("metadata", "extras", "file", "source")
_DEFAULT_NAME: Final = "file"


def file_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields of a file part in the one shape that the product keeps.

    LangChain's content blocks have ``base64``, ``mime_type`` and ``filename`` (and before version 1 ``data``, with the
    name in ``metadata``, as agent-chat-ui has it), in JavaScript ``mimeType``; OpenAI's parts have ``file`` with
    ``file_data``, an address of the form ``data:``.

    Parameters
    ----------
    given : mapping
        The part as it came.

    Returns
    -------
    dict
        ``type``, and ``filename``, ``mime_type``, ``base64`` and ``file_id`` where there is one.
    """
    levels = _levels(given)
    fields = {
        **_content(levels),
        "type": given.get("type"),
        "filename": _first(levels, _NAMES) or _DEFAULT_NAME,
        "file_id": _first(levels, ("file_id",)),
    }
    return {name: value for name, value in fields.items() if value is not None}


def image_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields of an image part in the one shape that the product keeps.

    Parameters
    ----------
    given : mapping
        The part as it came, in LangChain's shapes as for :func:`file_fields`.

    Returns
    -------
    dict
        ``type``, and ``mime_type`` and ``base64`` where there is one.
    """
    fields = {"type": given.get("type"), **_content(_levels(given))}
    return {name: value for name, value in fields.items() if value is not None}


def holds_file(value: object) -> bool:
    """Say whether a file with its bytes is somewhere in a value, in whichever of its shapes.

    Parameters
    ----------
    value : object
        As it came from JSON.
    """
    open_values = [value]
    while open_values:
        each = open_values.pop()
        if isinstance(each, Mapping):
            fields = cast("Mapping[str, Any]", each)
            if fields.get("type") == FILE and "base64" in file_fields(fields):
                return True
            open_values += fields.values()
        elif isinstance(each, list):
            open_values += cast("list[object]", each)
    return False


def _levels(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    nested = (given.get(key) for key in _NESTED)
    return [given, *(cast("Mapping[str, Any]", each) for each in nested if isinstance(each, Mapping))]


def _content(levels: list[Mapping[str, Any]]) -> dict[str, str | None]:
    data, kind = _first(levels, _DATA), _first(levels, _KINDS)
    if data is not None and data.startswith(_DATA_ADDRESS):
        head, _, data = data.partition(",")
        kind = kind or head.removeprefix(_DATA_ADDRESS).partition(";")[0]
    elif data is not None and "://" in data[:20]:
        data = None
    return {"mime_type": kind, "base64": data}


def _first(levels: list[Mapping[str, Any]], names: tuple[str, ...]) -> str | None:
    return next(
        (value for name in names for level in levels if isinstance(value := level.get(name), str) and value), None
    )
