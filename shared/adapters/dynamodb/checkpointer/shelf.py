"""Bodies of one namespace's checkpoints and segments: from what was read, else from the cache, else from the table."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from shared.adapters.dynamodb.checkpointer.blobs import BLOB, BODY, pointed_at, read_blobs
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.keys import Place, Span, entries, entries_of, segments
from shared.adapters.dynamodb.checkpointer.layout import SegmentId, Slice
from shared.adapters.dynamodb.checkpointer.records import CheckpointRecord, SegmentRecord
from shared.adapters.dynamodb.checkpointer.table import RUN, CheckpointTable, Item, key_of, run_of
from shared.adapters.dynamodb.items import Key
from shared.adapters.dynamodb.schema import TTL
from shared.domain.errors import CorruptCheckpointError

R = TypeVar("R")

_PEEK: Final = 4
"""How many segments are read first when older ones are at hand."""

_PAGE_ITEMS: Final = 40
"""How many checkpoints and writes are read at a time of a line that is not at hand."""

_LONGEST_LINE: Final = 1_000
"""Far more checkpoints than ever lie between a base and the next."""


class Shelf:
    """What one load has at hand of a namespace.

    Parameters
    ----------
    table, cache
        Where to look.
    place, namespace
        Which namespace of which thread.
    trusting : bool
        Whether bodies from the cache will do. They were right when they were read; but checkpoints may have been
        removed, and those after them rewritten, so that old and new ones do not go together.
    """

    def __init__(
        self, table: CheckpointTable, cache: Cache, place: Place, namespace: str, *, trusting: bool = True
    ) -> None:
        self.place = place
        self.namespace = namespace
        self._table = table
        self._cache = cache
        self._trusting = trusting
        self._items: dict[Key, Item] = {}
        self._records: dict[str, CheckpointRecord] = {}
        self._segments: dict[SegmentId, SegmentRecord] = {}

    def put(self, items: Iterable[Item]) -> None:
        """Take in items as they were read."""
        for each in items:
            self._items[key_of(each)] = each

    def record(self, checkpoint: str) -> CheckpointRecord | None:
        """Give a checkpoint that is at hand."""
        record = self._records.get(checkpoint)
        if record is None:
            body = self._body(self.place.head(self.namespace, checkpoint), checkpoint)
            if body is not None:
                record = self._records[checkpoint] = self._read(CheckpointRecord.read, body, checkpoint)
        return record

    def expires(self, checkpoint: str) -> int | None:
        """Give when a checkpoint that was read expires, in epoch seconds."""
        stored = self._items.get(self.place.head(self.namespace, checkpoint), {})
        return int(stored[TTL]["N"]) if TTL in stored else None

    def run(self, checkpoint: str) -> str | None:
        """Give the run that stored a checkpoint that was read, if it said its id."""
        stored = self._items.get(self.place.head(self.namespace, checkpoint), {})
        return run_of(stored[RUN]) if RUN in stored else None

    def ancestry(self, checkpoint: str) -> list[tuple[str, CheckpointRecord]]:
        """Give a checkpoint and those before it down to its base, the base first.

        Raises
        ------
        CorruptCheckpointError
            When one of them is missing.
        """
        line: list[tuple[str, CheckpointRecord]] = []
        at: str | None = checkpoint
        while at is not None:
            record = self.record(at) or (self._fetched(at) if line else None)
            if record is None:
                raise self.corrupt(checkpoint, f"its ancestor {at} is missing.")
            line.append((at, record))
            if record.depth == 0:
                return line[::-1]
            at = record.parent
            if len(line) > _LONGEST_LINE:
                break
        raise self.corrupt(checkpoint, "its ancestors lead nowhere.")

    def segments_of(self, pieces: Sequence[Slice], needed_by: str) -> bool:
        """Get the segments of slices at hand; give whether all are there."""
        missing = ((each.first, self._first_missing(each, needed_by)) for each in pieces)
        gaps = [(first, gap) for first, gap in missing if gap is not None]
        if not gaps:
            return True
        ends = [end.checkpoint for gap in gaps for end in gap]
        span = segments(self.namespace, min(ends), max(ends))
        if self._trusting and all(self._segment(first, needed_by) is not None for first, _ in gaps):
            # Older segments are at hand, so it is likely that only the newest few are new to this process.
            nothing: list[Item] = []
            self.put(next(self._table.pages(self.place.partition, span, newest_first=True, limit=_PEEK), nothing))
            if self._complete(pieces, needed_by):
                return True
        for page in self._table.pages(self.place.partition, span):
            self.put(page)
        return all(self._got_one_by_one(each, needed_by) for each in pieces)

    def segment(self, name: SegmentId, needed_by: str) -> SegmentRecord:
        """Give a segment that must be there.

        Raises
        ------
        CorruptCheckpointError
            When it is missing.
        """
        segment = self._segment(name, needed_by)
        if segment is None:
            raise self.corrupt(needed_by, f"segment {name.number} of {name.checkpoint} is missing.")
        return segment

    def corrupt(self, checkpoint: str, why: str) -> CorruptCheckpointError:
        """Give the error that names a checkpoint of this thread."""
        return CorruptCheckpointError(self.place.thread, checkpoint, why)

    def _got_one_by_one(self, piece: Slice, needed_by: str) -> bool:
        """Get what a range did not bring: ids are made of the clocks of different machines, and may lie outside."""
        while (missing := self._first_missing(piece, needed_by)) is not None:
            stored = self._table.get(self.place.segment(self.namespace, *missing))
            if stored is None:
                return False
            self.put([stored])
        return True

    def _complete(self, pieces: Sequence[Slice], needed_by: str) -> bool:
        return all(self._first_missing(each, needed_by) is None for each in pieces)

    def _first_missing(self, piece: Slice, needed_by: str) -> SegmentId | None:
        at: SegmentId | None = piece.last
        while at is not None:
            segment = self._segment(at, needed_by)
            if segment is None:
                return at
            at = None if at == piece.first else segment.before
        return None

    def _segment(self, name: SegmentId, needed_by: str) -> SegmentRecord | None:
        segment = self._segments.get(name)
        if segment is None:
            body = self._body(self.place.segment(self.namespace, *name), name.checkpoint)
            if body is not None:
                segment = self._segments[name] = self._read(SegmentRecord.read, body, needed_by)
        return segment

    def _body(self, key: Key, checkpoint: str) -> bytes | None:
        stored = self._items.get(key)
        if stored is None:
            return self._cache.bodies.get((self._table.name, key)) if self._trusting else None
        if BODY in stored:
            body = bytes(stored[BODY]["B"])
        elif BLOB in stored:
            ref = pointed_at(stored, checkpoint)
            found = read_blobs(self._table, self.place, self.namespace, [ref])
            if ref not in found:
                raise self.corrupt(checkpoint, "a part of it is missing.")
            body = found[ref]
        else:
            raise self.corrupt(checkpoint, "its item has no body.")
        self._cache.bodies.keep((self._table.name, key), body, len(body))
        return body

    def _fetched(self, checkpoint: str) -> CheckpointRecord | None:
        """Read a page that begins with a checkpoint and its writes, for those before it are needed next."""
        span = Span(entries(self.namespace).first, entries_of(self.namespace, checkpoint).last)
        for page in self._table.pages(self.place.partition, span, newest_first=True, limit=_PAGE_ITEMS):
            self.put(page)
            record = self.record(checkpoint)
            if record is not None or any(
                key_of(each)[1] < entries_of(self.namespace, checkpoint).first for each in page
            ):
                return record
        return None

    def _read(self, read: Callable[[bytes], R], body: bytes, checkpoint: str) -> R:
        try:
            return read(body)
        except ValueError as error:
            raise self.corrupt(checkpoint, "a body cannot be understood.") from error
