"""What a user does with threads as a whole: make, find, list, name, delete."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from shared.domain import counters
from shared.domain.errors import InvalidInputError, StoreError, ThreadExistsError, ThreadNotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import (
    DEFAULT_POLICY,
    DEFAULT_TITLE,
    TITLE_MAX_CHARS,
    HistoryPolicy,
    ThreadQuery,
    ThreadRow,
    checked_metadata,
)
from shared.ports import Clock, Metrics, PurgeQueue, Threads

_log = logging.getLogger(__name__)


class ManageThreads:
    """Works on thread rows; checkpoints are not opened.

    Parameters
    ----------
    threads : Threads
        The rows.
    purge_queue : PurgeQueue
        Where the rest of a deletion is queued.
    clock : Clock
        Dates new rows.
    metrics : Metrics
        See ``shared.domain.counters``.
    """

    def __init__(self, threads: Threads, purge_queue: PurgeQueue, clock: Clock, metrics: Metrics) -> None:
        self._threads = threads
        self._purge_queue = purge_queue
        self._clock = clock
        self._metrics = metrics

    async def create(
        self,
        user: UserId,
        thread: ThreadId,
        *,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        policy: HistoryPolicy = DEFAULT_POLICY,
        if_exists: Literal["raise", "do_nothing"] = "raise",
    ) -> ThreadRow:
        """Make a thread.

        Parameters
        ----------
        metadata : mapping, optional
            The client's own.
        title : str, optional
            A name; without one the first turn finds one.
        policy : {'summaries', 'trim', 'delete', 'running_summary'}
            How the thread is kept within the context window, for good.
        if_exists : {'raise', 'do_nothing'}
            Whether a thread that is there already is an error or the answer.

        Raises
        ------
        ThreadExistsError
            When the user has, or had, a thread with this id. A deleted one counts with either choice.
        InvalidInputError
            When title or metadata are too long.
        """
        now = self._clock.now()
        row = ThreadRow(
            user_id=user,
            thread_id=thread,
            created_at=now,
            updated_at=now,
            last_message_at=now,
            title=DEFAULT_TITLE if title is None else checked_title(title),
            metadata=checked_metadata(metadata or {}),
            policy=policy,
        )
        try:
            await self._threads.create(row)
        except ThreadExistsError as exists:
            if if_exists == "raise":
                raise
            try:
                return await self._threads.get(user, thread)
            except ThreadNotFoundError:
                raise exists from None
        return row

    async def get(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Give a thread. Raises ``ThreadNotFoundError``, for another user's as for a missing one."""
        return await self._threads.get(user, thread)

    async def search(self, user: UserId, query: ThreadQuery) -> Sequence[ThreadRow]:
        """List a page of the user's threads."""
        return await self._threads.search(user, query, now=self._clock.now())

    async def count(self, user: UserId, query: ThreadQuery) -> int:
        """Count the user's threads that fit a query, over all pages."""
        return await self._threads.count(user, query, now=self._clock.now())

    async def update(
        self,
        user: UserId,
        thread: ThreadId,
        *,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        policy: HistoryPolicy | None = None,
    ) -> ThreadRow:
        """Merge metadata into a thread's, key by key, and give it a new title if there is one.

        Parameters
        ----------
        metadata : mapping, optional
            The client's own.
        title : str, optional
            A name.
        policy : {'summaries', 'trim', 'delete', 'running_summary'}, optional
            The one the thread has: clients send back what they were given.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        InvalidInputError
            When title or metadata are too long, or the policy is another than the thread's: a thread that has
            summaries must not begin to lose messages.
        """
        if policy is not None and policy != (await self._threads.get(user, thread)).policy:
            raise InvalidInputError("A thread keeps the history policy that it was made with.")
        name = None if title is None else checked_title(title)
        row = await self._threads.update_metadata(user, thread, metadata or {}, now=self._clock.now())
        if name is None:
            return row
        if not await self._threads.rename(user, thread, name):
            raise ThreadNotFoundError(thread)
        return replace(row, title=name)

    async def delete(self, user: UserId, thread: ThreadId) -> None:
        """Make a thread invisible at once, and queue the removal of everything it has.

        May be repeated: as long as the thread is not gone, each call queues the removal again.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user, or it is gone already.
        StoreError
            When the removal could not be queued. The thread stays invisible; the call is to be made again.
        """
        await self._threads.mark_deleting(user, thread, now=self._clock.now())
        try:
            await self._purge_queue.purge_thread(user, thread)
        except StoreError as error:
            # Nobody may ask again, and what was deleted must not stay.
            self._metrics.count(counters.PURGE_NOT_QUEUED)
            ids = {"user_id": user, "thread_id": thread}
            _log.error("purge not queued", extra={**ids, "code": error.code})  # noqa: TRY400, RUF100
            raise


def checked_title(title: str) -> str:
    """Give a title a user may give (G09).

    Raises
    ------
    InvalidInputError
        When nothing is left without the white space around it, or it is too long.
    """
    title = title.strip()
    if not 1 <= len(title) <= TITLE_MAX_CHARS:
        raise InvalidInputError(f"A title has 1 to {TITLE_MAX_CHARS} characters.")
    return title
