"""Following a run from another process: what it has sent so far, and then what it sends."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Final

from shared.domain.errors import NotFoundError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.runs import EventPage
from shared.ports import Clock, Runs, Threads

_LOOKS_BETWEEN: Final = 10
"""How many looks that find nothing lie between two questions whether the run still goes on."""


class FollowRun:
    """Reads the events of a run as its process keeps them.

    A run that nobody follows keeps its events once, when it ends. It is asked to keep them as they come, and looks
    about once a second whether it is asked to.

    Parameters
    ----------
    threads : Threads
        Where a run is asked to keep its events, and where it is seen whether it still goes on.
    runs : Runs
        Where its events are.
    clock : Clock
        The time of day.
    look_every : timedelta, optional
        How often to look for more; half as often while nothing comes.
    silent_looks : int, optional
        After how many looks that found nothing to see for the first time whether the run still goes on.
    pause : callable, optional
        Waits the seconds it is given.
    """

    def __init__(
        self,
        threads: Threads,
        runs: Runs,
        clock: Clock,
        *,
        look_every: timedelta = timedelta(milliseconds=500),
        silent_looks: int = 4,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._threads = threads
        self._runs = runs
        self._clock = clock
        self._look_every = look_every.total_seconds()
        self._silent_looks = silent_looks
        self._pause = pause

    async def check(self, user: UserId, thread: ThreadId, run: RunId) -> None:
        """Ask a run to keep its events as they come.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        NotFoundError
            When there is no such run in it, or it ended too long ago.
        """
        row = await self._threads.get(user, thread)
        if row.is_held_by(run, self._clock.now()):
            await self._threads.request_events(user, thread, run, now=self._clock.now())
            return
        died = row.run is not None and row.run.run_id == run
        ended = died or await self._runs.get(user, thread, run) is not None
        # One that was undone has no row, but its end can still be read.
        if not ended and not await self._runs.pages(user, thread, run):
            raise NotFoundError(f"Run with ID {run} not found")

    async def pages(self, user: UserId, thread: ThreadId, run: RunId) -> AsyncGenerator[EventPage]:
        """Give the pages of a run in order, each as soon as it is there; end when no more will come.

        A page may be given again when it has grown.
        """
        seen = since = silent = 0
        # Most who come back come back to a run that is over: the first look asks.
        ask_at, look_back = 0, True
        while True:
            # A look is for what follows, at half the price of a read that misses nothing. The last page, which may have
            # grown, is read again only where a gap is seen, and once when nothing has come for a while.
            first = since if look_back else seen + 1
            pages = await self._runs.pages(user, thread, run, since=first, consistent=look_back)
            news = _new_pages(pages, seen)
            look_back = bool(pages) and not news and pages[-1].first > seen
            for page in news:
                yield page
                seen, since = page.last, page.first
            silent = 0 if news else silent + 1
            if news and ask_at:
                ask_at = self._silent_looks
            elif silent >= ask_at:
                if not await self.goes_on(user, thread, run):
                    # What it kept last may have come between the two looks.
                    for page in _new_pages(await self._runs.pages(user, thread, run, since=since), seen):
                        yield page
                    return
                look_back = look_back or 0 < silent == self._silent_looks
                ask_at = silent + _LOOKS_BETWEEN if silent else self._silent_looks
            await self._pause(self._look_every * (1 if silent < self._silent_looks else 2))

    async def goes_on(self, user: UserId, thread: ThreadId, run: RunId) -> bool:
        """Say whether the run still holds its thread."""
        row = await self._threads.get(user, thread)
        return row.is_held_by(run, self._clock.now())


def _new_pages(pages: Sequence[EventPage], seen: int) -> list[EventPage]:
    """Give the pages that go on from what was seen, without a gap: what is written together is not read together."""
    news: list[EventPage] = []
    for page in pages:
        if page.first > seen + 1:
            break
        if page.last > seen:
            news.append(page)
            seen = page.last
    return news
