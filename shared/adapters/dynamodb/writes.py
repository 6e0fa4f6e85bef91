"""Writes with conditions, and how expressions get their names and values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.adapters.dynamodb.items import Attributes, Key, Plain, bytes_of, check_size, wire, wire_key, wire_value
from shared.adapters.dynamodb.schema import CURRENT_SCHEMA, PK, SCHEMA_VERSION, SK, TTL

EXISTS = f"attribute_exists(#{SK})"
ABSENT = f"attribute_not_exists(#{SK})"

_NAME = re.compile(r"#(\w+)")
_VALUE = re.compile(r":(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write a whole item.

    Parameters
    ----------
    key : tuple of str
        Where.
    attributes : mapping
        Everything but the key and the schema version.
    condition : str
        With ``#name`` for attributes and ``:name`` for values; empty writes in any case.
    values : mapping
        What the condition's ``:name`` stand for.
    """

    key: Key
    attributes: Attributes
    condition: str = ""
    values: Attributes = field(default_factory=dict[str, Plain])

    def item(self) -> dict[str, Any]:
        """Give the item's wire form.

        Raises
        ------
        ItemTooLargeError
            When DynamoDB would not take it.
        """
        item = {**wire_key(self.key), **wire({SCHEMA_VERSION: CURRENT_SCHEMA, **self.attributes})}
        check_size(bytes_of(item))
        return item

    def request(self) -> dict[str, Any]:
        """Give the parameters of the call. Raises ``ItemTooLargeError`` as :meth:`item` does."""
        return {"Item": self.item(), **expressions(self.values, ConditionExpression=self.condition)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change some attributes of an item, or make it.

    Parameters
    ----------
    key : tuple of str
        Which.
    sets : sequence of str
        Assignments, with ``#name`` for attributes and ``:name`` for values.
    removes : sequence of str
        Names of attributes to drop.
    condition : str
        As in :class:`Put`.
    values : mapping
        What the ``:name`` stand for.
    """

    key: Key
    sets: Sequence[str] = ()
    removes: Sequence[str] = ()
    condition: str = ""
    values: Attributes = field(default_factory=dict[str, Plain])

    def request(self) -> dict[str, Any]:
        """Give the parameters of the call.

        Raises
        ------
        ItemTooLargeError
            When the new values alone are more than an item may hold.
        """
        check_size(bytes_of(wire(self.values)))
        sets = (*self.sets, f"#{SCHEMA_VERSION} = if_not_exists(#{SCHEMA_VERSION}, :current_schema)")
        update = f"SET {', '.join(sets)}"
        if self.removes:
            update += f" REMOVE {', '.join(f'#{name}' for name in self.removes)}"
        values = {**self.values, "current_schema": CURRENT_SCHEMA}
        return {
            "Key": wire_key(self.key),
            **expressions(values, UpdateExpression=update, ConditionExpression=self.condition),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Look at an item within a transaction.

    Parameters
    ----------
    key : tuple of str
        Which.
    condition, values
        As in :class:`Put`.
    """

    key: Key
    condition: str
    values: Attributes = field(default_factory=dict[str, Plain])

    def request(self) -> dict[str, Any]:
        """Give the parameters of the call."""
        return {"Key": wire_key(self.key), **expressions(self.values, ConditionExpression=self.condition)}


def expressions(values: Attributes, **texts: str) -> dict[str, Any]:
    """Give expressions with the names and values that stand in them.

    Every attribute is written ``#name``, so none can be one of DynamoDB's reserved words; what no expression
    mentions is left out, because DynamoDB refuses unused names and values.

    Parameters
    ----------
    values : mapping
        What ``:name`` may stand for.
    **texts : str
        The expressions by the name of their parameter; empty ones are left out.
    """
    request: dict[str, Any] = {name: text for name, text in texts.items() if text}
    everything = " ".join(texts.values())
    if names := {f"#{name}": name for name in _NAME.findall(everything)}:
        request["ExpressionAttributeNames"] = names
    if used := {f":{name}": wire_value(values[name]) for name in _VALUE.findall(everything)}:
        request["ExpressionAttributeValues"] = used
    return request


def projection(attributes: Sequence[str]) -> str:
    """Give the expression that reads these attributes only; empty, which reads all, for none.

    The keys and the expiry are always read: they are needed to judge any item.
    """
    return ", ".join(f"#{name}" for name in dict.fromkeys((PK, SK, TTL, *attributes))) if attributes else ""
