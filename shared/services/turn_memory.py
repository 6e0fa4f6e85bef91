"""One turn's memory: read once, early, shared by everything in the turn, and by nothing else."""

import asyncio
from typing import Self

from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.services.recall import Recall, Recalled


class TurnMemory:
    """What a turn remembers, kept for that turn only.

    There is no cache across turns: a key deleted by another process must be gone from the very next turn. Within the
    turn one read is enough, and after a save the profile is read again, so that the next model call sees it.

    Parameters
    ----------
    recall : Recall
        Reads the memory; it never raises, so neither does :meth:`get`.
    user, thread : str or None
        Whose memory.
    overlay : AccountOverlay
        From the verified token.

    Examples
    --------
    >>> memory = TurnMemory(recall, user, thread, overlay).start()  # doctest: +SKIP
    >>> lease = await threads.acquire(...)  # meanwhile  # doctest: +SKIP
    >>> recalled = await memory.get()  # doctest: +SKIP
    """

    def __init__(self, recall: Recall, user: UserId | None, thread: ThreadId | None, overlay: AccountOverlay) -> None:
        self._recall = recall
        self._user = user
        self._thread = thread
        self._overlay = overlay
        self._reading: asyncio.Task[Recalled] | None = None
        self._stale = False

    def start(self) -> Self:
        """Begin to read beside whatever the caller does next. Needs a running loop; done again it changes nothing."""
        self._begun()
        return self

    async def get(self) -> Recalled:
        """Give the memory; reads it if nobody has, or if :meth:`refresh` was called since."""
        reading = self._begun()
        if self._stale and self._user is not None:
            self._stale = False
            reading = self._reading = asyncio.create_task(self._again(self._user, reading))
        # Shielded: whoever waits may be cancelled, the others still want the answer.
        return await asyncio.shield(reading)

    def refresh(self) -> None:
        """Have the profile read again by the next :meth:`get`: it was just written to."""
        self._stale = True

    def _begun(self) -> asyncio.Task[Recalled]:
        if self._reading is None:
            self._reading = asyncio.create_task(self._recall.recall(self._user, self._thread, self._overlay))
        return self._reading

    async def _again(self, user: UserId, earlier: asyncio.Task[Recalled]) -> Recalled:
        return await self._recall.with_present_profile(user, await earlier)
