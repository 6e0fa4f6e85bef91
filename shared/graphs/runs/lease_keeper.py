"""Holding the thread while a run goes on, and hearing that it must stop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from shared.domain.errors import LeaseLostError, StoreError
from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import Lease
from shared.ports import Clock, Threads

StopReason = Literal["cancelled", "rolled_back", "deleting", "lost", "out_of_time"]
"""Why a run must stop: somebody asked for it; somebody wants it undone; its thread is being deleted; another run has
taken over; its process must end soon."""

Followed = Callable[[], Awaitable[None]]
"""Called about once a second while somebody follows the run from elsewhere. Never raises."""

_log = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews a lease and looks for a request to stop.

    Parameters
    ----------
    threads : Threads
        Where the lease is.
    clock : Clock
        Tells when it ends.
    user, thread : str
        The thread.
    lease : Lease
        As acquired.
    hold, renew_every, watch_every : timedelta
        For how long a renewal holds; how often to renew; how often to look.
    """

    def __init__(
        self,
        threads: Threads,
        clock: Clock,
        user: UserId,
        thread: ThreadId,
        lease: Lease,
        *,
        hold: timedelta,
        renew_every: timedelta,
        watch_every: timedelta,
    ) -> None:
        self._threads = threads
        self._clock = clock
        self._user = user
        self._thread = thread
        self.lease = lease
        self._hold = hold
        self._renew_every = renew_every
        self._watch_every = watch_every
        self._renew_at = clock.now() + renew_every
        self._may_write = True

    def may_write(self) -> bool:
        """Say whether the run may store anything: it holds the thread, and the thread stays."""
        return self._may_write and self._clock.now() < self.lease.until

    async def until_stopped(self, followed: Followed) -> StopReason:
        """Hold the thread until there is a reason to stop; cancel this when the run is over by itself."""
        while True:
            await asyncio.sleep(self._watch_every.total_seconds())
            reason = await self._look(followed)
            if reason is not None:
                self._may_write = reason == "cancelled"
                return reason

    async def _look(self, followed: Followed) -> StopReason | None:
        now = self._clock.now()
        try:
            if now >= self._renew_at:
                until = now + self._hold
                signal = await self._threads.renew(self._user, self._thread, self.lease, until)
                self.lease = replace(self.lease, until=until)
                self._renew_at = now + self._renew_every
            else:
                signal = await self._threads.watch(self._user, self._thread, self.lease)
        except LeaseLostError:
            return "lost"
        except StoreError:
            # The lease lasts for several tries; after that somebody else may have it.
            _log.warning("lease not looked at", extra={"thread_id": self._thread, "run_id": self.lease.run_id})
            return "lost" if self._clock.now() >= self.lease.until else None
        if signal.deleting:
            return "deleting"
        if signal.cancel_requested:
            return "rolled_back" if signal.rollback else "cancelled"
        if signal.followed:
            await followed()
        return None
