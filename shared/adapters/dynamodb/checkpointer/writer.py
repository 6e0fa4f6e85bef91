"""Writes checkpoints and pending writes, each beside a look at the thread's guard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol

from shared.adapters.dynamodb.checkpointer.assembly import blob_content
from shared.adapters.dynamodb.checkpointer.blobs import blob_items, new_blob, with_body
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.composing import Composed, Draft, compose
from shared.adapters.dynamodb.checkpointer.expiry import Expiry
from shared.adapters.dynamodb.checkpointer.footprint import Footprint
from shared.adapters.dynamodb.checkpointer.guard import Guard
from shared.adapters.dynamodb.checkpointer.keys import ROOT, Place
from shared.adapters.dynamodb.checkpointer.pending import INLINE_BYTES, PageUpdate, index_of, page_updates
from shared.adapters.dynamodb.checkpointer.reader import Loaded, Reader
from shared.adapters.dynamodb.checkpointer.records import BlobRef, WriteRecord
from shared.adapters.dynamodb.checkpointer.table import RUN, CheckpointTable, Item, beside, item, key_of, run_value
from shared.adapters.dynamodb.checkpointer.values import Listed, Packed, Whole
from shared.adapters.dynamodb.items import Key
from shared.adapters.dynamodb.schema import TTL
from shared.domain.errors import ConflictError, StoreError


@dataclass(frozen=True, slots=True)
class _Parcel:
    """The items of a checkpoint.

    Parameters
    ----------
    head : tuple of str
        The checkpoint's own key.
    first : list
        What must be there before it.
    together : list
        The checkpoint itself, and what may come with it in any order.
    bodies : mapping
        The bodies of those that have one.
    """

    head: Key
    first: list[Item]
    together: list[Item]
    bodies: Mapping[Key, bytes]


class Writer:
    """Writes one table.

    Parameters
    ----------
    table : CheckpointTable
        Where the checkpoints are.
    kept : Cache
        What the process keeps.
    reader : Reader
        Loads a parent that the process does not know.
    keep_for : timedelta, optional
        How long what is written is kept at least.
    """

    def __init__(
        self, table: CheckpointTable, kept: Cache, reader: Reader, *, keep_for: timedelta | None = None
    ) -> None:
        self._table = table
        self._cache = kept
        self._reader = reader
        self._guard = Guard(table)
        self._expiry = Expiry(table, keep_for)

    def put(
        self,
        place: Place,
        namespace: str,
        draft: Draft,
        serde: SerializerProtocol,
        *,
        lease: int | None,
        run: str | None,
    ) -> None:
        """Write a checkpoint.

        Everything that it refers to is there before it. The checkpoint itself and the move of the guard's head go side
        by side: the first without the second is never met by a reader, and the second without the first leaves the
        checkpoint before as the newest.

        Raises
        ------
        LeaseLostError
            When the thread is deleted, or a run with a higher lease number has written.
        """
        parent = self._parent(place, namespace, draft.parent)
        expires = self._expiry.of_checkpoint(place, namespace, parent)
        parent_values = cache(lambda: self._parent_values(place, namespace, draft.parent or ""))
        composed = compose(draft, parent, parent_values, serde, expires)
        parcel = _parcel(place, namespace, composed, expires, run)
        attempt = (self._table.name, parcel.head)
        again = self._cache.attempts.get(attempt) is not None
        self._cache.attempts.keep(attempt, True, 0)

        def take_back() -> None:
            # A checkpoint that was tried before may have been accepted then, and others may follow it by now.
            if not again:
                self._table.write(deletes=[key_of(each) for each in (*parcel.together, *parcel.first)])

        self._table.write(parcel.first)
        if namespace == ROOT:
            self._write_beside_guard(place, draft, parcel.together, lease, expires, take_back)
        else:
            self._table.write(parcel.together)
            self._admit_written(place, lease, take_back)
        self._remember(place, namespace, composed.footprint, parcel.bodies, lease)

    def put_writes(
        self,
        place: Place,
        namespace: str,
        checkpoint: str,
        writes: Sequence[tuple[str, Packed]],
        *,
        task: str,
        task_path: str,
        lease: int | None,
    ) -> None:
        """Write what a task left with a checkpoint. Raises as :meth:`put` does."""
        expires = self._expiry.of_writes()
        parts: list[Item] = []
        records: dict[int, WriteRecord] = {}
        for position, (channel, packed) in enumerate(writes):
            index = index_of(channel, position)
            value: Packed | BlobRef = packed
            if len(packed[1]) > INLINE_BYTES:
                content = blob_content(packed)
                value = new_blob(checkpoint, content)
                parts += blob_items(place, namespace, value, content, expires)
            records[index] = WriteRecord(channel, task_path, value)
        updates = list(page_updates(place, namespace, checkpoint, task, records))
        self._table.write(parts)
        replaced = [(each, self._update(each, expires)) for each in updates]
        self._admit_written(place, lease, lambda: self._take_back(replaced, parts))
        if lease is not None:
            self._cache.leases.keep((self._table.name, place.partition), lease, 0)

    def _write_beside_guard(
        self,
        place: Place,
        draft: Draft,
        items: Sequence[Item],
        lease: int | None,
        expires: int | None,
        take_back: Callable[[], None],
    ) -> None:
        """Write a checkpoint while the guard's head moves to it.

        A thread may be deleted between the two. Then the guard has moved first, and the removal, which is told so by
        the guard, waits for what is still to come.
        """
        written = beside(lambda: self._table.write(items))
        try:
            awaited = self._guard.move_head(place, draft.checkpoint, parent=draft.parent, lease=lease, expires=expires)
        except ConflictError:
            if written.exception() is None:
                _best_effort(take_back)
            raise
        finally:
            wait([written])
        if written.result() > 1 or not awaited:
            # No removal has waited for it, or it came so late that none did any more.
            self._admit_written(place, lease, take_back)

    def _admit_written(self, place: Place, lease: int | None, take_back: Callable[[], None]) -> None:
        """Ask the guard about what was written, and take it back when it says no.

        In this order nothing is left over: what is written before the guard is asked is there for every removal that
        the guard does not know of yet.
        """
        try:
            self._admit(place, lease)
        except ConflictError:
            _best_effort(take_back)
            raise

    def _admit(self, place: Place, lease: int | None) -> None:
        if lease is None or self._cache.leases.get((self._table.name, place.partition)) == lease:
            self._guard.check(place, lease)
        else:
            self._guard.register(place, lease)

    def _update(self, update: PageUpdate, expires: int | None) -> Item:
        expression, names, values = update.expression, dict(update.names), dict[str, Any](update.values)
        if expires is not None:
            expression += ", #ttl = :ttl"
            names["#ttl"] = TTL
            values[":ttl"] = {"N": str(expires)}
        return self._table.update(update.key, expression=expression, names=names, values=values, returned="ALL_OLD")

    def _take_back(self, replaced: Iterable[tuple[PageUpdate, Item]], parts: Iterable[Item]) -> None:
        deletes = [key_of(each) for each in parts]
        for update, before in replaced:
            if not before:
                deletes.append(update.key)
            elif added := sorted(update.attributes - before.keys()):
                names = {f"#a{n}": attribute for n, attribute in enumerate(added)}
                self._table.update(
                    update.key, expression=f"REMOVE {', '.join(names)} SET #schema = :schema", names=names, values={}
                )
        self._table.write(deletes=deletes)

    def _parent(self, place: Place, namespace: str, checkpoint: str | None) -> Footprint | None:
        if checkpoint is None:
            return None
        key = (self._table.name, place.head(namespace, checkpoint))
        known = self._cache.footprints.get(key)
        if known is None:
            loaded = self._reader.exact(place, namespace, checkpoint)
            return None if loaded is None else self._reader.footprint(place, loaded)
        return known

    def _parent_values(self, place: Place, namespace: str, checkpoint: str) -> Mapping[str, Listed | Whole]:
        loaded: Loaded | None = self._reader.exact(place, namespace, checkpoint)
        if loaded is None:
            raise ConflictError("The checkpoint that this one follows was removed meanwhile.")
        kept = {name: Listed(each.elements, each.snapshot) for name, each in loaded.state.lists.items()}
        return {**kept, **loaded.values}

    def _remember(
        self, place: Place, namespace: str, footprint: Footprint, bodies: Mapping[Key, bytes], lease: int | None
    ) -> None:
        table = self._table.name
        for key, body in bodies.items():
            self._cache.bodies.keep((table, key), body, len(body))
        self._cache.footprints.keep((table, place.head(namespace, footprint.checkpoint)), footprint, footprint.size)
        newest = (table, place.partition, namespace)
        known = self._cache.newest.get(newest)
        if known is None or known < footprint.checkpoint:
            self._cache.newest.keep(newest, footprint.checkpoint, len(footprint.checkpoint))
        if lease is not None:
            self._cache.leases.keep((table, place.partition), lease, 0)


def _best_effort(take_back: Callable[[], None]) -> None:
    # The refusal is what the caller must hear. What stays behind is at worst a branch that nothing leads to.
    with suppress(StoreError):
        take_back()


def _parcel(place: Place, namespace: str, composed: Composed, expires: int | None, run: str | None) -> _Parcel:
    checkpoint = composed.footprint.checkpoint
    head = place.head(namespace, checkpoint)
    bodies = {place.segment(namespace, *name): segment.body() for name, segment in composed.segments.items()}
    bodies[head] = composed.record.body()
    first = [
        each for ref, content in composed.blobs.items() for each in blob_items(place, namespace, ref, content, expires)
    ]
    together: list[Item] = []
    for key, body in bodies.items():
        stored, parts = with_body(place, namespace, checkpoint, key, body, expires)
        first += parts
        together.append(stored | ({RUN: run_value(run)} if run is not None and key == head else {}))
    if run is not None:
        together.append(item(place.run_entry(run, namespace, checkpoint), {}, expires))
    return _Parcel(head, first, together, bodies)
