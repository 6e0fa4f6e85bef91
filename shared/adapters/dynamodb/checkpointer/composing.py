"""Decides what of a checkpoint is to be written: what its parent has already is only referred to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langgraph.checkpoint.serde.base import SerializerProtocol

from shared.adapters.dynamodb.checkpointer.assembly import base_parts, blob_content, record_parts
from shared.adapters.dynamodb.checkpointer.blobs import new_blob
from shared.adapters.dynamodb.checkpointer.footprint import Footprint, ListFootprint, WholeFootprint
from shared.adapters.dynamodb.checkpointer.layout import (
    Change,
    Copied,
    Layout,
    Loose,
    SegmentId,
    changed,
    compare,
    plan_segments,
)
from shared.adapters.dynamodb.checkpointer.records import BlobRef, CheckpointRecord, Inline, ListRecord, SegmentRecord
from shared.adapters.dynamodb.checkpointer.values import Listed, Packed, Whole, digest, serialize

# A reader needs every checkpoint since the last base, and one page of the table is to hold them.
_LONGEST_LINE: Final = 16
_HEAVIEST_LINE: Final = 32 * 1024

# A base may carry this much itself before it is worth a segment: many small segments compress badly.
_LOOSE_IN_BASE: Final = 16 * 1024

# What deflate makes of this is well within an item, and more would not compress any better.
_SEGMENT_BYTES: Final = 192 * 1024

# A value that is larger stands alone, so that the checkpoints after it can refer to it.
_WHOLE_INLINE: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A checkpoint as LangGraph hands it over.

    Parameters
    ----------
    checkpoint : str
        Its id.
    parent : str or None
        The one it follows.
    head, metadata : tuple
        The checkpoint without its id and the channels' values and versions, and its metadata, serialized.
    versions : mapping
        The channels' versions.
    new_versions : mapping
        Those that are new.
    values : mapping
        The channels' values.
    delta_channels : frozenset of str
        Channels whose value is made from the writes of the checkpoints before.
    """

    checkpoint: str
    parent: str | None
    head: Packed
    metadata: Packed
    versions: Mapping[str, str | int | float]
    new_versions: Mapping[str, str | int | float]
    values: Mapping[str, Any]
    delta_channels: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """What is to be written.

    Parameters
    ----------
    record : CheckpointRecord
        The checkpoint.
    segments : mapping
        Segments that nothing refers to yet.
    blobs : mapping
        Values that the checkpoint refers to.
    footprint : Footprint
        What will be known once everything is there.
    """

    record: CheckpointRecord
    segments: Mapping[SegmentId, SegmentRecord]
    blobs: Mapping[BlobRef, bytes]
    footprint: Footprint


@dataclass(slots=True)
class _List:
    elements: Sequence[Packed]
    digests: list[bytes]
    layout: Layout
    snapshot: bool
    changes: list[Change] | None
    """How it differs from the parent's; ``None`` when the parent has no such list."""

    @property
    def loose_bytes(self) -> int:
        at = size = 0
        for piece in self.layout:
            if isinstance(piece, Loose):
                size += sum(len(content) for _, content in self.elements[at : at + piece.take])
            at += piece.take
        return size


@dataclass(slots=True)
class _Whole:
    packed: Packed | None
    """``None`` when it is the parent's and need not be known."""
    footprint: WholeFootprint


@dataclass(slots=True)
class _Contents:
    lists: dict[str, _List] = field(default_factory=dict[str, _List])
    wholes: dict[str, _Whole] = field(default_factory=dict[str, _Whole])
    blobs: dict[BlobRef, bytes] = field(default_factory=dict[BlobRef, bytes])


ParentValues = Callable[[], Mapping[str, Listed | Whole]]
"""Gives the parent's values, those included that only the next snapshot needs."""


