"""Copying a thread with everything that was said in it."""

import uuid
from dataclasses import replace

from shared.domain.ids import ThreadId, UserId
from shared.domain.threads import ThreadRow
from shared.ports import CheckpointCopies, Clock, PurgeQueue, Threads


class CopyThread:
    """Makes copies of threads.

    The copy has the row and the checkpoints. Summaries are not copied: the next turns make them anew. Neither are
    runs, which were runs of the other thread.

    Parameters
    ----------
    threads : Threads
        The rows.
    checkpoints : CheckpointCopies
        The message log.
    purge_queue : PurgeQueue
        Where the removal of a copy is queued that was broken off.
    clock : Clock
        Dates the copy.
    """

    def __init__(self, threads: Threads, checkpoints: CheckpointCopies, purge_queue: PurgeQueue, clock: Clock) -> None:
        self._threads = threads
        self._checkpoints = checkpoints
        self._purge_queue = purge_queue
        self._clock = clock

    async def copy(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Copy a thread as it was stored last; a run that goes on is not in the copy.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        StoreError
            When the database cannot answer; there is no copy then.
        """
        row = await self._threads.get(user, thread)
        now = self._clock.now()
        busy = row.is_busy(now)
        copy = replace(
            row,
            thread_id=ThreadId(str(uuid.uuid4())),
            created_at=now,
            updated_at=now,
            last_message_at=now,
            status="interrupted" if row.status == "interrupted" else "idle",
            # What a run that goes on has taken in, it will store itself.
            pending=() if busy else row.pending,
            lease=None,
            cancel_requested=False,
            run=None,
            left_run=None,
        )
        await self._threads.create(copy)
        try:
            await self._checkpoints.copy(user, thread, copy.thread_id)
        except Exception:
            await self._threads.mark_deleting(user, copy.thread_id, now=self._clock.now())
            await self._purge_queue.purge_thread(user, copy.thread_id)
            raise
        return copy
