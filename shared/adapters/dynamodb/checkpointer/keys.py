"""Keys of the checkpoint table: what stands where, and in which order.

A thread's partition is its owner and its id. In it stand, by sort key:

``entry, namespace, checkpoint, w, task, page``
    Writes of a task that follow a checkpoint.
``entry, namespace, checkpoint, h``
    The checkpoint itself. Checkpoint ids grow with time, so a query that reads backwards meets the newest
    checkpoint's writes, then that checkpoint, then its ancestors: one page is enough to load a short thread.
``entry, (root), top``
    The thread's guard, above everything else of the root namespace, so that the same page brings it along.
``segment, namespace, checkpoint, number``
    Elements of long lists, compressed together.
``blob, namespace, checkpoint, name, part``
    What is too large for one item.

The checkpoints of a run are found through a partition of their own, owner, ``runs`` and run id: three parts, which no
thread's partition has.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from shared.adapters.dynamodb.items import Key
from shared.adapters.dynamodb.schema import (
    PARTITION_KEY_MAX_BYTES,
    SORT_KEY_MAX_BYTES,
    decode_key,
    encode_key,
    row_key,
    row_prefix,
)
from shared.domain.errors import InvalidIdError

ROOT: Final = ""
"""The namespace of the graph that was called; subgraphs have others."""

_ENTRY: Final = "entry"
_SEGMENT: Final = "segment"
_BLOB: Final = "blob"
_HEAD: Final = "h"
_WRITES: Final = "w"
_RUNS: Final = "runs"

# The highest character there is: no checkpoint may start with it, so this stands above them all.
_TOP: Final = "\U0010ffff"

# Above whatever text may follow; threads and namespaces may start with the highest character.
_ABOVE_ALL: Final = _TOP * 200


@dataclass(frozen=True)
class Place:
    """One thread of one owner.

    Parameters
    ----------
    owner : str
        Whose thread it is.
    thread : str
        The thread's id; any text.

    Raises
    ------
    InvalidIdError
        When there is no thread id, or it has no UTF-8 form, or is longer than the database takes.
    """

    owner: str
    thread: str

    def __post_init__(self) -> None:
        if not self.owner or not self.thread:
            raise InvalidIdError("A thread needs an owner and an id.")
        _bounded(self.partition, PARTITION_KEY_MAX_BYTES)

    @cached_property
    def partition(self) -> str:
        """The partition key of everything the thread has."""
        return encode_key((self.owner,), self.thread)

    @cached_property
    def guard(self) -> Key:
        """The key of the thread's guard."""
        return self.partition, _sort_key(_ENTRY, ROOT, _TOP)

    def head(self, namespace: str, checkpoint: str) -> Key:
        """Give the key of a checkpoint."""
        return self.partition, _sort_key(_ENTRY, namespace, _checked(checkpoint), _HEAD)

    def writes(self, namespace: str, checkpoint: str, task: str, page: str) -> Key:
        """Give the key of one page of a task's writes."""
        return self.partition, _sort_key(_ENTRY, namespace, _checked(checkpoint), _WRITES, task, page)

    def segment(self, namespace: str, checkpoint: str, number: int) -> Key:
        """Give the key of a segment; numbers of one checkpoint's segments keep their order."""
        return self.partition, _sort_key(_SEGMENT, namespace, _checked(checkpoint), f"{number:06}")

    def blob(self, namespace: str, checkpoint: str, name: str, part: int) -> Key:
        """Give the key of one part of a blob."""
        return self.partition, _sort_key(_BLOB, namespace, _checked(checkpoint), name, f"{part:06}")

    def run_entry(self, run: str, namespace: str, checkpoint: str) -> Key:
        """Give the key under which a run's checkpoint is found without knowing its thread."""
        key = encode_key((self.thread, namespace), checkpoint)
        return run_partition(self.owner, run), _bounded(key, SORT_KEY_MAX_BYTES)

    def moved(self, key: Key, target: "Place") -> Key:
        """Give the key that an item of this thread has in another one."""
        return target.partition, key[1]


def run_partition(owner: str, run: str) -> str:
    """Give the partition of a run's entries."""
    return _bounded(encode_key((owner, _RUNS), run), PARTITION_KEY_MAX_BYTES)


