"""Files in messages, in the shapes that clients send them."""

from collections.abc import Mapping
from typing import Any, Final, cast

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
    levels = [given, *(cast("Mapping[str, Any]", given[key]) for key in _NESTED if isinstance(given.get(key), Mapping))]
    data, kind = _first(levels, _DATA), _first(levels, _KINDS)
    if data is not None and data.startswith(_DATA_ADDRESS):
        head, _, data = data.partition(",")
        kind = kind or head.removeprefix(_DATA_ADDRESS).partition(";")[0]
    elif data is not None and "://" in data[:20]:
        data = None
    fields = {
        "type": given.get("type"),
        "filename": _first(levels, _NAMES) or _DEFAULT_NAME,
        "mime_type": kind,
        "base64": data,
        "file_id": _first(levels, ("file_id",)),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _first(levels: list[Mapping[str, Any]], names: tuple[str, ...]) -> str | None:
    return next(
        (value for name in names for level in levels if isinstance(value := level.get(name), str) and value), None
    )
