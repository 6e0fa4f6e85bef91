"""Removes checkpoints: whole threads, runs, and all but the newest of a thread.

Each step leaves a thread that loads, and each may be done again: a checkpoint that must do without the ones before it
is rewritten first, then they go, and what only they needed goes last.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.adapters.dynamodb.checkpointer.blobs import with_body
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.guard import Guard
from shared.adapters.dynamodb.checkpointer.keys import (
    ROOT,
    EntryName,
    Place,
    Span,
    all_blobs,
    all_entries,
    all_segments,
    blob_name,
    blobs_of,
    entries,
    entries_of,
    entry_name,
    everything,
    run_partition,
    run_target,
    segment_name,
    segments,
)
from shared.adapters.dynamodb.checkpointer.layout import SegmentId, Slice
from shared.adapters.dynamodb.checkpointer.reader import Found, Loaded, Reader
from shared.adapters.dynamodb.checkpointer.rewriting import standing_alone
from shared.adapters.dynamodb.checkpointer.shelf import Shelf
from shared.adapters.dynamodb.checkpointer.table import RUN, CheckpointTable, Item, key_of, run_of
from shared.adapters.dynamodb.items import Key
from shared.adapters.dynamodb.schema import TTL

# With pauses of up to a second, longer than the client waits for any answer.
_PATIENCE: Final = 24


class Removal:
    """Removes from one table.

    Parameters
    ----------
    table : CheckpointTable
        Where the checkpoints are.
    cache : Cache
        What the process keeps.
    reader : Reader
        Loads what must be rewritten.
    """

    def __init__(self, table: CheckpointTable, cache: Cache, reader: Reader) -> None:
        self._table = table
        self._cache = cache
        self._reader = reader
        self._guard = Guard(table)

    def thread(self, place: Place) -> None:
        """Remove everything a thread has, and refuse what still comes.

        The thread reads as empty from the first request on. Only the guard stays for a while, to refuse late writes.
        """
        # A run writes a checkpoint while the guard moves to it. If the guard says that there is a head, and there is
        # none, then that write is under way, or its process died; no request is under way for long.
        awaited = self._guard.mark_deleted(place).head
        tries = 0
        while True:
            swept = self._sweep(place)
            if awaited is not None and place.head(ROOT, awaited) in swept:
                awaited = None
            if swept:
                continue
            if awaited is None or tries == _PATIENCE:
                break
            tries += 1
            self._table.pause(tries)
        self._guard.drop_head(place)

    def runs(self, owner: str, runs: Sequence[str]) -> None:
        """Remove the checkpoints of runs and the writes left with them, whatever threads they are in."""
        doomed: dict[tuple[Place, str], set[str]] = {}
        entry_keys: list[Key] = []
        for run in dict.fromkeys(runs):
            for page in self._table.pages(run_partition(owner, run), everything()):
                for each in page:
                    thread, namespace, checkpoint = run_target(key_of(each))
                    doomed.setdefault((Place(owner, thread), namespace), set()).add(checkpoint)
                    entry_keys.append(key_of(each))
        for (place, namespace), checkpoints in doomed.items():
            self._remove(place, namespace, checkpoints)
        # Last, so that what was not finished is found again.
        self._table.write(deletes=entry_keys)

    def all_but_newest(self, place: Place) -> None:
        """Keep of each namespace only its newest checkpoint, with its writes."""
        if self._guard.state(place).hidden:
            return
        stored = list(self._entries(place, all_entries()))
        kept: list[Loaded] = []
        for namespace in sorted({name.namespace for name, _ in stored}):
            newest = self._reader.newest(place, namespace)
            if newest is None:
                continue
            kept.append(newest)
            # What stands above the newest was not accepted yet, and may be soon.
            older = [
                (name, each)
                for name, each in stored
                if name.namespace == namespace and name.checkpoint < newest.checkpoint
            ]
            if older:
                self._rewrite(place, newest)
                self._delete(place, older)
        self._collect_garbage(place, kept)

    def _remove(self, place: Place, namespace: str, doomed: set[str]) -> None:
        later = Span(entries_of(namespace, min(doomed)).first, entries(namespace).last)
        survivors = False
        head = self._guard.state(place).head if namespace == ROOT else None
        orphans: list[Found] = []
        for found in self._reader.heads(place, later):
            if found.checkpoint in doomed:
                continue
            survivors = True
            if found.record.parent in doomed and (found.record.depth or found.record.since):
                orphans.append(found)
        for found in orphans:
            self._rewrite(place, found.load())
        for checkpoint in sorted(doomed, reverse=True):
            self._delete(place, list(self._entries(place, entries_of(namespace, checkpoint))))
        if head is not None and head in doomed:
            newest = self._reader.newest(place, namespace)
            self._guard.move_back(place, head, newest.checkpoint if newest else None)
        if not survivors:
            # Nothing was built on them, so what they stored beside them is needed by nobody.
            for checkpoint in sorted(doomed):
                for span in (segments(namespace, checkpoint, checkpoint), blobs_of(namespace, checkpoint)):
                    self._table.write(deletes=self._keys(place, span))

    def _rewrite(self, place: Place, loaded: Loaded) -> None:
        record = standing_alone(self._reader, place, loaded)
        key = place.head(loaded.namespace, loaded.checkpoint)
        stored = self._table.get(key)
        if stored is None:
            return
        expires = int(stored[TTL]["N"]) if TTL in stored else None
        body = record.body()
        rewritten, parts = with_body(place, loaded.namespace, loaded.checkpoint, key, body, expires)
        self._table.write(parts)
        self._table.write([rewritten | ({RUN: stored[RUN]} if RUN in stored else {})])
        self._cache.bodies.keep((self._table.name, key), body, len(body))
        self._cache.footprints.forget((self._table.name, key))

    def _delete(self, place: Place, stored: Sequence[tuple[EntryName, Item]]) -> None:
        # The newest go first: a checkpoint needs the ones before it for as long as it is there.
        keys: list[Key] = []
        for name, each in sorted(stored, key=lambda pair: pair[0].checkpoint, reverse=True):
            if RUN in each:
                keys.append(place.run_entry(run_of(each[RUN]), name.namespace, name.checkpoint))
            keys.append(key_of(each))
        self._table.write(deletes=keys)
        for key in keys:
            self._cache.bodies.forget((self._table.name, key))
            self._cache.footprints.forget((self._table.name, key))

    def _collect_garbage(self, place: Place, kept: Sequence[Loaded]) -> None:
        """Remove the segments and blobs of namespaces that their one checkpoint does not need."""
        newest = {each.namespace: each.checkpoint for each in kept}
        segments_needed = {(each.namespace, *name) for each in kept for name in self._segments_of(place, each)}
        blobs_needed = {
            (each.namespace, ref.checkpoint, ref.name) for each in kept for ref in each.state.blobs.values()
        }
        deletes: list[Key] = []
        for key in self._keys(place, all_segments()):
            namespace, checkpoint, number = segment_name(key[1])
            # A later checkpoint's may be about to be needed.
            old = checkpoint <= newest.get(namespace, "")
            if old and (namespace, checkpoint, number) not in segments_needed:
                deletes.append(key)
        for key in self._keys(place, all_blobs()):
            namespace, checkpoint, name = blob_name(key[1])
            # The newest one's own hold its writes too.
            old = checkpoint < newest.get(namespace, "")
            if old and (namespace, checkpoint, name) not in blobs_needed:
                deletes.append(key)
        self._table.write(deletes=deletes)

    def _segments_of(self, place: Place, loaded: Loaded) -> Iterator[SegmentId]:
        shelf = Shelf(self._table, self._cache, place, loaded.namespace)
        pieces = [each for state in loaded.state.lists.values() for each in state.layout if isinstance(each, Slice)]
        shelf.segments_of(pieces, loaded.checkpoint)
        for piece in pieces:
            at: SegmentId | None = piece.last
            while at is not None:
                yield at
                at = None if at == piece.first else shelf.segment(at, loaded.checkpoint).before

    def _sweep(self, place: Place) -> set[Key]:
        """Remove what is there at the moment, and give the keys."""
        keys: list[Key] = []
        for page in self._table.pages(place.partition, everything(), keys_only=True, expired=True):
            for each in page:
                key = key_of(each)
                if key == place.guard:
                    continue
                name = entry_name(key[1])
                if name is not None and RUN in each:
                    keys.append(place.run_entry(run_of(each[RUN]), name.namespace, name.checkpoint))
                keys.append(key)
        self._table.write(deletes=keys)
        return set(keys)

    def _entries(self, place: Place, span: Span) -> Iterator[tuple[EntryName, Item]]:
        for page in self._table.pages(place.partition, span, keys_only=True, expired=True):
            for each in page:
                name = entry_name(key_of(each)[1])
                if name is not None:
                    yield name, each

    def _keys(self, place: Place, span: Span) -> list[Key]:
        pages = self._table.pages(place.partition, span, keys_only=True, expired=True)
        return [key_of(each) for page in pages for each in page]
