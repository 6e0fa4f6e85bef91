"""How long checkpoints are kept, so that none outlives what it needs.

A checkpoint needs older items: its line down to the last base, segments, blobs, for delta channels the writes of its
ancestors. It expires with them, never later. Before what a new checkpoint needs has less time left than it is to be
kept for, all of that is given one and a half times as long, so each item of a living thread is touched once in half
that time. A thread that was begun without an end keeps having none.
"""

from collections.abc import Iterator
from datetime import timedelta

from shared.adapters.dynamodb.checkpointer.footprint import Footprint
from shared.adapters.dynamodb.checkpointer.keys import Place, Span, entries_of, entry_name, namespace_blobs, segments
from shared.adapters.dynamodb.checkpointer.layout import Slice
from shared.adapters.dynamodb.checkpointer.table import (
    RUN,
    CheckpointTable,
    ConditionFailedError,
    beside,
    key_of,
    run_of,
)
from shared.adapters.dynamodb.items import Key
from shared.adapters.dynamodb.schema import TTL


class Expiry:
    """Sets and renews expiries.

    Parameters
    ----------
    table : CheckpointTable
        Where the checkpoints are.
    keep_for : timedelta or None
        How long a checkpoint is kept at least; ``None`` for ever.
    """

    def __init__(self, table: CheckpointTable, keep_for: timedelta | None) -> None:
        self._table = table
        self._keep_for = keep_for

    def of_checkpoint(self, place: Place, namespace: str, parent: Footprint | None) -> int | None:
        """Give when a new checkpoint expires, in epoch seconds, after having made sure that its parent lasts."""
        if self._keep_for is None:
            return parent.expires if parent else None
        if parent is None:
            return self._in(self._keep_for * 1.5)
        if parent.expires is None or parent.expires >= self._in(self._keep_for):
            return parent.expires
        until = self._in(self._keep_for * 1.5)
        renewals = [beside(lambda key=key: self._renew(key, until)) for key in self._needed(place, namespace, parent)]
        for renewal in renewals:
            renewal.result()
        return until

    def of_writes(self) -> int | None:
        """Give when writes expire: later than any checkpoint that they may belong to."""
        return None if self._keep_for is None else self._in(self._keep_for * 2)

    def _needed(self, place: Place, namespace: str, parent: Footprint) -> Iterator[Key]:
        oldest = min([parent.base, *parent.since.values()])
        spans = [Span(entries_of(namespace, oldest).first, entries_of(namespace, parent.checkpoint).last)]
        slices = [piece for each in parent.lists.values() for piece in each.layout if isinstance(piece, Slice)]
        if slices:
            first, last = min(piece.first for piece in slices), max(piece.last for piece in slices)
            spans.append(segments(namespace, first.checkpoint, last.checkpoint))
        spans.append(namespace_blobs(namespace))
        for span in spans:
            for page in self._table.pages(place.partition, span, keys_only=True):
                for each in page:
                    yield key_of(each)
                    name = entry_name(key_of(each)[1])
                    if name is not None and RUN in each:
                        yield place.run_entry(run_of(each[RUN]), name.namespace, name.checkpoint)

    def _renew(self, key: Key, until: int) -> None:
        try:
            self._table.update(
                key,
                expression="SET #ttl = :until, #schema = :schema",
                names={"#ttl": TTL},
                values={":until": {"N": str(until)}},
                condition="#ttl < :until",
            )
        except ConditionFailedError:
            # It has longer already, has no end, or is gone.
            return

    def _in(self, time: timedelta) -> int:
        return int((self._table.clock.now() + time).timestamp())
