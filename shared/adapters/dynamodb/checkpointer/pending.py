"""Writes that tasks leave with a checkpoint before the next one.

The writes of a task are attributes of one item, so that a repeated write can be told from a new one within the request
that writes: an ordinary write stays as it was first written, a special one (an error, an interrupt) is replaced.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from langgraph.checkpoint.base import WRITES_IDX_MAP, writes_sort_key

from shared.adapters.dynamodb.checkpointer.keys import Place, entry_name
from shared.adapters.dynamodb.checkpointer.records import BlobRef, WriteRecord
from shared.adapters.dynamodb.checkpointer.table import Item, key_of
from shared.adapters.dynamodb.items import Key

_A_PAGE: Final = 32
"""How many ordinary writes of a task stand in one item."""

INLINE_BYTES: Final = 10_000
"""What a write may take there; a page of the largest is within an item's limit."""

_PREFIX: Final = "w"
_SPECIAL_PAGE: Final = "special"


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write as stored.

    Parameters
    ----------
    task : str
        The task that wrote.
    index : int
        Its place among the task's writes; below zero for special ones.
    record : WriteRecord
        What was written.
    """

    task: str
    index: int
    record: WriteRecord

    @property
    def order(self) -> tuple[str, str, int]:
        """Where it comes among all writes of a checkpoint: in the order in which a live run applies them."""
        return writes_sort_key(self.record.task_path, self.task, self.index)


@dataclass(frozen=True, slots=True)
class PageUpdate:
    """What is to be written to one item.

    Parameters
    ----------
    key : tuple of str
        The item.
    expression : str
        DynamoDB's update.
    names, values : mapping
        What stands in it.
    """

    key: Key
    expression: str
    names: Mapping[str, str]
    values: Mapping[str, Mapping[str, bytes]]

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes it may set."""
        return frozenset(self.names.values())


def index_of(channel: str, position: int) -> int:
    """Give the index of a write: special channels have one of their own, whatever their position."""
    return WRITES_IDX_MAP.get(channel, position)


def page_updates(
    place: Place, namespace: str, checkpoint: str, task: str, records: Mapping[int, WriteRecord]
) -> Iterator[PageUpdate]:
    """Give the updates that store a task's writes, by index."""
    pages: dict[str, list[int]] = {}
    for index in records:
        pages.setdefault(_page(index), []).append(index)
    for page, indices in pages.items():
        names = {f"#w{n}": f"{_PREFIX}{index}" for n, index in enumerate(indices)}
        values = {f":w{n}": {"B": records[index].body()} for n, index in enumerate(indices)}
        sets = [
            f"#w{n} = :w{n}" if index < 0 else f"#w{n} = if_not_exists(#w{n}, :w{n})" for n, index in enumerate(indices)
        ]
        key = place.writes(namespace, checkpoint, task, page)
        yield PageUpdate(key, f"SET {', '.join(sets)}, #schema = :schema", names, values)


def read_writes(items: Iterable[Item]) -> list[PendingWrite]:
    """Read the items of one checkpoint's writes, in the order in which they are to be applied.

    Raises
    ------
    ValueError
        When one cannot be understood.
    """
    writes: list[PendingWrite] = []
    for each in items:
        name = entry_name(key_of(each)[1])
        if name is None or name.task is None:
            continue
        for attribute, value in each.items():
            index = attribute.removeprefix(_PREFIX)
            if index != attribute and index.removeprefix("-").isdigit():
                writes.append(PendingWrite(name.task, int(index), WriteRecord.read(bytes(value["B"]))))
    return sorted(writes, key=lambda write: write.order)


def blobs_of(writes: Sequence[PendingWrite]) -> list[BlobRef]:
    """Give the blobs that writes name."""
    return [write.record.value for write in writes if isinstance(write.record.value, BlobRef)]


def _page(index: int) -> str:
    return _SPECIAL_PAGE if index < 0 else f"{index // _A_PAGE:06}"
