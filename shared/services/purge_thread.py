"""Remove everything a deleted thread has left."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, Literal

from shared.domain import counters
from shared.domain.errors import ThreadBusyError, ThreadNotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.ports import Checkpoints, Clock, Metrics, Runs, Summaries, Threads, Traces

PurgeOutcome = Literal["purged", "refused"]
"""``refused``: nobody deleted the thread."""

_LOOK_AGAIN: Final = 2.0

_log = logging.getLogger(__name__)


class PurgeThread:
    """Removes summaries, claims, runs, traces and checkpoints of a deleted thread, then its row.

    Documents stay, those too that came with its messages: they are their user's, not the thread's.

    Every step may be done again: a purge that dies half-way is finished by the next delivery.

    Parameters
    ----------
    threads : Threads
        Knows whether the thread was deleted, and whether a run still holds it.
    summaries : Summaries
        Entries and claims, corrupt ones too.
    runs : Runs
        Rows and events of its runs.
    traces : Traces
        What happened in them.
    checkpoints : Checkpoints
        The message log.
    clock : Clock
        The time of day.
    metrics : Metrics
        See ``shared.domain.counters``.
    tombstone_for : timedelta
        How long the id stays taken.
    patience : timedelta
        How long one purge waits for a run to let go before it leaves it to the next delivery.
    pause : callable, optional
        Waits the seconds it is given.
    """

    def __init__(
        self,
        *,
        threads: Threads,
        summaries: Summaries,
        runs: Runs,
        traces: Traces,
        checkpoints: Checkpoints,
        clock: Clock,
        metrics: Metrics,
        tombstone_for: timedelta,
        patience: timedelta,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._threads = threads
        self._summaries = summaries
        self._runs = runs
        self._traces = traces
        self._checkpoints = checkpoints
        self._clock = clock
        self._metrics = metrics
        self._tombstone_for = tombstone_for
        self._patience = patience
        self._pause = pause

    async def purge(self, user: UserId, thread: ThreadId) -> PurgeOutcome:
        """Purge one thread.

        Parameters
        ----------
        user : str
            Whose thread it was.
        thread : str
            Which.

        Returns
        -------
        PurgeOutcome
            ``purged`` also when there was nothing left to do.

        Raises
        ------
        ThreadBusyError
            When a run still holds the thread after ``patience``. It stops as soon as it looks after its lease; a
            dead one's lease runs out.
        StoreError
            When the database cannot answer.
        """
        if await self._lives(user, thread):
            self._metrics.count(counters.PURGE_REFUSED)
            _log.error("purge of a living thread refused", extra={"user_id": user, "thread_id": thread})
            return "refused"
        await self._wait_for_the_run(user, thread)
        # Nobody can write any more: runs need the lease, passes need the thread. What was written before goes.
        removed = await self._summaries.forget(user, thread)
        await self._runs.forget(user, thread)
        await self._traces.forget(user, thread)
        await self._checkpoints.purge(user, thread)
        # The row goes last: without it nobody would know that there is something to remove (DL05).
        await self._threads.bury(user, thread, now=self._clock.now(), keep_for=self._tombstone_for)
        self._metrics.count(counters.THREAD_PURGED)
        _log.info("thread purged", extra={"thread_id": thread, "summaries": removed})
        return "purged"

    async def _lives(self, user: UserId, thread: ThreadId) -> bool:
        try:
            await self._threads.get(user, thread)
        except ThreadNotFoundError:
            return False
        return True

    async def _wait_for_the_run(self, user: UserId, thread: ThreadId) -> None:
        give_up = self._clock.now() + self._patience
        while True:
            lease = await self._threads.lease_of_deleted(user, thread)
            now = self._clock.now()
            if lease is None or lease.until <= now:
                return
            if now >= give_up:
                self._metrics.count(counters.PURGE_WAITED)
                raise ThreadBusyError(f"A run still holds deleted thread {thread}.")
            await self._pause(_LOOK_AGAIN)
