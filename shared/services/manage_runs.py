"""What a user knows of runs, and how one is stopped."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from shared.domain.errors import NotFoundError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.runs import RunRow, RunStatus
from shared.domain.threads import ThreadRow
from shared.ports import Clock, Runs, Threads

WAIT: Final = timedelta(seconds=20)
"""How long one request waits for a run to stop; a run looks about once a second whether it is to."""

SETTLES: Final = timedelta(seconds=5)
"""How long a reading of a thread waits for its run to stop, when the run was asked to."""

STOP_COMES: Final = timedelta(seconds=1)
"""How long such a reading waits to see whether the run is asked to stop."""

_LOOK_EVERY: Final = 0.5


class ManageRuns:
    """Finds and stops runs.

    Parameters
    ----------
    threads : Threads
        Their rows know of the run that goes on.
    runs : Runs
        Has the rows of those that have ended.
    clock : Clock
        Tells whether a run that does not end has died.
    pause : callable, optional
        Waits the seconds it is given.
    """

    def __init__(
        self,
        threads: Threads,
        runs: Runs,
        clock: Clock,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._threads = threads
        self._runs = runs
        self._clock = clock
        self._pause = pause

    async def get(self, user: UserId, thread: ThreadId, run: RunId) -> RunRow:
        """Give a run.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        NotFoundError
            When there is no such run in it, or its row has expired.
        """
        row, ended = await asyncio.gather(self._threads.get(user, thread), self._runs.get(user, thread, run))
        found = ended or next((each for each in self._not_ended(row) if each.run_id == run), None)
        if found is None:
            raise NotFoundError(f"Run with ID {run} not found")
        return found

    async def search(
        self, user: UserId, thread: ThreadId, *, limit: int = 10, offset: int = 0, status: RunStatus | None = None
    ) -> Sequence[RunRow]:
        """List a page of a thread's runs, the newest first. Raises ``ThreadNotFoundError`` as :meth:`get` does."""
        row, ended = await asyncio.gather(
            self._threads.get(user, thread),
            # One more than is asked for would do; the run that goes on stands before them, if it is not among them.
            self._runs.search(user, thread, limit=offset + limit, status=status),
        )
        known = {each.run_id for each in ended}
        others = [
            each
            for each in self._not_ended(row)
            if each.run_id not in known and (status is None or each.status == status)
        ]
        return [*others, *ended][offset : offset + limit]

    async def cancel(
        self, user: UserId, thread: ThreadId, run: RunId, *, rollback: bool = False, wait: bool = False
    ) -> None:
        """Ask a run to stop.

        Parameters
        ----------
        rollback : bool
            Whether what it has stored is to be undone as well.
        wait : bool
            Whether to wait until it has stopped, for :data:`WAIT` at most.

        Raises
        ------
        NotFoundError
            When there is no such thread, or the run does not hold it (any more).
        """
        asked = await self._threads.request_cancel(user, thread, run, now=self._clock.now(), rollback=rollback)
        if not asked:
            raise NotFoundError(f"Run with ID {run} not found, or it is over")
        waited = timedelta(0)
        while wait and waited < WAIT and await self._goes_on(user, thread, run):
            await self._pause(_LOOK_EVERY)
            waited += timedelta(seconds=_LOOK_EVERY)

    async def settle(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Let a run end that is being stopped, so that who reads the thread then finds what was kept.

        A chat's page reads the thread as soon as stop is pressed, and in a browser that comes before the wish to stop,
        whose address is a new one and is asked for first. So a thread that a run holds is looked at for
        :data:`STOP_COMES` longer. A run that nobody wants to stop by then is not waited for.

        Returns
        -------
        ThreadRow
            The thread, as it was when it was looked at last.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        """
        row = await self._threads.get(user, thread)
        waited = timedelta(0)
        while row.is_busy(self._clock.now()) and waited < (SETTLES if row.cancel_requested else STOP_COMES):
            await self._pause(_LOOK_EVERY)
            waited += timedelta(seconds=_LOOK_EVERY)
            row = await self._threads.get(user, thread)
        return row

    async def _goes_on(self, user: UserId, thread: ThreadId, run: RunId) -> bool:
        row = await self._threads.get(user, thread)
        return row.is_held_by(run, self._clock.now())

    def _not_ended(self, row: ThreadRow) -> list[RunRow]:
        """Give the runs that the thread's row knows of: one that goes on or died, and a dead one before it."""
        now = self._clock.now()
        known: list[RunRow] = []
        if row.run is not None:
            known.append(row.run if row.is_busy(now) else replace(row.run, status="error"))
        if row.left_run is not None:
            known.append(replace(row.left_run, status="error"))
        return known
