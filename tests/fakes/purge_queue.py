"""A queue that keeps what was asked for."""

from shared.domain.errors import StoreError
from shared.domain.ids import ThreadId, UserId


class RecordingPurgeQueue:
    """Implements ``PurgeQueue``; ``queued`` holds the threads in order.

    ``failures`` is how many requests are refused before one is taken.
    """

    def __init__(self, *, failures: int = 0) -> None:
        self.queued: list[tuple[UserId, ThreadId]] = []
        self.failures = failures

    async def purge_thread(self, user: UserId, thread: ThreadId) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise StoreError("The queue did not take the request.")
        self.queued.append((user, thread))
