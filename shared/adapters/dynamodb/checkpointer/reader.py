"""Finds checkpoints and puts them together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from shared.adapters.dynamodb.checkpointer.assembly import Assembly, State, blob_value
from shared.adapters.dynamodb.checkpointer.blobs import read_blobs
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.footprint import Footprint
from shared.adapters.dynamodb.checkpointer.guard import Guard, GuardState
from shared.adapters.dynamodb.checkpointer.keys import (
    ROOT,
    EntryName,
    Place,
    Span,
    all_entries,
    entries,
    entries_of,
    entry_name,
)
from shared.adapters.dynamodb.checkpointer.pending import PendingWrite, blobs_of, read_writes
from shared.adapters.dynamodb.checkpointer.records import BlobRef, CheckpointRecord
from shared.adapters.dynamodb.checkpointer.shelf import Shelf
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable, Item, beside, key_of
from shared.adapters.dynamodb.checkpointer.values import Packed, Stored
from shared.domain.errors import CorruptCheckpointError

Write: TypeAlias = tuple[str, str, Packed]
"""Task, channel and value."""

# As many items as lie between two bases of a chat, so that one page holds all that a base does not.
_PAGE_ITEMS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A checkpoint as it was found.

    Parameters
    ----------
    namespace, checkpoint : str
        Which.
    state : State
        What it comes to.
    values : mapping
        The values of its channels.
    writes : sequence
        Task, channel and value of each write left with it, in the order in which they are to be applied.
    blobs : mapping
        The contents of the blobs that channels name.
    run : str or None
        The run that stored it.
    expires : int or None
        When it expires, in epoch seconds.
    """

    namespace: str
    checkpoint: str
    state: State
    values: Mapping[str, Stored]
    writes: Sequence[Write]
    blobs: Mapping[BlobRef, Packed]
    run: str | None
    expires: int | None

    @property
    def record(self) -> CheckpointRecord:
        """The checkpoint as stored."""
        return self.state.record


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A checkpoint that is there and has not been put together yet.

    Parameters
    ----------
    namespace, checkpoint : str
        Which.
    record : CheckpointRecord
        As stored.
    run : str or None
        The run that stored it.
    load : callable
        Puts it together.
    writes : callable
        Reads the writes left with it.
    """

    namespace: str
    checkpoint: str
    record: CheckpointRecord
    run: str | None
    load: Callable[[], Loaded]
    writes: Callable[[], Sequence[Write]]


class Reader:
    """Reads one table.

    Parameters
    ----------
    table : CheckpointTable
        Where the checkpoints are.
    cache : Cache
        What the process keeps.
    """

    def __init__(self, table: CheckpointTable, cache: Cache) -> None:
        self._table = table
        self._cache = cache
        self._guard = Guard(table)

    def newest(self, place: Place, namespace: str) -> Loaded | None:
        """Load a namespace's newest checkpoint; ``None`` when there is none.

        Raises
        ------
        CorruptCheckpointError
            When it cannot be put together.
        """
        known_key = (self._table.name, place.partition, namespace)
        known = self._cache.newest.get(known_key)
        found = self._newest_from(place, namespace, known)
        if found is None and known is not None:
            # What was the newest is gone: pruned, or the whole thread.
            found = self._newest_from(place, namespace, None)
        if found is not None:
            self._cache.newest.keep(known_key, found.checkpoint, len(found.checkpoint))
        else:
            self._cache.newest.forget(known_key)
        return found

    def footprint(self, place: Place, loaded: Loaded) -> Footprint:
        """Keep, and give, what must be known of a checkpoint to store the next one."""
        footprint = loaded.state.footprint(loaded.blobs, loaded.expires)
        key = (self._table.name, place.head(loaded.namespace, loaded.checkpoint))
        self._cache.footprints.keep(key, footprint, footprint.size)
        return footprint

    def exact(self, place: Place, namespace: str, checkpoint: str) -> Loaded | None:
        """Load a checkpoint; ``None`` when it is not there. Raises as :meth:`newest` does."""
        state = beside(lambda: self._guard.state(place))
        at_hand = self._cache.bodies.get((self._table.name, place.head(namespace, checkpoint))) is not None
        own = entries_of(namespace, checkpoint)
        span = own if at_hand else Span(entries(namespace).first, own.last)
        shelf, items = self._until_head(place, namespace, span, lambda _: True)
        if items is None or items.checkpoint != checkpoint or not _accepted(state.result(), namespace, checkpoint):
            return None
        return self._load(shelf, checkpoint, items.writes)

    def history(self, place: Place, namespace: str | None, before: str | None = None) -> Iterator[Found]:
        """Find checkpoints, the newest first, of one namespace or of all of them.

        Parameters
        ----------
        place, namespace
            Where.
        before : str, optional
            Only checkpoints with a lower id.
        """
        state = self._guard.state(place)
        if state.hidden:
            return iter(())
        span = all_entries() if namespace is None else entries(namespace)
        if before is not None and namespace is not None:
            span = Span(span.first, entries_of(namespace, before).first)
        found = (
            each
            for each in self.heads(place, span)
            if _accepted(state, each.namespace, each.checkpoint) and (before is None or each.checkpoint < before)
        )
        if namespace is None:
            # Namespaces follow one another in the table, and checkpoints are to come by their ids alone.
            found = iter(sorted(found, key=lambda each: each.checkpoint, reverse=True))
        return found

    def record(self, place: Place, namespace: str, checkpoint: str) -> CheckpointRecord | None:
        """Give a checkpoint as it is stored; from what the process keeps, if it does."""
        at_hand = Shelf(self._table, self._cache, place, namespace).record(checkpoint)
        if at_hand is not None:
            return at_hand
        loaded = self.exact(place, namespace, checkpoint)
        return None if loaded is None else loaded.record

    def heads(self, place: Place, span: Span) -> Iterator[Found]:
        """Find the checkpoints in a range, from its end to its start, accepted ones and others."""
        shelves: dict[str, tuple[Shelf, Assembly]] = {}
        writes: list[Item] = []
        for page in self._table.pages(place.partition, span, newest_first=True):
            for each in page:
                name = entry_name(key_of(each)[1])
                if name is None:
                    continue
                if name.namespace not in shelves:
                    shelf = Shelf(self._table, self._cache, place, name.namespace)
                    shelves[name.namespace] = (shelf, Assembly(shelf))
                shelf, assembly = shelves[name.namespace]
                shelf.put([each])
                if name.task is not None:
                    writes.append(each)
                else:
                    yield self._found(shelf, assembly, name, _of(writes, name))
                    writes = []

    def _found(self, shelf: Shelf, assembly: Assembly, name: EntryName, writes: Sequence[Item]) -> Found:
        record = shelf.record(name.checkpoint)
        if record is None:
            raise shelf.corrupt(name.checkpoint, "it went while it was read.")

        def read() -> Sequence[Write]:
            pending = _pending(shelf, name.checkpoint, writes)
            return _resolved(pending, self._blobs(shelf, name.checkpoint, blobs_of(pending)))

        return Found(
            namespace=name.namespace,
            checkpoint=name.checkpoint,
            record=record,
            run=shelf.run(name.checkpoint),
            load=lambda: self._load(shelf, name.checkpoint, writes, assembly),
            writes=read,
        )

    def _newest_from(self, place: Place, namespace: str, known: str | None) -> Loaded | None:
        whole = entries(namespace)
        span = whole if known is None else Span(entries_of(namespace, known).first, whole.last)
        guard = None if namespace == ROOT else beside(lambda: self._guard.state(place))
        state = GuardState()

        def accept(checkpoint: str) -> bool:
            # Nothing of a hidden thread is accepted, so that its first checkpoint is as good as any.
            return state.hidden or _accepted(state, namespace, checkpoint)

        def see_guard(item: Item) -> None:
            nonlocal state
            state = GuardState.read(item)

        shelf, head = self._until_head(place, namespace, span, accept, see_guard)
        if guard is not None:
            state = guard.result()
        if head is None or state.hidden:
            return None
        return self._load(shelf, head.checkpoint, head.writes)

    def _until_head(
        self,
        place: Place,
        namespace: str,
        span: Span,
        accept: Callable[[str], bool],
        see_guard: Callable[[Item], None] = lambda _: None,
    ) -> tuple[Shelf, "_Head | None"]:
        """Read backwards until a page holds a checkpoint that will do; what the page holds beyond it is kept too."""
        shelf = Shelf(self._table, self._cache, place, namespace)
        writes: list[Item] = []
        for page in self._table.pages(place.partition, span, newest_first=True, limit=_PAGE_ITEMS):
            shelf.put(page)
            for each in page:
                key = key_of(each)
                if key == place.guard:
                    see_guard(each)
                    continue
                name = entry_name(key[1])
                if name is None:
                    continue
                if name.task is not None:
                    writes.append(each)
                elif accept(name.checkpoint):
                    return shelf, _Head(name.checkpoint, _of(writes, name))
        return shelf, None

    def _load(
        self, shelf: Shelf, checkpoint: str, write_items: Sequence[Item], assembly: Assembly | None = None
    ) -> Loaded:
        try:
            return self._loaded(shelf, checkpoint, write_items, assembly or Assembly(shelf))
        except CorruptCheckpointError:
            # What the cache gave may be older than a rewrite that what was read now relies on.
            fresh = Shelf(self._table, self._cache, shelf.place, shelf.namespace, trusting=False)
            for page in self._table.pages(
                shelf.place.partition, entries_of(shelf.namespace, checkpoint), newest_first=True
            ):
                fresh.put(page)
            return self._loaded(fresh, checkpoint, write_items, Assembly(fresh))

    def _loaded(self, shelf: Shelf, checkpoint: str, write_items: Sequence[Item], assembly: Assembly) -> Loaded:
        state = assembly.state(checkpoint)
        pending = _pending(shelf, checkpoint, write_items)
        blobs = self._blobs(shelf, checkpoint, [*state.blobs.values(), *blobs_of(pending)])
        return Loaded(
            namespace=shelf.namespace,
            checkpoint=checkpoint,
            state=state,
            values=state.values(blobs),
            writes=_resolved(pending, blobs),
            blobs=blobs,
            run=shelf.run(checkpoint),
            expires=shelf.expires(checkpoint),
        )

    def _blobs(self, shelf: Shelf, checkpoint: str, refs: Sequence[BlobRef]) -> Mapping[BlobRef, Packed]:
        if not refs:
            return {}
        contents = read_blobs(self._table, shelf.place, shelf.namespace, refs)
        if any(ref not in contents for ref in refs):
            raise shelf.corrupt(checkpoint, "a large value is missing.")
        try:
            return {ref: blob_value(content) for ref, content in contents.items()}
        except ValueError as error:
            raise shelf.corrupt(checkpoint, "a large value cannot be understood.") from error


@dataclass(frozen=True, slots=True)
class _Head:
    checkpoint: str
    writes: list[Item]


def _pending(shelf: Shelf, checkpoint: str, items: Sequence[Item]) -> list[PendingWrite]:
    try:
        return read_writes(items)
    except ValueError as error:
        raise shelf.corrupt(checkpoint, "a write cannot be understood.") from error


def _resolved(pending: Iterable[PendingWrite], blobs: Mapping[BlobRef, Packed]) -> list[Write]:
    return [
        (
            each.task,
            each.record.channel,
            blobs[each.record.value] if isinstance(each.record.value, BlobRef) else each.record.value,
        )
        for each in pending
    ]


def _of(writes: Iterable[Item], head: EntryName) -> list[Item]:
    """Give those writes that are the checkpoint's own: others may be left of one that was never stored."""
    owners = ((each, entry_name(key_of(each)[1])) for each in writes)
    return [each for each, name in owners if name is not None and name.checkpoint == head.checkpoint]


def _accepted(state: GuardState, namespace: str, checkpoint: str) -> bool:
    if state.hidden:
        return False
    return namespace != ROOT or state.head is None or checkpoint <= state.head
