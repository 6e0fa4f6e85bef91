"""Puts a checkpoint's channel values together from its records and segments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from shared.adapters.dynamodb.checkpointer import codec, layout
from shared.adapters.dynamodb.checkpointer.footprint import Footprint, ListFootprint, WholeFootprint
from shared.adapters.dynamodb.checkpointer.layout import Change, Copied, Layout, Loose, Piece, Slice
from shared.adapters.dynamodb.checkpointer.records import (
    BlobRef,
    CheckpointRecord,
    FromParent,
    Inline,
    ListRecord,
)
from shared.adapters.dynamodb.checkpointer.shelf import Shelf
from shared.adapters.dynamodb.checkpointer.values import Listed, Packed, Stored, Whole, digest
from shared.domain.errors import CorruptCheckpointError

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ListState:
    """A list channel at a checkpoint: its elements and where they stand."""

    elements: list[Packed]
    layout: Layout
    snapshot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a checkpoint comes to.

    Parameters
    ----------
    checkpoint : str
        Which.
    record : CheckpointRecord
        As stored.
    base : str
        The checkpoint that everything was started from.
    lists, wholes, blobs : mapping
        The channels' values; a blob's stands elsewhere.
    offered : bool
        Whether segments written since the base have been found.
    """

    checkpoint: str
    record: CheckpointRecord
    base: str
    lists: Mapping[str, ListState] = field(default_factory=dict[str, ListState])
    wholes: Mapping[str, Packed] = field(default_factory=dict[str, Packed])
    blobs: Mapping[str, BlobRef] = field(default_factory=dict[str, BlobRef])
    offered: bool = False

    def values(self, blobs: Mapping[BlobRef, Packed]) -> dict[str, Stored]:
        """Give the values of the channels that have one, given the blobs' contents.

        Raises
        ------
        KeyError
            When a channel should have a value and none is stored.
        """
        return {name: self._value(name, blobs) for name in self.record.present}

    def _value(self, name: str, blobs: Mapping[BlobRef, Packed]) -> Stored:
        if name in self.lists:
            return Listed(self.lists[name].elements, self.lists[name].snapshot)
        if name in self.blobs:
            return Whole(blobs[self.blobs[name]])
        return Whole(self.wholes[name])

    def footprint(self, blobs: Mapping[BlobRef, Packed], expires: int | None) -> Footprint:
        """Give what must be known to store the next checkpoint."""
        wholes = {name: WholeFootprint(digest(packed)) for name, packed in self.wholes.items()}
        wholes |= {name: WholeFootprint(digest(blobs[ref]), ref) for name, ref in self.blobs.items()}
        return Footprint(
            checkpoint=self.checkpoint,
            versions=self.record.versions,
            present=self.record.present,
            lists={
                name: ListFootprint([digest(each) for each in state.elements], state.layout, state.snapshot)
                for name, state in self.lists.items()
            },
            wholes=wholes,
            base=self.base,
            depth=self.record.depth,
            weight=self.record.weight,
            offered=self.offered,
            since=self.record.since,
            expires=expires,
        )


def blob_content(packed: Packed) -> bytes:
    """Give the content of the blob that holds a value."""
    return codec.encode(list(packed))


def blob_value(content: bytes) -> Packed:
    """Give back what :func:`blob_content` was given.

    Raises
    ------
    ValueError
        When it is not a value's blob.
    """
    try:
        kind, value = codec.decode(content)
        return kind, bytes(value)
    except TypeError as error:
        raise ValueError("The blob is not a value's.") from error


