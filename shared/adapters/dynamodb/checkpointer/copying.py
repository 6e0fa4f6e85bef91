"""Copies a thread with everything it has."""

from collections.abc import Iterator

from shared.adapters.dynamodb.checkpointer.guard import Guard, GuardState
from shared.adapters.dynamodb.checkpointer.keys import ROOT, Place, entry_name, everything
from shared.adapters.dynamodb.checkpointer.table import RUN, CheckpointTable, Item, item, key_of, run_of
from shared.adapters.dynamodb.items import wire_key
from shared.adapters.dynamodb.schema import TTL


def copy_thread(table: CheckpointTable, source: Place, target: Place) -> None:
    """Copy every checkpoint, write, segment and blob of a thread to one that has none.

    The target reads as empty until everything is there; a copy that was broken off is completed by another one.

    Raises
    ------
    ConflictError
        When the target has checkpoints or was deleted.
    """
    guard = Guard(table)
    state = guard.state(source)
    if state.hidden:
        return
    pages = table.pages(source.partition, everything())
    begun = False
    for page in pages:
        copies = [copy for each in page for copy in _copies(each, source, target, state)]
        if copies and not begun:
            guard.begin_filling(target)
            begun = True
        table.write(copies)
    if begun:
        guard.end_filling(target, state.head)


def _copies(stored: Item, source: Place, target: Place, state: GuardState) -> Iterator[Item]:
    key = key_of(stored)
    if key == source.guard:
        return
    name = entry_name(key[1])
    if name is not None and name.namespace == ROOT and state.head is not None and name.checkpoint > state.head:
        # Not accepted when the copy was begun.
        return
    if name is not None and RUN in stored:
        expiry = {TTL: stored[TTL]} if TTL in stored else {}
        yield item(target.run_entry(run_of(stored[RUN]), name.namespace, name.checkpoint), expiry)
    yield stored | wire_key(source.moved(key, target))