def compose(
    draft: Draft,
    parent: Footprint | None,
    parent_values: ParentValues,
    serde: SerializerProtocol,
    expires: int | None = None,
) -> Composed:
    """Decide what is to be written of a checkpoint.

    Parameters
    ----------
    draft : Draft
        The checkpoint.
    parent : Footprint or None
        What is known of the one before; ``None`` when there is none, and then everything is written.
    parent_values : callable
        Asked only for values that LangGraph did not hand over.
    serde : SerializerProtocol
        Serializes values.
    expires : int, optional
        When the checkpoint expires, in epoch seconds.
    """
    present = _present(draft, parent)
    contents = _contents(draft, parent, present, serde)
    carried = _carried_lists(parent, present, contents)

    long = parent is not None and (parent.depth + 1 >= _LONGEST_LINE or parent.weight >= _HEAVIEST_LINE)
    segments: dict[SegmentId, SegmentRecord] = {}
    offer: dict[str, Layout] = {}
    if long and parent is not None and not parent.offered:
        # The base comes after the segments, not with them: what it refers to must be there before it, and this way
        # neither waits for the other.
        segments, offer = _offer(draft.checkpoint, contents.lists)
    if parent is None or (long and not offer):
        record = _base(draft, present, contents, carried, parent_values, serde)
        base, depth, weight = draft.checkpoint, 0, 0
    else:
        record, weight = _following(draft, parent, present, contents)
        base, depth, weight = parent.base, parent.depth + 1, parent.weight + weight
    record = replace(
        record,
        depth=depth,
        weight=weight,
        offer=offer,
        since=_since(draft, parent, present),
    )
    lists = {
        name: ListFootprint(each.digests, offer.get(name, each.layout), each.snapshot)
        for name, each in contents.lists.items()
    }
    return Composed(
        record=record,
        segments=segments,
        blobs=contents.blobs,
        footprint=Footprint(
            checkpoint=draft.checkpoint,
            versions=draft.versions,
            present=present,
            lists=lists | carried,
            wholes={name: each.footprint for name, each in contents.wholes.items()},
            base=base,
            depth=depth,
            weight=weight,
            offered=bool(offer) or (parent is not None and parent.offered and base != draft.checkpoint),
            since=record.since,
            expires=expires,
        ),
    )


def _present(draft: Draft, parent: Footprint | None) -> frozenset[str]:
    return frozenset(name for name in draft.versions if name in draft.values or _unchanged(name, draft, parent))


def _unchanged(name: str, draft: Draft, parent: Footprint | None) -> bool:
    """Say whether a channel has the parent's value, as its version tells."""
    return (
        parent is not None
        and name not in draft.new_versions
        and name in parent.present
        and parent.versions.get(name) == draft.versions[name]
    )


def _contents(draft: Draft, parent: Footprint | None, present: frozenset[str], serde: SerializerProtocol) -> _Contents:
    contents = _Contents()
    parent_lists: Mapping[str, ListFootprint] = parent.lists if parent else {}
    parent_wholes: Mapping[str, WholeFootprint] = parent.wholes if parent else {}
    for name in sorted(present):
        if name in parent_wholes and _unchanged(name, draft, parent):
            contents.wholes[name] = _Whole(None, parent_wholes[name])
        elif name in draft.values:
            # Lists are always looked at: a message that was changed in place has the same version as before.
            stored = serialize(serde, draft.values[name])
            if isinstance(stored, Listed):
                contents.lists[name] = _listed(stored, parent_lists.get(name))
            else:
                contents.wholes[name] = _whole(name, stored.packed, parent_wholes.get(name), draft, contents.blobs)
    return contents


def _listed(stored: Listed, before: ListFootprint | None) -> _List:
    digests = [digest(element) for element in stored.elements]
    if before is None:
        return _List(stored.elements, digests, (Loose(len(digests)),) if digests else (), stored.snapshot, None)
    changes = compare(before.digests, digests)
    return _List(stored.elements, digests, changed(before.layout, changes), stored.snapshot, changes)


def _whole(
    name: str, packed: Packed, before: WholeFootprint | None, draft: Draft, blobs: dict[BlobRef, bytes]
) -> _Whole:
    name_of_value = digest(packed)
    if before is not None and before.digest == name_of_value:
        return _Whole(packed, before)
    if len(packed[1]) <= _WHOLE_INLINE:
        return _Whole(packed, WholeFootprint(name_of_value))
    content = blob_content(packed)
    ref = new_blob(draft.checkpoint, content)
    blobs[ref] = content
    return _Whole(packed, WholeFootprint(name_of_value, ref))


def _carried_lists(parent: Footprint | None, present: frozenset[str], contents: _Contents) -> dict[str, ListFootprint]:
    """Give the parent's lists that stay as they are; a delta channel's also while it has no value."""
    if parent is None:
        return {}
    return {
        name: each
        for name, each in parent.lists.items()
        if name not in contents.lists and name not in contents.wholes and (name in present or each.snapshot)
    }


