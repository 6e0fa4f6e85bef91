"""The place before everything that was said in a thread.

A turn is stored as one checkpoint, so nothing stands before the first. Clients who edit or regenerate a message start
at the parent of the state that it came with; the first message needs such a place too. It is not stored: every thread
has it, its state is empty, and it is the parent of each checkpoint that has no other.
"""

from typing import Final

from shared.domain.ids import ThreadId

_BEFORE_ALL: Final = "00000000-0000-6000-8000-"
"""Checkpoints' ids are UUIDs of version 6, which begin with the time: this is the earliest."""


def root_checkpoint_id(thread: ThreadId) -> str:
    """Give the id of a thread's root, always the same: no stored checkpoint's id is lower."""
    return _BEFORE_ALL + thread.replace("-", "")[:12]


def is_root(checkpoint_id: str | None, thread: ThreadId) -> bool:
    """Say whether this is the thread's root."""
    return checkpoint_id == root_checkpoint_id(thread)
