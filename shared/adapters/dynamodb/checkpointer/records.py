"""What the bodies of checkpoints, segments and writes say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shared.adapters.dynamodb.checkpointer import codec, layout, values
from shared.adapters.dynamodb.checkpointer.layout import Layout, SegmentId, Slice
from shared.adapters.dynamodb.checkpointer.values import Listed, Packed, Stored, Whole


@dataclass(frozen=True, slots=True)
class FromParent:
    """Elements of the list as the checkpoint before had it."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Inline:
    """Elements that stand in this checkpoint."""

    elements: Sequence[Packed]


ListPart: TypeAlias = FromParent | Inline | Slice


@dataclass(frozen=True, slots=True)
class ListRecord:
    """A list channel: how its value is put together."""

    parts: Sequence[ListPart]
    snapshot: bool = False


@dataclass(frozen=True, slots=True)
class BlobRef:
    """A value that stands in items of its own: who wrote it, its name there, and in how many parts."""

    checkpoint: str
    name: str
    parts: int


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """A delta channel's history, taken over from checkpoints that are gone.

    Parameters
    ----------
    writes : sequence
        Task and value of each write, oldest first.
    seed : Listed, Whole or None
        The stored value that the writes start from; ``None`` for an empty one.
    """

    writes: Sequence[tuple[str, Packed]]
    seed: Stored | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecord:
    """A checkpoint as it is stored.

    Parameters
    ----------
    checkpoint : tuple
        LangGraph's checkpoint without its id and the channels' values and versions, serialized.
    metadata : tuple
        Its metadata, serialized.
    versions : mapping
        The channels' versions.
    parent : str or None
        The checkpoint it follows, as LangGraph was told.
    depth : int
        How many steps back it is to the *base*, the ancestor that says everything itself; each checkpoint after that
        one says how it differs from its parent. 0 for a base.
    weight : int
        How many bytes the checkpoints since the base hold.
    present : frozenset of str
        The channels that have a value.
    lists : mapping
        The list channels that are new or have changed.
    wholes : mapping
        The other channels that are new or have changed.
    blobs : mapping
        Those of them that are too large to stand here.
    offer : mapping
        Where the lists' elements stand once the segments are there that were written beside this checkpoint. Whether
        they are is not certain until they have been seen.
    since : mapping
        For each delta channel that has no value here, the oldest checkpoint that its history may need.
    folded : mapping
        Histories of delta channels whose older checkpoints are gone.
    """

    checkpoint: Packed
    metadata: Packed
    versions: Mapping[str, str | int | float]
    parent: str | None
    depth: int = 0
    weight: int = 0
    present: frozenset[str] = frozenset()
    lists: Mapping[str, ListRecord] = field(default_factory=dict[str, ListRecord])
    wholes: Mapping[str, Packed] = field(default_factory=dict[str, Packed])
    blobs: Mapping[str, BlobRef] = field(default_factory=dict[str, BlobRef])
    offer: Mapping[str, Layout] = field(default_factory=dict[str, Layout])
    since: Mapping[str, str] = field(default_factory=dict[str, str])
    folded: Mapping[str, FoldedHistory] = field(default_factory=dict[str, FoldedHistory])

    def body(self) -> bytes:
        """Give the record as an item's body."""
        optional: dict[str, Any] = {
            "l": {name: _list_to_wire(each) for name, each in self.lists.items()},
            "w": {name: values.to_wire(each) for name, each in self.wholes.items()},
            "b": {name: [each.checkpoint, each.name, each.parts] for name, each in self.blobs.items()},
            "o": {name: layout.to_wire(each) for name, each in self.offer.items()},
            "s": dict(self.since),
            "f": {name: _folded_to_wire(each) for name, each in self.folded.items()},
        }
        main = [
            values.to_wire(self.checkpoint),
            values.to_wire(self.metadata),
            dict(self.versions),
            self.parent,
            self.depth,
            self.weight,
            sorted(self.present),
        ]
        return codec.encode([*main, {name: each for name, each in optional.items() if each}])

    @classmethod
    def read(cls, body: bytes) -> "CheckpointRecord":
        """Read an item's body.

        Raises
        ------
        ValueError
            When it is not a checkpoint's.
        """
        try:
            checkpoint, metadata, versions, parent, depth, weight, present, optional = codec.decode(body)
            return cls(
                checkpoint=values.from_wire(checkpoint),
                metadata=values.from_wire(metadata),
                versions=dict(versions),
                parent=parent,
                depth=depth,
                weight=weight,
                present=frozenset(present),
                lists={name: _list_from_wire(each) for name, each in optional.get("l", {}).items()},
                wholes={name: values.from_wire(each) for name, each in optional.get("w", {}).items()},
                blobs={name: BlobRef(*each) for name, each in optional.get("b", {}).items()},
                offer={name: layout.from_wire(each) for name, each in optional.get("o", {}).items()},
                since=optional.get("s", {}),
                folded={name: _folded_from_wire(each) for name, each in optional.get("f", {}).items()},
            )
        except (TypeError, AttributeError, KeyError, IndexError) as error:
            raise ValueError("The body is not a checkpoint's.") from error


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """Elements of a list that were written together.

    Parameters
    ----------
    before : SegmentId or None
        The segment that this one carries on.
    elements : sequence of tuple
        The elements.
    """

    before: SegmentId | None
    elements: Sequence[Packed]

    def body(self) -> bytes:
        """Give the record as an item's body."""
        before = list(self.before) if self.before else None
        return codec.encode([before, [values.to_wire(element) for element in self.elements]])

    @classmethod
    def read(cls, body: bytes) -> "SegmentRecord":
        """Read an item's body. Raises ``ValueError`` when it is not a segment's."""
        try:
            before, elements = codec.decode(body)
            return cls(SegmentId(*before) if before else None, [values.from_wire(element) for element in elements])
        except TypeError as error:
            raise ValueError("The body is not a segment's.") from error


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """One write of a task.

    Parameters
    ----------
    channel : str
        The channel it goes to.
    task_path : str
        Where the task stands in the graph; writes are applied in this order.
    value : tuple or BlobRef
        What is written.
    """

    channel: str
    task_path: str
    value: Packed | BlobRef

    def body(self) -> bytes:
        """Give the record as an attribute's bytes."""
        if isinstance(self.value, BlobRef):
            return codec.encode([self.channel, self.task_path, None, *_blob_to_wire(self.value)])
        return codec.encode([self.channel, self.task_path, values.to_wire(self.value)])

    @classmethod
    def read(cls, body: bytes) -> "WriteRecord":
        """Read an attribute's bytes. Raises ``ValueError`` when they are not a write's."""
        try:
            channel, task_path, value, *blob = codec.decode(body)
            return cls(channel, task_path, BlobRef(*blob) if blob else values.from_wire(value))
        except TypeError as error:
            raise ValueError("The bytes are not a write's.") from error


