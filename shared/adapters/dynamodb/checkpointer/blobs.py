"""What is too large for one item, in several."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from uuid import uuid4

from shared.adapters.dynamodb.checkpointer.keys import Place
from shared.adapters.dynamodb.checkpointer.records import BlobRef
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable, Item, item
from shared.adapters.dynamodb.items import Key

BODY: Final = "body"
"""The attribute that holds an item's body, or a part of one."""

BLOB: Final = "blob"
"""The attribute that stands in the place of a body that is a blob: the blob's name, a blank, and in how many parts."""

PART_BYTES: Final = 380_000
"""What one part may hold, and what a body may take before it becomes a blob: an item's limit less its keys."""


def blob_items(place: Place, namespace: str, ref: BlobRef, content: bytes, expires: int | None) -> Iterator[Item]:
    """Give the items of a blob."""
    for part in range(ref.parts):
        piece = content[part * PART_BYTES : (part + 1) * PART_BYTES]
        yield item(place.blob(namespace, ref.checkpoint, ref.name, part), {BODY: {"B": piece}}, expires)


def new_blob(checkpoint: str, content: bytes) -> BlobRef:
    """Give a content a name that no other has.

    What refers to a blob is written after it and may be written again, so a blob in use is never written over.
    """
    return BlobRef(checkpoint, uuid4().hex, max(1, -(-len(content) // PART_BYTES)))


def blob_keys(place: Place, namespace: str, ref: BlobRef) -> list[Key]:
    """Give the keys of a blob's parts, in order."""
    return [place.blob(namespace, ref.checkpoint, ref.name, part) for part in range(ref.parts)]


def with_body(
    place: Place, namespace: str, checkpoint: str, key: Key, body: bytes, expires: int | None
) -> tuple[Item, list[Item]]:
    """Give the item that has a body, and the items that must be there before it."""
    if len(body) <= PART_BYTES:
        return item(key, {BODY: {"B": body}}, expires), []
    ref = new_blob(checkpoint, body)
    return item(key, blob_pointer(ref), expires), list(blob_items(place, namespace, ref, body, expires))


def read_blobs(
    table: CheckpointTable, place: Place, namespace: str, refs: Iterable[BlobRef]
) -> Mapping[BlobRef, bytes]:
    """Read blobs; those that lack a part are left out."""
    keys = {ref: blob_keys(place, namespace, ref) for ref in refs}
    stored = table.get_many(key for each in keys.values() for key in each)
    return {
        ref: b"".join(bytes(stored[key][BODY]["B"]) for key in each)
        for ref, each in keys.items()
        if all(key in stored for key in each)
    }


def blob_pointer(ref: BlobRef) -> Item:
    """Give the attributes of an item whose body is a blob of the same checkpoint."""
    return {BLOB: {"S": f"{ref.name} {ref.parts}"}}


def pointed_at(stored: Item, checkpoint: str) -> BlobRef:
    """Give back what :func:`blob_pointer` was given."""
    name, _, parts = stored[BLOB]["S"].rpartition(" ")
    return BlobRef(checkpoint, name, int(parts))
