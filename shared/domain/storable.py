"""What can be stored, streamed and sent to a model again of what a model says.

A model's tool calls are JSON of its own making: numbers of any length, nesting of any depth, halves of surrogate pairs.
What a checkpoint cannot hold must be found before a tool acts on it. Afterwards the tool has had its effect, and the
step that says so cannot be stored.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from shared.domain.content import CALL_PARTS
from shared.domain.json_text import has_utf8_form

MAX_DEPTH: Final = 64
"""Levels of nesting; serializers give up at some hundreds."""

SMALLEST_NUMBER: Final = -(2**63)
LARGEST_NUMBER: Final = 2**64 - 1
"""Whole numbers that msgpack knows."""

FAULTY_CALLS: Final = "faulty_calls"
"""Stands in the ``response_metadata`` of an answer whose calls cannot all be carried out."""

_BROKEN_OFF: Final = "The arguments are no complete JSON object"
_OUT_OF_TOKENS: Final = "max_tokens"
"""Why Bedrock's models stop in the middle."""
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"


def fault_in(value: object) -> str | None:
    """Say why a value cannot be stored; ``None`` when it can."""
    return _fault(value, MAX_DEPTH)


def _fault(value: object, levels: int) -> str | None:
    match value:
        case str():
            return None if has_utf8_form(value) else "A text holds half of a surrogate pair"
        case bool() | None:
            return None
        case int():
            fits = SMALLEST_NUMBER <= value <= LARGEST_NUMBER
            return None if fits else "A whole number has more than 64 bits; give it as a text"
        case float():
            return None if math.isfinite(value) else "NaN and infinities are no numbers of JSON"
        case Mapping() | list() | tuple():
            if levels == 0:
                return f"It is nested more than {MAX_DEPTH} levels deep"
            return next(
                (fault for each in _members(cast("object", value)) if (fault := _fault(each, levels - 1))), None
            )
        case _:
            return None


def fitted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Give a value without its faults: what cannot be stored as it is becomes a text that shows what it was."""
    return _fitted(value, MAX_DEPTH) if fault_in(value) else value


def _fitted(value: object, levels: int) -> object:
    match value:
        case str():
            return value if has_utf8_form(value) else _without_halves(value)
        case bool() | None:
            return value
        case int():
            return value if SMALLEST_NUMBER <= value <= LARGEST_NUMBER else hex(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping() | list() | tuple() if levels == 0:
            return "…"
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return {_fitted(key, levels - 1): _fitted(each, levels - 1) for key, each in pairs}
        case list() | tuple():
            return [_fitted(each, levels - 1) for each in cast("list[object]", value)]
        case _:
            return value


def _members(value: object) -> list[object]:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return [*pairs.keys(), *pairs.values()]
    return list(cast("list[object]", value))


def _without_halves(text: str) -> str:
    return "".join(_REPLACED if "\ud800" <= letter <= "\udfff" else letter for letter in text)


def fitted_message(message: BaseMessage) -> BaseMessage:
    """Give a message as it can be stored; the same one when nothing is wrong with it."""
    changes: dict[str, Any] = {}
    for name in ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata", "artifact"):
        value = getattr(message, name, None)
        if value is not None and fault_in(value):
            changes[name] = fitted(value)
    return message.model_copy(update=changes) if changes else message


def storable_answer(answer: AIMessage) -> AIMessage:
    """Give a model's answer as it can be stored.

    Each of its calls has an id that no other one has, and arguments that can be stored. Of calls that were not like
    that, and of those that broke off while being written, it is noted what is wrong; see :func:`faults_of_calls`.
    """
    calls: list[ToolCall] = []
    faults: dict[str, str] = {}
    for call in answer.tool_calls:
        ident = _new_id_unless_free(call["id"], calls)
        fault = fault_in(call["name"]) or fault_in(call["args"])
        if fault is not None:
            faults[ident] = fault
        calls.append({**call, "name": fitted(call["name"]), "args": fitted(call["args"]), "id": ident})
    if calls and answer.response_metadata.get("stopReason") == _OUT_OF_TOKENS:
        # What there is of its arguments may well be readable, and is not what was meant.
        faults[calls[-1]["id"] or ""] = _BROKEN_OFF
    for broken in answer.invalid_tool_calls:
        if broken["name"]:
            ident = _new_id_unless_free(broken["id"], calls)
            faults[ident] = _BROKEN_OFF
            calls.append(ToolCall(name=fitted(broken["name"]), args={}, id=ident, type="tool_call"))
    if not faults and calls == answer.tool_calls:
        return cast("AIMessage", fitted_message(answer))
    # The parts say the same as the field, in the vendor's way.
    content: Any = answer.content
    if isinstance(content, list):
        content = [part for part in cast("list[Any]", content) if not _is_call(part)]
    noted = {**answer.response_metadata, **({FAULTY_CALLS: faults} if faults else {})}
    changes = {"content": content, "tool_calls": calls, "invalid_tool_calls": [], "response_metadata": noted}
    return cast("AIMessage", fitted_message(answer.model_copy(update=changes)))


def faults_of_calls(answer: AIMessage) -> Mapping[str, str]:
    """Give what is wrong with calls of an answer that must not be carried out, by the id of the call."""
    return answer.response_metadata.get(FAULTY_CALLS, {})


def _new_id_unless_free(ident: str | None, calls: list[ToolCall]) -> str:
    if ident and has_utf8_form(ident) and all(call["id"] != ident for call in calls):
        return ident
    return f"call_{uuid4().hex}"


def _is_call(part: object) -> bool:
    return isinstance(part, dict) and cast("dict[str, Any]", part).get("type") in CALL_PARTS
