"""Checkpoints that must stand alone, because those before them are to go."""

from dataclasses import replace

from shared.adapters.dynamodb.checkpointer.assembly import base_parts
from shared.adapters.dynamodb.checkpointer.history import delta_histories
from shared.adapters.dynamodb.checkpointer.keys import Place
from shared.adapters.dynamodb.checkpointer.reader import Loaded, Reader
from shared.adapters.dynamodb.checkpointer.records import CheckpointRecord, FoldedHistory, ListRecord


def standing_alone(reader: Reader, place: Place, loaded: Loaded) -> CheckpointRecord:
    """Give the record that says the same as a checkpoint's, without any checkpoint before it.

    What stands in segments and blobs stays there. The histories of delta channels, which are made from the writes of
    earlier checkpoints, are taken over.
    """
    state, record = loaded.state, loaded.record
    histories = delta_histories(reader, place, loaded.namespace, loaded.checkpoint, sorted(record.since))
    folded: dict[str, FoldedHistory] = dict(record.folded)
    folded |= {name: FoldedHistory(history.writes, history.seed) for name, history in histories.items()}
    return replace(
        record,
        depth=0,
        weight=0,
        lists={
            name: ListRecord(base_parts(each.layout, each.elements), each.snapshot)
            for name, each in state.lists.items()
        },
        wholes=state.wholes,
        blobs=state.blobs,
        offer={},
        since={},
        folded=folded,
    )
