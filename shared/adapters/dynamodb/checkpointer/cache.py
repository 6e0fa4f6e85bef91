"""What a process keeps of the threads it serves, within a number of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from functools import cache
from threading import Lock
from typing import Final, Generic, TypeVar

from shared.adapters.dynamodb.checkpointer.footprint import Footprint
from shared.adapters.dynamodb.items import Key

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_BODIES_BYTES: Final = 48 * 1024 * 1024
_FOOTPRINTS_BYTES: Final = 16 * 1024 * 1024
_NEWEST_BYTES: Final = 4 * 1024 * 1024

_PER_ENTRY: Final = 200
"""What a key and the book-keeping of an entry take, about."""


class ByteLimited(Generic[K, V]):
    """A mapping that forgets what was used longest ago once it holds too many bytes.

    Parameters
    ----------
    limit : int
        How many bytes it may hold. What is larger is not kept at all.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Give what is kept under a key, if anything is."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def keep(self, key: K, value: V, size: int) -> None:
        """Keep a value that takes ``size`` bytes, in the place of what was there."""
        with self._lock:
            self._drop(key)
            size += _PER_ENTRY
            if size > self._limit:
                return
            self._entries[key] = (value, size)
            self.bytes += size
            while self.bytes > self._limit:
                self._drop(next(iter(self._entries)))

    def forget(self, key: K) -> None:
        """Keep nothing under a key any more."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: K) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry[1]


class Cache:
    """Everything kept. Keys hold table, owner and thread, so it may serve all of them.

    What is kept never answers a question alone: each load asks the database which checkpoint is the newest, and takes
    from here only what cannot have changed since.

    Parameters
    ----------
    bodies_bytes, footprints_bytes : int
        How much may be kept of each kind.
    """

    def __init__(self, bodies_bytes: int = _BODIES_BYTES, footprints_bytes: int = _FOOTPRINTS_BYTES) -> None:
        self.bodies: ByteLimited[tuple[str, Key], bytes] = ByteLimited(bodies_bytes)
        """Bodies of checkpoints and segments, as stored."""
        self.footprints: ByteLimited[tuple[str, Key], Footprint] = ByteLimited(footprints_bytes)
        """What is known of checkpoints that were loaded or written here."""
        self.newest: ByteLimited[tuple[str, str, str], str] = ByteLimited(_NEWEST_BYTES)
        """The newest checkpoint met so far, by table, partition and namespace."""
        self.attempts: ByteLimited[tuple[str, Key], bool] = ByteLimited(_NEWEST_BYTES)
        """Checkpoints that were tried to write here."""
        self.leases: ByteLimited[tuple[str, str], int] = ByteLimited(_NEWEST_BYTES)
        """The lease number that a thread's guard was told from here."""


@cache
def process_cache() -> Cache:
    """Give the process's one cache."""
    return Cache()
