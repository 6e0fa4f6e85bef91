"""Values of a graph's state as JSON, messages as LangGraph's own server writes them."""

import base64
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import orjson
from langchain_core.messages import BaseMessage, BaseMessageChunk
from pydantic import BaseModel

_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def message_text(message: BaseMessage) -> bytes:
    """Give a message as JSON. Never raises."""
    return _dumped(message.model_dump(), _encodable)


def encode(value: object, message: Callable[[BaseMessage], bytes] = message_text) -> bytes:
    """Give a value as JSON. Never raises: what JSON does not know is written as its kind's name.

    Parameters
    ----------
    value : object
        Anything.
    message : callable, optional
        Gives what is written for a whole message; parts of one are always written as they are.
    """

    def encodable(value: object) -> object:
        if isinstance(value, BaseMessage) and not isinstance(value, BaseMessageChunk):
            return orjson.Fragment(message(value))
        return _encodable(value)

    return _dumped(value, encodable)


def _dumped(value: object, encodable: Callable[[object], object]) -> bytes:
    try:
        return orjson.dumps(value, default=encodable, option=_OPTIONS)
    except TypeError:
        # Numbers beyond 64 bits and lone surrogates, which orjson has no form for.
        return json.dumps(_plain(value), default=str).encode()


def _encodable(value: object) -> object:
    """Give what JSON knows for something that it does not."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Of an interrupt clients know value and id; what is not there is left out.
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: field for name, field in fields.items() if field is not None or name == "value"}
    if isinstance(value, set | frozenset):
        return list(cast("set[Any]", value))
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple | Mapping):
        return _plain(cast("object", value))
    # No text of unknown objects: an error's may tell more than a client is to know.
    return f"<{type(value).__name__}>"


def _plain(value: object) -> object:
    """Give a value in JSON's own types, for the slow way."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[object]", value)]
    if isinstance(value, BaseModel):
        return _plain(value.model_dump())
    if hasattr(value, "isoformat"):
        return cast("Any", value).isoformat()
    return _plain(_encodable(value))