def _offer(checkpoint: str, lists: Mapping[str, _List]) -> tuple[dict[SegmentId, SegmentRecord], dict[str, Layout]]:
    segments: dict[SegmentId, SegmentRecord] = {}
    offer: dict[str, Layout] = {}
    if sum(each.loose_bytes for each in lists.values()) <= _LOOSE_IN_BASE:
        return segments, offer
    for name, each in lists.items():
        sizes = [len(content) for _, content in each.elements]
        plans, layout = plan_segments(each.layout, sizes, checkpoint, len(segments), _SEGMENT_BYTES)
        if plans:
            offer[name] = layout
        for plan in plans:
            segments[plan.id] = SegmentRecord(plan.before, each.elements[plan.start : plan.start + plan.count])
    return segments, offer


def _base(
    draft: Draft,
    present: frozenset[str],
    contents: _Contents,
    carried: Mapping[str, ListFootprint],
    parent_values: ParentValues,
    serde: SerializerProtocol,
) -> CheckpointRecord:
    lists = {
        name: ListRecord(base_parts(each.layout, each.elements), each.snapshot) for name, each in contents.lists.items()
    }
    for name, each in carried.items():
        elements: Sequence[Packed] = ()
        if any(isinstance(piece, Loose) for piece in each.layout):
            stored = parent_values()[name]
            elements = stored.elements if isinstance(stored, Listed) else ()
        lists[name] = ListRecord(base_parts(each.layout, elements), each.snapshot)
    wholes: dict[str, Packed] = {}
    for name, each in contents.wholes.items():
        if each.footprint.blob is None:
            wholes[name] = each.packed or _packed(name, draft, parent_values, serde)
    return replace(
        _bare(draft, present),
        lists=lists,
        wholes=wholes,
        blobs=_refs(contents.wholes.items()),
    )


def _packed(name: str, draft: Draft, parent_values: ParentValues, serde: SerializerProtocol) -> Packed:
    if name in draft.values:
        stored = serialize(serde, draft.values[name])
        if isinstance(stored, Whole):
            return stored.packed
    stored = parent_values()[name]
    return stored.packed if isinstance(stored, Whole) else serde.dumps_typed([])


def _following(
    draft: Draft, parent: Footprint, present: frozenset[str], contents: _Contents
) -> tuple[CheckpointRecord, int]:
    lists: dict[str, ListRecord] = {}
    for name, each in contents.lists.items():
        before = parent.lists.get(name)
        changes = each.changes if each.changes is not None else compare([], each.digests)
        if before is not None and changes == _same(before) and before.snapshot == each.snapshot:
            continue
        lists[name] = ListRecord(record_parts(changes, each.elements), each.snapshot)
    wholes: dict[str, Packed] = {}
    refs: dict[str, BlobRef] = {}
    for name, each in contents.wholes.items():
        if parent.wholes.get(name) == each.footprint:
            continue
        if each.footprint.blob is not None:
            refs[name] = each.footprint.blob
        elif each.packed is not None:
            wholes[name] = each.packed
    record = replace(_bare(draft, present), lists=lists, wholes=wholes, blobs=refs)
    inline = [part.elements for each in lists.values() for part in each.parts if isinstance(part, Inline)]
    weight = sum(len(content) for elements in inline for _, content in elements)
    weight += sum(len(content) for _, content in (*wholes.values(), draft.head, draft.metadata))
    return record, weight


def _same(before: ListFootprint) -> list[Change]:
    return [Copied(0, len(before.digests))] if before.digests else []


def _bare(draft: Draft, present: frozenset[str]) -> CheckpointRecord:
    return CheckpointRecord(
        checkpoint=draft.head,
        metadata=draft.metadata,
        versions=draft.versions,
        parent=draft.parent,
        present=present,
    )


def _refs(wholes: Iterable[tuple[str, _Whole]]) -> dict[str, BlobRef]:
    return {name: each.footprint.blob for name, each in wholes if each.footprint.blob is not None}


def _since(draft: Draft, parent: Footprint | None, present: frozenset[str]) -> dict[str, str]:
    """Give, for delta channels without a value, the checkpoint down to which their history reaches."""
    if parent is None:
        return {}
    return {
        name: parent.since.get(name, parent.checkpoint) for name in sorted(draft.delta_channels) if name not in present
    }
