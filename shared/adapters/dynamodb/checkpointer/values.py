"""Channel values as they are stored: lists element by element, everything else whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, TypeAlias, cast

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]

Packed: TypeAlias = tuple[str, bytes]
"""A value as the serializer gives it: its type and its bytes."""

# What the serializer calls most values. Left out where values are written, because it is nearly always this one.
_USUAL_TYPE: Final = "msgpack"

# Beyond this a list is data, not a history: to compare it element by element would cost more than it saves.
_LONGEST_LIST: Final = 50_000


@dataclass(frozen=True, slots=True)
class Whole:
    """A value that is stored and replaced as a whole."""

    packed: Packed


@dataclass(frozen=True, slots=True)
class Listed:
    """A list, element by element.

    Parameters
    ----------
    elements : sequence of tuple
        The elements, serialized one by one.
    snapshot : bool
        Whether the list is what a ``DeltaChannel`` stores from time to time, which LangGraph marks with a type.
    """

    elements: Sequence[Packed]
    snapshot: bool = field(default=False)


Stored: TypeAlias = Whole | Listed


def serialize(serde: SerializerProtocol, value: object) -> Stored:
    """Serialize a channel's value."""
    snapshot = isinstance(value, _DeltaSnapshot)
    content = value.value if snapshot else value
    # A subclass of list has a meaning of its own, which its elements do not tell.
    if type(content) is list and len(cast("list[Any]", content)) <= _LONGEST_LIST:
        dumps = serde.dumps_typed
        return Listed([_frozen(dumps(element)) for element in cast("list[Any]", content)], snapshot)
    return Whole(_frozen(serde.dumps_typed(value)))


def deserialize(serde: SerializerProtocol, stored: Stored) -> Any:  # noqa: ANN401 - whatever was stored
    """Give back a channel's value; every call makes new objects."""
    if isinstance(stored, Whole):
        return serde.loads_typed(stored.packed)
    elements = [serde.loads_typed(element) for element in stored.elements]
    return _DeltaSnapshot(elements) if stored.snapshot else elements


def digest(packed: Packed) -> bytes:
    """Give a short name that only equal values share: objects may have been changed in place, bytes tell."""
    kind, content = packed
    return blake2b(content, digest_size=16, person=kind.encode()[:16]).digest()


def to_wire(packed: Packed) -> Any:  # noqa: ANN401 - a plain structure
    """Give the form in which a value stands in a body."""
    kind, content = packed
    return content if kind == _USUAL_TYPE else [kind, content]


def from_wire(wire: Any) -> Packed:  # noqa: ANN401 - a plain structure
    """Give back what :func:`to_wire` was given."""
    if isinstance(wire, bytes):
        return _USUAL_TYPE, wire
    kind, content = wire
    return str(kind), bytes(content)


def _frozen(packed: tuple[str, bytes | bytearray]) -> Packed:
    # The serializer hands bytes and byte arrays through as they are; an array may change under our hands.
    kind, content = packed
    return kind, bytes(content)