class Assembly:
    """Puts checkpoints of one shelf together; neighbours share the work.

    Parameters
    ----------
    shelf : Shelf
        Where the records and segments are.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._line: dict[str, State] = {}

    def state(self, checkpoint: str) -> State:
        """Put a checkpoint together.

        Raises
        ------
        CorruptCheckpointError
            When something of it is missing or does not fit.
        """
        known = self._line.get(checkpoint)
        if known is not None:
            return known
        try:
            return self._put_together(checkpoint)
        except CorruptCheckpointError as error:
            if error.checkpoint_id == checkpoint:
                raise
            raise self._shelf.corrupt(checkpoint, f"it needs {error.checkpoint_id}, and {error.why}") from error

    def _put_together(self, checkpoint: str) -> State:
        line = self._shelf.ancestry(checkpoint)
        needed = list(_slices(line[0][1].lists))
        offering, hoped_for = _last_offer(line)
        complete = self._shelf.segments_of([*needed, *hoped_for], checkpoint)
        if hoped_for and not complete and not self._shelf.segments_of(hoped_for, checkpoint):
            offering = None

        self._line = {}
        state: State | None = None
        for name, record in line:
            state = self._line[name] = self._next(name, record, state, offered=name == offering)
        return self._line[checkpoint]

    def _next(self, checkpoint: str, record: CheckpointRecord, before: State | None, *, offered: bool) -> State:
        corrupt = self._shelf.corrupt
        lists = dict(before.lists) if before else {}
        for name, change in record.lists.items():
            lists[name] = self._list(checkpoint, change, lists.get(name))
        gone = record.wholes.keys() | record.blobs.keys()
        # A delta channel's list has no value at most checkpoints, but the next snapshot builds on it.
        lists = {
            name: each for name, each in lists.items() if name not in gone and (name in record.present or each.snapshot)
        }
        wholes = _present({**(before.wholes if before else {}), **record.wholes}, record, lists.keys() | record.blobs)
        blobs = _present({**(before.blobs if before else {}), **record.blobs}, record, lists.keys() | record.wholes)
        absent = record.present - lists.keys() - wholes.keys() - blobs.keys()
        if absent:
            raise corrupt(checkpoint, f"{len(absent)} of its channels have no value.")

        if offered:
            for name, offered_layout in record.offer.items():
                if name not in lists or layout.length(offered_layout) != len(lists[name].elements):
                    raise corrupt(checkpoint, "its segments do not fit it.")
                lists[name] = replace(lists[name], layout=offered_layout)
        return State(
            checkpoint=checkpoint,
            record=record,
            base=before.base if before else checkpoint,
            lists=lists,
            wholes=wholes,
            blobs=blobs,
            offered=offered or bool(before and before.offered),
        )

    def _list(self, checkpoint: str, change: ListRecord, before: ListState | None) -> ListState:
        elements: list[Packed] = []
        pieces: list[Piece] = []
        for part in change.parts:
            if isinstance(part, Inline):
                elements += part.elements
                pieces.append(Loose(len(part.elements)))
            elif isinstance(part, Slice):
                elements += self._slice(part, checkpoint)
                pieces.append(part)
            elif before is None or part.start + part.count > len(before.elements):
                raise self._shelf.corrupt(checkpoint, "a list is shorter than it was.")
            else:
                elements += before.elements[part.start : part.start + part.count]
                pieces += layout.cut(before.layout, part.start, part.count)
        return ListState(elements, layout.join(pieces), change.snapshot)

    def _slice(self, piece: Slice, needed_by: str) -> Sequence[Packed]:
        line = [self._shelf.segment(piece.last, needed_by)]
        at = piece.last
        while at != piece.first:
            before = line[-1].before
            if before is None:
                raise self._shelf.corrupt(needed_by, "its segments do not go together.")
            at = before
            line.append(self._shelf.segment(at, needed_by))
        elements = [element for segment in reversed(line) for element in segment.elements]
        if len(elements) != piece.total or piece.skip + piece.take > piece.total:
            raise self._shelf.corrupt(needed_by, "its segments hold another number of elements.")
        return elements[piece.skip : piece.skip + piece.take]


def record_parts(changes: Iterable[Change], elements: Sequence[Packed]) -> list[FromParent | Inline]:
    """Give the parts of a list's record that differs from the checkpoint before."""
    return [
        FromParent(change.start, change.count)
        if isinstance(change, Copied)
        else Inline(elements[change.start : change.start + change.count])
        for change in changes
    ]


def base_parts(pieces: Layout, elements: Sequence[Packed]) -> list[Slice | Inline]:
    """Give the parts of a list's record that stands for itself."""
    parts: list[Slice | Inline] = []
    at = 0
    for piece in pieces:
        parts.append(piece if isinstance(piece, Slice) else Inline(elements[at : at + piece.take]))
        at += piece.take
    return parts


def _last_offer(line: Sequence[tuple[str, CheckpointRecord]]) -> tuple[str | None, list[Slice]]:
    """Give the last checkpoint that had segments written beside it, and what they hold."""
    for name, record in reversed(line):
        if record.offer:
            pieces = (piece for each in record.offer.values() for piece in each)
            return name, [piece for piece in pieces if isinstance(piece, Slice)]
    return None, []


def _slices(lists: Mapping[str, ListRecord]) -> Iterable[Slice]:
    return (part for each in lists.values() for part in each.parts if isinstance(part, Slice))


def _present(values: dict[str, V], record: CheckpointRecord, elsewhere: Iterable[str]) -> dict[str, V]:
    others = set(elsewhere)
    return {name: each for name, each in values.items() if name in record.present and name not in others}
