"""What a store item may hold, and which items a search or a listing is about."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from langgraph.store.base import MatchCondition

from shared.domain.errors import NotJsonError
from shared.domain.json_text import compact_json, has_utf8_form

_DEEPEST: Final = 200


def exact_json(value: Mapping[str, Any]) -> str:
    """Write a value as JSON from which it comes back equal, or refuse it.

    Raises
    ------
    NotJsonError
        For a tuple, a set, bytes, a date, ``NaN``, a key that is no text, …: everything that JSON would change or
        does not have.
    """
    plain = dict(value)
    _check(plain, "$", 0)
    return compact_json(plain)


def fits_filter(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Say whether an item's value fits a filter of LangGraph's: equal members, or members compared by operators.

    Numbers, and texts that are numbers, compare as numbers; other texts as texts. What cannot be compared does not
    fit.

    Raises
    ------
    ValueError
        When an operator is unknown.
    """
    return not wanted or all(_fits(value.get(key), condition) for key, condition in wanted.items())


def fits_condition(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Say whether a namespace starts, or ends, with a path in which ``*`` is any one label."""
    path = condition.path
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(
        wanted in ("*", label) for wanted, label in zip(path, labels, strict=True)
    )


def _check(value: object, path: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise NotJsonError(path, "it is nested too deep, or in itself")
    if isinstance(value, dict):
        for key, member in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                raise NotJsonError(path, f"a key is a {type(key).__name__}")
            _check_text(key, path)
            _check(member, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, member in enumerate(cast("list[object]", value)):
            _check(member, f"{path}[{index}]", depth + 1)
    elif isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise NotJsonError(path, "it is no finite number")
    elif value is not None and not isinstance(value, int | float):
        raise NotJsonError(path, f"it is a {type(value).__name__}")


def _check_text(text: str, path: str) -> None:
    if not has_utf8_form(text):
        raise NotJsonError(path, "a text holds a lone surrogate")


def _fits(value: object, wanted: object) -> bool:
    if isinstance(wanted, dict):
        conditions = cast("dict[str, object]", wanted)
        if any(key.startswith("$") for key in conditions):
            return all(_compare(value, operator, operand) for operator, operand in conditions.items())
        members = cast("dict[str, object]", value) if isinstance(value, dict) else None
        return members is not None and all(_fits(members.get(key), each) for key, each in conditions.items())
    if isinstance(wanted, list | tuple):
        members = cast("Sequence[object]", wanted)
        elements = cast("list[object]", value) if isinstance(value, list) else None
        return (
            elements is not None
            and len(elements) == len(members)
            and all(_fits(one, other) for one, other in zip(elements, members, strict=True))
        )
    return value == wanted


def _compare(value: object, operator: str, operand: object) -> bool:
    match operator:
        case "$eq":
            return value == operand
        case "$ne":
            return value != operand
        case "$gt" | "$gte" | "$lt" | "$lte":
            order = _order(value, operand)
            return order is not None and (
                (order == 0 and operator.endswith("e")) or (order > 0 if operator.startswith("$g") else order < 0)
            )
        case _:
            raise ValueError(f"Unsupported operator: {operator}")


def _order(value: object, operand: object) -> int | None:
    one, other = _number(value), _number(operand)
    if one is not None and other is not None:
        return (one > other) - (one < other)
    if isinstance(value, str) and isinstance(operand, str):
        return (value > operand) - (value < operand)
    return None


def _number(value: object) -> float | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
