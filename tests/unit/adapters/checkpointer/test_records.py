"""What the bodies of checkpoints, segments and writes say is read back as it was."""

import pytest

from shared.adapters.dynamodb.checkpointer import codec
from shared.adapters.dynamodb.checkpointer.layout import Loose, SegmentId, Slice
from shared.adapters.dynamodb.checkpointer.records import (
    BlobRef,
    CheckpointRecord,
    FoldedHistory,
    FromParent,
    Inline,
    ListRecord,
    SegmentRecord,
    WriteRecord,
)
from shared.adapters.dynamodb.checkpointer.values import Listed, Whole

PACKED = ("msgpack", b"\x01")
OTHER = ("bytes", b"\x02")
SLICE = Slice(SegmentId("c1", 0), SegmentId("c2", 4), 9, 1, 3)
RECORDS = [
    CheckpointRecord(checkpoint=PACKED, metadata=PACKED, versions={}, parent=None),
    CheckpointRecord(
        checkpoint=PACKED,
        metadata=OTHER,
        versions={"messages": 3, "title": "1.2", "n": 0.5},
        parent="p",
        depth=4,
        weight=100,
        present=frozenset({"messages", "title"}),
        lists={"messages": ListRecord([FromParent(0, 2), Inline([PACKED, OTHER]), SLICE], snapshot=True)},
        wholes={"title": OTHER},
        blobs={"large": BlobRef("c", "name", 3)},
        offer={"messages": (SLICE, Slice(SegmentId("c3", 1), SegmentId("c3", 1), 1, 0, 1))},
        since={"log": "c0"},
        folded={
            "empty": FoldedHistory([]),
            "plain": FoldedHistory([("task", PACKED)], Whole(OTHER)),
            "listed": FoldedHistory([("task", OTHER)], Listed([PACKED], snapshot=True)),
        },
    ),
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_checkpoint_is_read_back(record):
    assert CheckpointRecord.read(record.body()) == record


@pytest.mark.parametrize("record", [SegmentRecord(None, []), SegmentRecord(SegmentId("c", 2), [PACKED, OTHER])])
def test_a_segment_is_read_back(record):
    assert SegmentRecord.read(record.body()) == record


@pytest.mark.parametrize("record", [WriteRecord("channel", "", OTHER), WriteRecord("c", "~1", BlobRef("c", "n", 2))])
def test_a_write_is_read_back(record):
    assert WriteRecord.read(record.body()) == record


@pytest.mark.parametrize("read", [CheckpointRecord.read, SegmentRecord.read, WriteRecord.read])
@pytest.mark.parametrize("structure", [{}, [], [1], [[1, 2], 3], ["a", "b", "c", "d", "e", "f", {"l": 3}, "h"]])
def test_a_body_that_says_something_else_is_refused(read, structure):
    with pytest.raises(ValueError):  # noqa: PT011 - any will do
        read(codec.encode(structure))


def test_a_list_part_of_a_later_release_is_refused():
    body = CheckpointRecord(checkpoint=PACKED, metadata=PACKED, versions={}, parent=None).body()
    structure = codec.decode(body)
    structure[-1] = {"l": {"messages": [0, [7, 1]]}}
    with pytest.raises(ValueError, match="unknown kind 7"):
        CheckpointRecord.read(codec.encode(structure))


def test_loose_elements_have_a_place_in_a_layout_on_the_wire():
    record = CheckpointRecord(
        checkpoint=PACKED, metadata=PACKED, versions={}, parent=None, offer={"m": (SLICE, Loose(2))}
    )
    assert CheckpointRecord.read(record.body()).offer == record.offer
