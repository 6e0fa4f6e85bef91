"""What must be known of a checkpoint to store the one after it: digests and places, no values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.adapters.dynamodb.checkpointer.layout import Layout
from shared.adapters.dynamodb.checkpointer.records import BlobRef

_PER_ELEMENT = 60
_PER_CHANNEL = 200


@dataclass(frozen=True, slots=True)
class ListFootprint:
    """A list channel.

    Parameters
    ----------
    digests : list of bytes
        Its elements' digests.
    layout : tuple
        Where its elements stand.
    snapshot : bool
        Whether it is what a ``DeltaChannel`` stores.
    """

    digests: Sequence[bytes]
    layout: Layout
    snapshot: bool = False


@dataclass(frozen=True, slots=True)
class WholeFootprint:
    """Any other channel: its value's digest, and where it stands if it is too large for a checkpoint's own item."""

    digest: bytes
    blob: BlobRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """A checkpoint.

    Parameters
    ----------
    checkpoint : str
        Its id.
    versions : mapping
        The channels' versions.
    present : frozenset of str
        The channels that have a value.
    lists : mapping
        The list channels; also those that have no value at the moment but will be stored again.
    wholes : mapping
        The other channels that have a value.
    base : str
        The checkpoint that says everything itself.
    depth, weight : int
        As in the record.
    offered : bool
        Whether segments have been written since the base, and are known to be there.
    since : mapping
        As in the record.
    expires : int or None
        When it expires, in epoch seconds.
    """

    checkpoint: str
    versions: Mapping[str, str | int | float]
    present: frozenset[str]
    lists: Mapping[str, ListFootprint]
    wholes: Mapping[str, WholeFootprint]
    base: str
    depth: int
    weight: int
    offered: bool = False
    since: Mapping[str, str] = field(default_factory=dict[str, str])
    expires: int | None = None

    @property
    def size(self) -> int:
        """The bytes it takes in memory, about."""
        elements = sum(len(each.digests) for each in self.lists.values())
        return elements * _PER_ELEMENT + (len(self.lists) + len(self.wholes) + len(self.versions)) * _PER_CHANNEL
