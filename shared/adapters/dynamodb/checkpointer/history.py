"""Histories of delta channels: what was written to them since their value was last stored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.adapters.dynamodb.checkpointer.keys import Place, Span, entries, entries_of
from shared.adapters.dynamodb.checkpointer.reader import Found, Loaded, Reader
from shared.adapters.dynamodb.checkpointer.records import CheckpointRecord
from shared.adapters.dynamodb.checkpointer.values import Packed, Stored
from shared.domain.errors import CorruptCheckpointError


@dataclass(slots=True)
class DeltaHistory:
    """One channel's history.

    Parameters
    ----------
    writes : list
        Task and value of each write, oldest first.
    seed : Listed, Whole or None
        The stored value that they start from; ``None`` for an empty one.
    """

    writes: list[tuple[str, Packed]] = field(default_factory=list[tuple[str, Packed]])
    seed: Stored | None = None


def delta_histories(
    reader: Reader, place: Place, namespace: str, checkpoint: str, channels: Sequence[str]
) -> Mapping[str, DeltaHistory]:
    """Give the histories of channels at a checkpoint: from the checkpoints before it, each up to a stored value.

    A checkpoint says down to where its histories reach, so one query brings them all, whatever lies below.

    Raises
    ------
    CorruptCheckpointError
        When a checkpoint is missing that a history needs.
    """
    histories = {name: DeltaHistory() for name in channels}
    record = reader.record(place, namespace, checkpoint)
    if record is None:
        return histories
    open_channels = set(_unfold(histories, channels, record))
    if not open_channels or record.parent is None:
        return histories
    since = [record.since.get(name) for name in open_channels]
    last = entries_of(namespace, record.parent)
    oldest = entries(namespace) if None in since else entries_of(namespace, min(filter(None, since)))
    span = Span(min(oldest.first, last.first), last.last)
    due = {name for name in open_channels if name in record.since}

    at: str | None = record.parent
    for found in reader.heads(place, span):
        if found.checkpoint != at:
            continue
        loaded = found.load() if open_channels & found.record.present else None
        _collect(histories, open_channels, found, loaded)
        open_channels -= found.record.present
        open_channels = set(_unfold(histories, open_channels, found.record))
        due &= open_channels
        at = found.record.parent
        due -= {name for name in due if record.since[name] == found.checkpoint}
        if not open_channels or at is None:
            break
    if due:
        raise CorruptCheckpointError(place.thread, checkpoint, f"its ancestor {at} is missing.")
    return histories


def _unfold(histories: Mapping[str, DeltaHistory], channels: Iterable[str], record: CheckpointRecord) -> Iterator[str]:
    """Put what a checkpoint took over from others before the rest; give the channels that go on further."""
    for name in channels:
        folded = record.folded.get(name)
        if folded is None:
            yield name
        else:
            histories[name].writes[:0] = folded.writes
            histories[name].seed = folded.seed


def _collect(
    histories: Mapping[str, DeltaHistory], channels: Iterable[str], found: Found, loaded: Loaded | None
) -> None:
    writes = found.writes()
    for name in channels:
        histories[name].writes[:0] = [(task, value) for task, channel, value in writes if channel == name]
        if loaded is not None and name in loaded.values:
            histories[name].seed = loaded.values[name]