def _blob_to_wire(ref: BlobRef) -> list[Any]:
    return [ref.checkpoint, ref.name, ref.parts]


def _list_to_wire(record: ListRecord) -> list[Any]:
    parts: list[Any] = []
    for part in record.parts:
        if isinstance(part, FromParent):
            parts.append([0, part.start, part.count])
        elif isinstance(part, Inline):
            parts.append([1, *map(values.to_wire, part.elements)])
        else:
            parts.append([2, *layout.to_wire((part,))[0]])
    return [int(record.snapshot), *parts]


def _list_from_wire(wire: Sequence[Any]) -> ListRecord:
    snapshot, *parts = wire
    return ListRecord([_part_from_wire(kind, rest) for kind, *rest in parts], bool(snapshot))


def _part_from_wire(kind: int, rest: Sequence[Any]) -> ListPart:
    if kind == 0:
        return FromParent(*rest)
    if kind == 1:
        return Inline([values.from_wire(element) for element in rest])
    if kind == 2:
        return layout.slice_from_wire(rest)
    raise ValueError(f"List part of unknown kind {kind}.")


def _folded_to_wire(history: FoldedHistory) -> list[Any]:
    writes = [[task, values.to_wire(value)] for task, value in history.writes]
    if history.seed is None:
        return [writes]
    if isinstance(history.seed, Whole):
        return [writes, values.to_wire(history.seed.packed)]
    return [writes, int(history.seed.snapshot), [values.to_wire(each) for each in history.seed.elements]]


def _folded_from_wire(wire: Sequence[Any]) -> FoldedHistory:
    writes, *seed = wire
    stored: Stored | None = None
    if len(seed) == 1:
        stored = Whole(values.from_wire(seed[0]))
    elif seed:
        stored = Listed([values.from_wire(each) for each in seed[1]], bool(seed[0]))
    return FoldedHistory([(task, values.from_wire(value)) for task, value in writes], stored)