def run_target(key: Key) -> tuple[str, str, str]:
    """Give thread, namespace and checkpoint of a run's entry."""
    (thread, namespace), checkpoint = decode_key(key[1])
    return thread, namespace, checkpoint


@dataclass(frozen=True, slots=True)
class Span:
    """A range of sort keys, both ends included."""

    first: str
    last: str


def entries(namespace: str) -> Span:
    """Give the range of a namespace's checkpoints and writes; with the guard if it is the root's."""
    return Span(row_prefix(_ENTRY, namespace), row_prefix(_ENTRY, namespace) + _TOP)


def entries_of(namespace: str, checkpoint: str) -> Span:
    """Give the range of one checkpoint and its writes."""
    prefix = row_prefix(_ENTRY, namespace, _checked(checkpoint))
    return Span(prefix, prefix + _TOP)


def all_entries() -> Span:
    """Give the range of every namespace's checkpoints and writes."""
    return Span(row_prefix(_ENTRY), row_prefix(_ENTRY) + _ABOVE_ALL)


def segments(namespace: str, first: str, last: str) -> Span:
    """Give the range of the segments that the checkpoints from ``first`` to ``last`` made."""
    return Span(row_prefix(_SEGMENT, namespace, first), row_prefix(_SEGMENT, namespace, last) + _TOP)


def all_segments() -> Span:
    """Give the range of every segment."""
    return Span(row_prefix(_SEGMENT), row_prefix(_SEGMENT) + _ABOVE_ALL)


def blobs_of(namespace: str, checkpoint: str) -> Span:
    """Give the range of the blobs that a checkpoint wrote."""
    prefix = row_prefix(_BLOB, namespace, checkpoint)
    return Span(prefix, prefix + _TOP)


def namespace_blobs(namespace: str) -> Span:
    """Give the range of a namespace's blobs."""
    prefix = row_prefix(_BLOB, namespace)
    return Span(prefix, prefix + _TOP)


def segment_name(sort_key: str) -> tuple[str, str, int]:
    """Give namespace, checkpoint and number of a segment's sort key."""
    (_, namespace, checkpoint), number = decode_key(sort_key[1:])
    return namespace, checkpoint, int(number)


def blob_name(sort_key: str) -> tuple[str, str, str]:
    """Give namespace, checkpoint and name of the blob that a sort key is a part of."""
    (_, namespace, checkpoint, name), _ = decode_key(sort_key[1:])
    return namespace, checkpoint, name


def all_blobs() -> Span:
    """Give the range of every blob."""
    return Span(row_prefix(_BLOB), row_prefix(_BLOB) + _ABOVE_ALL)


def everything() -> Span:
    """Give the range of all a partition may hold."""
    return Span("!", _ABOVE_ALL)


@dataclass(frozen=True, slots=True)
class EntryName:
    """What a sort key in the range of entries says.

    Parameters
    ----------
    namespace, checkpoint : str
        Which checkpoint.
    task : str or None
        The task whose writes these are; ``None`` for the checkpoint itself.
    page : str
        Which page of the task's writes.
    """

    namespace: str
    checkpoint: str
    task: str | None = None
    page: str = ""


def entry_name(sort_key: str) -> EntryName | None:
    """Read a sort key in the range of entries; ``None`` for the guard's, and for any other kind of item."""
    parts, last = decode_key(sort_key[1:])
    if not parts or parts[0] != _ENTRY:
        return None
    match (*parts[1:], last):
        case (namespace, checkpoint, tag) if tag == _HEAD:
            return EntryName(namespace, checkpoint)
        case (namespace, checkpoint, tag, task, page) if tag == _WRITES:
            return EntryName(namespace, checkpoint, task, page)
        case _:
            return None


def _checked(checkpoint: str) -> str:
    if not checkpoint or checkpoint.startswith(_TOP):
        raise InvalidIdError("A checkpoint needs an id, and none may start with the highest character.")
    return checkpoint


def _sort_key(*parts: str) -> str:
    return _bounded(row_key(*parts), SORT_KEY_MAX_BYTES)


def _bounded(key: str, limit: int) -> str:
    if len(key.encode()) > limit:
        raise InvalidIdError("A key is longer than the database takes.")
    return key
