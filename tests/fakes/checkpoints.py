"""Threads' checkpoints, as far as a purge is concerned."""

from shared.domain.ids import ThreadId, UserId
from tests.fakes.faults import Faults


class CountedCheckpoints(Faults):
    """Implements ``Checkpoints``; ``left`` says how many checkpoints each thread has."""

    def __init__(self) -> None:
        super().__init__()
        self.left: dict[tuple[UserId, ThreadId], int] = {}

    async def purge(self, user: UserId, thread: ThreadId) -> None:
        self._called("purge")
        self.left.pop((user, thread), None)
