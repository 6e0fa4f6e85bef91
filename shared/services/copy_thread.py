"""Copying a thread with everything that was said in it."""

import logging
import uuid
from dataclasses import replace
from typing import Protocol

from shared.domain.errors import EverthreadError
from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import ThreadRow
from shared.ports import CheckpointCopies, Clock, Threads

_log = logging.getLogger(__name__)


class DeleteThread(Protocol):
    """What deletes a thread with all it has; :class:`~shared.services.manage_threads.ManageThreads` does."""

    async def delete(self, user: UserId, thread: ThreadId) -> None:
        """Make the thread invisible, and queue the removal of what it has."""
        ...


class CopyThread:
    """Makes copies of threads.

    The copy has the row and the checkpoints. Summaries are not copied: the next turns make them anew. Neither are
    runs, which were runs of the other thread.

    No lease is held. Of the source, checkpoints are copied up to the one that was its newest when the copy began, and
    those do not change. What a run stores meanwhile is not in the copy, whose next run takes in its question. The
    target refuses to be written to until it is complete.

    Parameters
    ----------
    threads : Threads
        The rows.
    checkpoints : CheckpointCopies
        The message log.
    manage : DeleteThread
        Removes a copy that was broken off.
    clock : Clock
        Dates the copy.
    """

    def __init__(self, threads: Threads, checkpoints: CheckpointCopies, manage: DeleteThread, clock: Clock) -> None:
        self._threads = threads
        self._checkpoints = checkpoints
        self._manage = manage
        self._clock = clock

    async def copy(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Copy a thread as it was stored last. A run that goes on does so in the source; its question comes along.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user, or it was deleted while it was copied.
        StoreError
            When the database cannot answer; there is no copy then.
        """
        row = await self._threads.get(user, thread)
        now = self._clock.now()
        copy = replace(
            row,
            thread_id=ThreadId(str(uuid.uuid4())),
            created_at=now,
            updated_at=now,
            last_message_at=now,
            status="interrupted" if row.status == "interrupted" else "idle",
            # With what a run that goes on was asked: the checkpoint may have it as an open step only, which the copy's
            # next run would replace.
            pending=row.pending,
            lease=None,
            cancel_requested=False,
            run=None,
            left_run=None,
        )
        await self._threads.create(copy)
        try:
            await self._checkpoints.copy(user, thread, copy.thread_id)
            # A thread that was being deleted meanwhile may have lost what was not copied yet.
            await self._threads.get(user, thread)
        except Exception:
            await self._drop(user, copy.thread_id)
            raise
        return copy

    async def _drop(self, user: UserId, copy: ThreadId) -> None:
        try:
            await self._manage.delete(user, copy)
        except EverthreadError as error:
            # What went wrong with the copy is what the user is told.
            _log.error("copy not removed", extra={"thread_id": copy, "code": error.code})  # noqa: TRY400, RUF100
