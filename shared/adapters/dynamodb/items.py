"""Keys and items of a table, between Python's values and DynamoDB's wire."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar, cast

from shared.adapters.dynamodb.schema import (
    ITEM_MAX_BYTES,
    PARTITION_KEY_MAX_BYTES,
    PK,
    SK,
    SORT_KEY_MAX_BYTES,
    TTL,
    encode_key,
    encode_part,
    moment,
)
from shared.domain.errors import (
    CorruptItemError,
    InvalidIdError,
    InvalidInputError,
    ItemTooLargeError,
)
from shared.domain.json_text import has_utf8_form

T = TypeVar("T")

Key: TypeAlias = tuple[str, str]
"""Partition key and sort key, encoded."""

Plain: TypeAlias = "str | bytes | int | bool | datetime | Sequence[str]"
"""What an attribute of ours may be; a moment is stored as text."""

Attributes: TypeAlias = Mapping[str, Plain]


def store_key(namespace: Sequence[str], key: str) -> Key:
    """Give the key of a store item.

    Raises
    ------
    InvalidIdError
        When it has no UTF-8 form or is longer than DynamoDB takes.
    """
    return _checked((encode_part(namespace[0]), encode_key(namespace[1:], key)))


def row_of(user: str, sort_key: str) -> Key:
    """Give the key of a row of our own. Raises ``InvalidIdError`` as :func:`store_key` does."""
    return _checked((encode_part(user), sort_key))


class StoredItem:
    """An item as read, with its attributes by type.

    Each getter raises ``CorruptItemError`` for an attribute of another type and, unless a default is given, for one
    that is missing.

    Parameters
    ----------
    attributes : mapping
        The item as DynamoDB sends it.
    """

    __slots__ = ("_attributes",)

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._attributes = attributes

    @property
    def key(self) -> Key:
        """The item's key."""
        return self.text(PK), self.text(SK)

    @property
    def size(self) -> int:
        """The item's bytes as DynamoDB counts them, or slightly more."""
        return bytes_of(self._attributes)

    def has(self, name: str) -> bool:
        """Say whether the attribute is there."""
        return name in self._attributes

    def text(self, name: str, default: str | None = None) -> str:
        """Give a text."""
        return self._typed(name, "S", str, default)

    def text_or_none(self, name: str) -> str | None:
        """Give a text, or ``None`` when the attribute is missing."""
        return self.text(name) if self.has(name) else None

    def blob(self, name: str) -> bytes:
        """Give bytes."""
        return self._typed(name, "B", bytes, None)

    def number(self, name: str, default: int | None = None) -> int:
        """Give a whole number."""
        digits = self._typed(name, "N", str, None if default is None else str(default))
        try:
            return int(digits)
        except ValueError as error:
            raise CorruptItemError(f"Attribute {name} is no whole number.") from error

    def flag(self, name: str) -> bool:
        """Give a truth value; a missing one is false."""
        return self._typed(name, "BOOL", bool, default=False)

    def texts(self, name: str) -> tuple[str, ...]:
        """Give a list of texts; a missing one is empty."""
        none: list[Any] = []
        return tuple(StoredItem({name: each}).text(name) for each in self._typed(name, "L", list[Any], none))

    def moment(self, name: str) -> datetime:
        """Give a moment."""
        try:
            return datetime.fromisoformat(self.text(name))
        except ValueError as error:
            raise CorruptItemError(f"Attribute {name} is no moment.") from error

    def json_object(self, name: str, default: str | None = None) -> dict[str, Any]:
        """Give what a text attribute holds as a JSON object."""
        try:
            value = json.loads(self.text(name, default))
        except ValueError as error:
            raise CorruptItemError(f"Attribute {name} is no JSON.") from error
        if not isinstance(value, dict):
            raise CorruptItemError(f"Attribute {name} is no JSON object.")
        return cast("dict[str, Any]", value)

    def expired(self, now: datetime) -> bool:
        """Say whether the item's time is over, be it removed yet or not: DynamoDB takes up to days."""
        return self.has(TTL) and self.number(TTL) <= now.timestamp()

    def _typed(self, name: str, kind: str, as_type: type[T], default: T | None) -> T:
        attribute = self._attributes.get(name)
        if attribute is None and default is not None:
            return default
        if attribute is None or kind not in attribute:
            raise CorruptItemError(f"Attribute {name} is missing or of another type than {as_type.__name__}.")
        return cast("T", attribute[kind])


def wire(attributes: Attributes) -> dict[str, Any]:
    """Give attributes in DynamoDB's wire form."""
    return {name: wire_value(value) for name, value in attributes.items()}


def wire_key(key: Key) -> dict[str, dict[str, str]]:
    """Give a key in DynamoDB's wire form."""
    return {PK: {"S": key[0]}, SK: {"S": key[1]}}


def wire_value(value: Plain) -> dict[str, Any]:
    """Give one value in DynamoDB's wire form.

    Raises
    ------
    InvalidInputError
        When a text has no UTF-8 form.
    """
    if isinstance(value, str):
        return {"S": _checked_text(value)}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, datetime):
        return {"S": moment(value)}
    return {"L": [{"S": _checked_text(each)} for each in value]}


def bytes_of(attributes: Mapping[str, Any]) -> int:
    """Measure attributes in wire form as DynamoDB does, or slightly higher."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in attributes.items())


def check_size(size: int) -> None:
    """Refuse what DynamoDB would refuse.

    Raises
    ------
    ItemTooLargeError
        When one item may not take so many bytes.
    """
    if size > ITEM_MAX_BYTES:
        raise ItemTooLargeError("The item", size, ITEM_MAX_BYTES)


def _checked(key: Key) -> Key:
    if len(key[0].encode()) > PARTITION_KEY_MAX_BYTES or len(key[1].encode()) > SORT_KEY_MAX_BYTES:
        raise InvalidIdError("A key is longer than the database takes.")
    return key


def _checked_text(text: str) -> str:
    if not has_utf8_form(text):
        raise InvalidInputError("A text holds a lone surrogate, which has no UTF-8 form.")
    return text


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "B":
        return len(content)
    if kind == "N":
        # Two digits a byte, and one or two more: the higher figure.
        return len(content) // 2 + 2
    if kind == "L":
        return 3 + sum(1 + _value_bytes(each) for each in content)
    return 1
