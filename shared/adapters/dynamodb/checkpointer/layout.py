"""Where the elements of a long list are stored, and how a list differs from the one before it.

Once in a while the newest elements of a list are written together as a *segment*, better compressed than turn by turn
and never to be written again. A segment names the one before it, so a *slice* of a list is told by its first and its
last segment, however many lie between. A list's *layout* is slices, and between or after them loose elements, which
stand in the checkpoints themselves.

Everything here is pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias


class SegmentId(NamedTuple):
    """Which segment: the checkpoint that wrote it, and its number there."""

    checkpoint: str
    number: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Elements that stand in segments.

    Parameters
    ----------
    first, last : SegmentId
        The segments at the two ends; each segment but the first names the one before it.
    total : int
        How many elements the segments hold.
    skip, take : int
        Which of them are meant.
    """

    first: SegmentId
    last: SegmentId
    total: int
    skip: int
    take: int

    @property
    def open_ended(self) -> bool:
        """Whether the slice goes to the end of its last segment, so that a new segment can carry it on."""
        return self.skip + self.take == self.total


@dataclass(frozen=True, slots=True)
class Loose:
    """Elements that stand in no segment."""

    take: int


Piece: TypeAlias = Slice | Loose
Layout: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Copied:
    """Elements that the earlier list has too, in this order."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """Elements that the earlier list has not, by their place in the later one."""

    start: int
    count: int


Change: TypeAlias = Copied | Fresh


def length(layout: Layout) -> int:
    """Give how many elements a layout covers."""
    return sum(piece.take for piece in layout)


def join(pieces: Iterable[Piece]) -> Layout:
    """Put pieces together: what belongs together becomes one, what is empty is dropped."""
    joined: list[Piece] = []
    for piece in pieces:
        if not piece.take:
            continue
        before = joined[-1] if joined else None
        if isinstance(piece, Loose) and isinstance(before, Loose):
            joined[-1] = Loose(before.take + piece.take)
        elif isinstance(piece, Slice) and isinstance(before, Slice) and _follows(before, piece):
            joined[-1] = replace(before, take=before.take + piece.take)
        else:
            joined.append(piece)
    return tuple(joined)


def cut(layout: Layout, start: int, count: int) -> Iterator[Piece]:
    """Give the pieces that cover ``count`` elements from ``start`` on."""
    for piece in layout:
        if count <= 0:
            return
        if start < piece.take:
            take = min(count, piece.take - start)
            yield Loose(take) if isinstance(piece, Loose) else replace(piece, skip=piece.skip + start, take=take)
            start, count = 0, count - take
        else:
            start -= piece.take


def changed(layout: Layout, changes: Sequence[Change]) -> Layout:
    """Give the layout of a list that differs by ``changes`` from the one laid out."""
    return join(_pieces(layout, changes))


def _pieces(layout: Layout, changes: Sequence[Change]) -> Iterator[Piece]:
    for change in changes:
        if isinstance(change, Fresh):
            yield Loose(change.count)
        else:
            yield from cut(layout, change.start, change.count)


def _follows(before: Slice, piece: Slice) -> bool:
    same_segments = (before.first, before.last, before.total) == (piece.first, piece.last, piece.total)
    return same_segments and before.skip + before.take == piece.skip


def compare(earlier: Sequence[bytes], later: Sequence[bytes]) -> list[Change]:
    """Tell how a list differs from an earlier one, by the digests of their elements.

    Appending is by far the most common and found at once. For the rest, runs of elements that stand in both lists in
    the same order are copied wherever they stand, so that a removed or replaced element costs no more than itself.
    """
    shared = len(earlier)
    if later[:shared] == earlier:
        return _without_empty([Copied(0, shared), Fresh(shared, len(later) - shared)])
    places = {name: place for place, name in reversed(list(enumerate(earlier)))}
    changes: list[Change] = []
    at = 0
    while at < len(later):
        place = places.get(later[at])
        end = at + 1
        if place is None:
            while end < len(later) and later[end] not in places:
                end += 1
            changes.append(Fresh(at, end - at))
        else:
            while end < len(later) and place + end - at < shared and earlier[place + end - at] == later[end]:
                end += 1
            changes.append(Copied(place, end - at))
        at = end
    return changes


def _without_empty(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.count]


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A segment that is to be written.

    Parameters
    ----------
    id : SegmentId
        Its name.
    before : SegmentId or None
        The segment it carries on.
    start, count : int
        Which elements of the list it takes.
    """

    id: SegmentId
    before: SegmentId | None
    start: int
    count: int


# A list in more pieces than this is written anew as a whole: a reader needs each piece's ends.
_MOST_PIECES = 24


def plan_segments(
    layout: Layout, sizes: Sequence[int], checkpoint: str, first_number: int, max_bytes: int
) -> tuple[list[SegmentPlan], Layout]:
    """Plan the segments that take up every loose element of a list.

    Parameters
    ----------
    layout : tuple
        Where the elements stand.
    sizes : sequence of int
        The bytes of each element.
    checkpoint : str
        Which checkpoint will have written the segments.
    first_number : int
        The first segment's number.
    max_bytes : int
        What one segment may take; an element that is larger gets a segment of its own.

    Returns
    -------
    list of SegmentPlan, tuple
        The segments, and the layout once they are there.
    """
    if len(layout) > _MOST_PIECES:
        layout = (Loose(length(layout)),)
    plans: list[SegmentPlan] = []
    pieces: list[Piece] = []
    at = 0
    for piece in layout:
        if isinstance(piece, Slice):
            pieces.append(piece)
        else:
            carried_on = pieces[-1] if pieces else None
            whole = carried_on if isinstance(carried_on, Slice) and carried_on.open_ended else None
            for start, count in _groups(sizes, at, piece.take, max_bytes):
                name = SegmentId(checkpoint, first_number + len(plans))
                plans.append(SegmentPlan(name, whole.last if whole else None, start, count))
                if whole is None:
                    whole = Slice(name, name, count, 0, count)
                    pieces.append(whole)
                else:
                    whole = Slice(whole.first, name, whole.total + count, whole.skip, whole.take + count)
                    pieces[-1] = whole
        at += piece.take
    return plans, tuple(pieces)


def _groups(sizes: Sequence[int], start: int, count: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    first, room = start, max_bytes
    for at in range(start, start + count):
        if at > first and sizes[at] > room:
            yield first, at - first
            first, room = at, max_bytes
        room -= sizes[at]
    if count:
        yield first, start + count - first


def to_wire(layout: Layout) -> list[Any]:
    """Give the plain form of a layout that has no loose elements left, or of any other."""
    return [
        piece.take
        if isinstance(piece, Loose)
        else [*piece.first, *(() if piece.last == piece.first else piece.last), piece.total, piece.skip, piece.take]
        for piece in layout
    ]


def from_wire(wire: Sequence[Any]) -> Layout:
    """Give back what :func:`to_wire` was given."""
    return tuple(Loose(each) if isinstance(each, int) else slice_from_wire(each) for each in wire)


def slice_from_wire(wire: Sequence[Any]) -> Slice:
    """Read one slice."""
    *ends, total, skip, take = wire
    return Slice(SegmentId(*ends[:2]), SegmentId(*ends[-2:]), total, skip, take)
