"""Values of a graph's state as JSON, messages as LangGraph's own server writes them."""

import base64
import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final, cast

import orjson
from langchain_core.messages import BaseMessage, BaseMessageChunk
from pydantic import BaseModel

_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


class JsonEncoder:
    """Writes JSON; a message that was written before is not written anew.

    A run sends its whole state after every step, and most of it is the thread's past. One encoder a run.
    """

    def __init__(self) -> None:
        # By identity; the message is kept so that the identity stays taken.
        self._written: dict[int, tuple[BaseMessage, orjson.Fragment]] = {}

    def encode(self, value: object) -> bytes:
        """Give a value as JSON. Never raises: what JSON does not know is written as its kind's name."""
        try:
            return orjson.dumps(value, default=self._encodable, option=_OPTIONS)
        except TypeError:
            # Numbers beyond 64 bits and lone surrogates, which orjson has no form for.
            return json.dumps(_plain(value), default=str).encode()

    def _encodable(self, value: object) -> object:
        if not isinstance(value, BaseMessage):
            return _encodable(value)
        if isinstance(value, BaseMessageChunk):
            return value.model_dump()
        known = self._written.get(id(value))
        if known is None:
            known = (value, orjson.Fragment(orjson.dumps(value.model_dump(), default=_encodable, option=_OPTIONS)))
            self._written[id(value)] = known
        return known[1]


def encode(value: object) -> bytes:
    """Give one value as JSON."""
    return JsonEncoder().encode(value)


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
