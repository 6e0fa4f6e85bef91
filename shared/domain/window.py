"""Which turns the next summary pass covers."""

from dataclasses import dataclass

from shared.domain.ids import MessageId


@dataclass(frozen=True, slots=True)
class Window:
    """A run of turns, by index and by identity.

    Parameters
    ----------
    start, end : int
        Zero-based human indices, both included.
    message_ids : tuple of str
        Ids of the human messages from ``start`` to ``end``.
    """

    start: int
    end: int
    message_ids: tuple[MessageId, ...]
