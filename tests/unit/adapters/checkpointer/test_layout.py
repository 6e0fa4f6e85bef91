"""Lists, told by what they have in common with earlier ones, and the segments that their elements stand in."""

from hashlib import sha256

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.adapters.dynamodb.checkpointer import layout
from shared.adapters.dynamodb.checkpointer.layout import (
    Copied,
    Fresh,
    Loose,
    SegmentId,
    Slice,
    changed,
    compare,
    cut,
    join,
    length,
    plan_segments,
)

# Few different elements, so that equal ones stand in many places.
LISTS = st.lists(st.integers(0, 8).map(lambda n: sha256(bytes([n])).digest()), max_size=20)


def segment(number: int) -> SegmentId:
    return SegmentId(f"{number:03}", 0)


def applied(earlier, later, changes):
    made = []
    for change in changes:
        source = earlier if isinstance(change, Copied) else later
        made += source[change.start : change.start + change.count]
    return made


@settings(deadline=None)
@given(LISTS, LISTS)
def test_a_list_is_what_it_copies_and_what_is_fresh(earlier, later):
    assert applied(earlier, later, compare(earlier, later)) == later


@settings(deadline=None)
@given(LISTS, LISTS)
def test_nothing_is_fresh_that_the_earlier_list_has_unless_it_was_appended(earlier, later):
    assume(later[: len(earlier)] != earlier)
    fresh = [later[c.start : c.start + c.count] for c in compare(earlier, later) if isinstance(c, Fresh)]
    assert not {element for part in fresh for element in part} & set(earlier)


def names(*numbers: int) -> list[bytes]:
    return [bytes([number]) for number in numbers]


def test_an_appended_element_is_all_that_is_fresh():
    assert compare(names(1, 2, 3), names(1, 2, 3, 4)) == [Copied(0, 3), Fresh(3, 1)]


def test_an_unchanged_list_is_one_copy():
    assert compare(names(1, 2, 3), names(1, 2, 3)) == [Copied(0, 3)]
    assert compare([], []) == []


def test_a_removed_element_makes_nothing_fresh():
    assert compare(names(1, 2, 3, 4), names(1, 3, 4)) == [Copied(0, 1), Copied(2, 2)]


def test_a_replaced_element_is_all_that_is_fresh():
    assert compare(names(1, 2, 3, 4), names(1, 9, 3, 4)) == [Copied(0, 1), Fresh(1, 1), Copied(2, 2)]


def test_a_moving_window_copies_what_stays():
    assert compare(names(1, 2, 3, 4), names(3, 4, 5, 6)) == [Copied(2, 2), Fresh(2, 2)]


# Layouts over a line of segments, as lists of the elements they stand for.
PIECES = st.lists(
    st.one_of(
        st.integers(1, 5).map(Loose),
        st.builds(
            lambda skip, take, more: Slice(segment(0), segment(2), skip + take + more, skip, take),
            st.integers(0, 4),
            st.integers(1, 5),
            st.integers(0, 4),
        ),
    ),
    max_size=6,
).map(join)


def elements_of(pieces):
    """Stand-ins for the elements of a layout: segmented ones by their place in the segments, loose ones by None."""
    return [
        None if isinstance(piece, Loose) else (piece.first, piece.total, piece.skip + n)
        for piece in pieces
        for n in range(piece.take)
    ]


@settings(deadline=None)
@given(PIECES, st.data())
def test_a_part_of_a_layout_covers_the_same_elements(pieces, data):
    whole = elements_of(pieces)
    start = data.draw(st.integers(0, len(whole)))
    count = data.draw(st.integers(0, len(whole) - start))
    assert elements_of(cut(pieces, start, count)) == whole[start : start + count]


@settings(deadline=None)
@given(PIECES, st.integers(0, 30))
def test_pieces_of_one_slice_become_one_again(pieces, at):
    left = cut(pieces, 0, at)
    right = cut(pieces, at, max(0, length(pieces) - at))
    assert join([*left, *right]) == pieces


@settings(deadline=None)
@given(PIECES, st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 6)), max_size=4))
def test_a_changed_layout_covers_the_changed_list(pieces, picks):
    whole = elements_of(pieces)
    changes, expected = [], []
    for is_fresh, start, count in picks:
        if is_fresh:
            changes.append(Fresh(0, count))
            expected += [None] * count
        else:
            inside = min(start, len(whole))
            inside_count = min(count, len(whole) - inside)
            changes.append(Copied(inside, inside_count))
            expected += whole[inside : inside + inside_count]
    assert elements_of(changed(pieces, changes)) == expected


@settings(deadline=None)
@given(PIECES)
def test_a_layout_survives_being_written(pieces):
    assert layout.from_wire(layout.to_wire(pieces)) == pieces


def read(segments: dict[SegmentId, tuple[SegmentId | None, list[int]]], piece: Slice) -> list[int]:
    """Follow a slice from its last segment to its first, as a reader does."""
    line, at = [], piece.last
    while True:
        before, elements = segments[at]
        line = elements + line
        if at == piece.first:
            assert len(line) == piece.total
            return line[piece.skip : piece.skip + piece.take]
        assert before is not None
        at = before


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=8), st.integers(5, 60))
def test_segments_carry_on_from_one_another_and_hold_every_element(turns, max_bytes):
    # Each number is an element, and its size.
    elements: list[int] = []
    segments: dict[SegmentId, tuple[SegmentId | None, list[int]]] = {}
    pieces: layout.Layout = ()
    for number, fresh in enumerate(turns):
        elements += fresh
        plans, pieces = plan_segments(join([*pieces, Loose(len(fresh))]), elements, f"{number:03}", 0, max_bytes)
        for plan in plans:
            held = elements[plan.start : plan.start + plan.count]
            assert sum(held) <= max_bytes or len(held) == 1
            segments[plan.id] = (plan.before, held)
    assert len(pieces) == 1
    assert isinstance(pieces[0], Slice)
    assert read(segments, pieces[0]) == elements


def test_loose_elements_between_slices_get_a_segment_of_their_own():
    old = Slice(segment(0), segment(0), 10, 0, 4)
    rest = Slice(segment(0), segment(0), 10, 5, 5)
    plans, pieces = plan_segments((old, Loose(1), rest, Loose(2)), [1] * 12, "001", 3, 100)
    assert [(plan.id.number, plan.before, plan.start, plan.count) for plan in plans] == [
        (3, None, 4, 1),
        (4, segment(0), 10, 2),
    ]
    assert pieces == (
        old,
        Slice(SegmentId("001", 3), SegmentId("001", 3), 1, 0, 1),
        Slice(segment(0), SegmentId("001", 4), 12, 5, 7),
    )


def test_a_list_in_too_many_pieces_is_written_anew():
    pieces = tuple(Slice(segment(n), segment(n), 3, 1, 1) for n in range(25))
    plans, together = plan_segments((*pieces, Loose(1)), [1] * 26, "900", 0, 100)
    assert [(plan.start, plan.count) for plan in plans] == [(0, 26)]
    assert len(together) == 1
