"""Keys of the checkpoint table collide for nothing, and keep the order that the reader counts on."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.adapters.dynamodb.checkpointer import keys
from shared.adapters.dynamodb.checkpointer.keys import EntryName, Place, entry_name
from shared.domain.errors import InvalidIdError

# Separators and escapes of the encoding, what stands beside them, and parts that are prefixes of each other.
TEXT = st.one_of(
    st.text('!"#$ab|:\x00 hw~\U0010ffff', min_size=1, max_size=5),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10),
)
NAMESPACE = st.one_of(st.just(""), TEXT)
CHECKPOINT = TEXT.filter(lambda text: not text.startswith("\U0010ffff"))
HEADS = st.tuples(TEXT, TEXT, NAMESPACE, CHECKPOINT)
WRITES = st.tuples(TEXT, TEXT, NAMESPACE, CHECKPOINT, TEXT, TEXT)


def head_key(owner, thread, namespace, checkpoint):
    return Place(owner, thread).head(namespace, checkpoint)


def writes_key(owner, thread, namespace, checkpoint, task, page):
    return Place(owner, thread).writes(namespace, checkpoint, task, page)


@settings(deadline=None)
@given(HEADS, HEADS)
def test_two_checkpoints_never_share_a_key(one, other):
    assume(one != other)
    assert head_key(*one) != head_key(*other)


@settings(deadline=None)
@given(WRITES, WRITES)
def test_two_tasks_never_share_a_key(one, other):
    assume(one != other)
    assert writes_key(*one) != writes_key(*other)


@settings(deadline=None)
@given(TEXT, TEXT, NAMESPACE, CHECKPOINT, TEXT)
def test_items_of_different_kinds_never_share_a_key(owner, thread, namespace, checkpoint, name):
    place = Place(owner, thread)
    different = {
        place.guard,
        place.head(namespace, checkpoint),
        place.writes(namespace, checkpoint, name, name),
        place.segment(namespace, checkpoint, 0),
        place.blob(namespace, checkpoint, name, 0),
        place.run_entry(name, namespace, checkpoint),
    }
    assert len(different) == 6


@settings(deadline=None)
@given(TEXT, TEXT, TEXT, TEXT)
def test_the_partition_of_a_run_is_no_threads(owner, run, other_owner, thread):
    assert keys.run_partition(owner, run) != Place(other_owner, thread).partition


@settings(deadline=None)
@given(WRITES)
def test_a_sort_key_says_what_it_stands_for(parts):
    owner, thread, namespace, checkpoint, task, page = parts
    place = Place(owner, thread)
    assert entry_name(place.head(namespace, checkpoint)[1]) == EntryName(namespace, checkpoint)
    assert entry_name(place.writes(namespace, checkpoint, task, page)[1]) == EntryName(
        namespace, checkpoint, task, page
    )
    assert entry_name(place.guard[1]) is None
    assert entry_name(place.segment(namespace, checkpoint, 1)[1]) is None
    assert keys.segment_name(place.segment(namespace, checkpoint, 7)[1]) == (namespace, checkpoint, 7)
    assert keys.blob_name(place.blob(namespace, checkpoint, task, 7)[1]) == (namespace, checkpoint, task)


@settings(deadline=None)
@given(TEXT, TEXT, NAMESPACE, CHECKPOINT)
def test_a_runs_entry_leads_to_its_checkpoint(owner, thread, namespace, checkpoint):
    key = Place(owner, thread).run_entry("run", namespace, checkpoint)
    assert keys.run_target(key) == (thread, namespace, checkpoint)


@settings(deadline=None)
@given(NAMESPACE, st.lists(CHECKPOINT, min_size=2, max_size=2, unique=True), TEXT, TEXT)
def test_read_backwards_a_checkpoint_follows_its_writes_and_precedes_older_ones(namespace, checkpoints, task, page):
    older, newer = sorted(checkpoints)
    place = Place("owner", "thread")
    backwards = [
        place.writes(namespace, newer, task, page)[1],
        place.head(namespace, newer)[1],
        place.writes(namespace, older, task, page)[1],
        place.head(namespace, older)[1],
    ]
    assert sorted(backwards, reverse=True) == backwards


@settings(deadline=None)
@given(NAMESPACE, CHECKPOINT, TEXT, TEXT)
def test_ranges_hold_what_they_name_and_the_guard_stands_on_top(namespace, checkpoint, task, page):
    place = Place("owner", "thread")
    head, writes = place.head(namespace, checkpoint)[1], place.writes(namespace, checkpoint, task, page)[1]
    for span in (keys.entries(namespace), keys.entries_of(namespace, checkpoint), keys.all_entries()):
        assert span.first <= head <= span.last
        assert span.first <= writes <= span.last
    assert keys.entries("").last == place.guard[1]
    if namespace == "":
        assert writes < place.guard[1]
    segment, blob = place.segment(namespace, checkpoint, 3)[1], place.blob(namespace, checkpoint, task, 3)[1]
    for span in (keys.segments(namespace, checkpoint, checkpoint), keys.all_segments(), keys.everything()):
        assert span.first <= segment <= span.last
    for span in (keys.namespace_blobs(namespace), keys.all_blobs(), keys.everything()):
        assert span.first <= blob <= span.last


@settings(deadline=None)
@given(st.lists(NAMESPACE, min_size=2, max_size=2, unique=True), CHECKPOINT)
def test_a_range_holds_nothing_of_another_namespace(namespaces, checkpoint):
    one, other = namespaces
    span, key = keys.entries(one), Place("owner", "thread").head(other, checkpoint)[1]
    assert not span.first <= key <= span.last


@pytest.mark.parametrize("thread", ["", "x" * 2_100, "\ud800"])
def test_a_thread_id_that_can_be_no_key_is_refused(thread):
    with pytest.raises(InvalidIdError):
        Place("owner", thread)


@pytest.mark.parametrize("checkpoint", ["", "\U0010ffff", "\U0010ffffx"])
def test_a_checkpoint_id_that_would_stand_above_the_guard_is_refused(checkpoint):
    with pytest.raises(InvalidIdError):
        Place("owner", "thread").head("", checkpoint)


def test_a_key_that_is_too_long_is_refused():
    with pytest.raises(InvalidIdError):
        Place("owner", "thread").head("n" * 1_024, "1f")
