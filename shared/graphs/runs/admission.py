"""Getting a thread for a run: one run at a time, and the others wait, are refused, or stop the one before them."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage

from shared.domain.errors import ItemTooLargeError, ThreadBusyError
from shared.domain.ids import RunId
from shared.domain.runs import RunRow
from shared.domain.threads import PREVIEW_MAX_CHARS, ThreadRow
from shared.domain.turns import text_of
from shared.graphs.runs.request import RunRequest
from shared.ports import Clock, Threads

PENDING_LIMIT: Final = 128 * 1024
"""Bytes of new human messages that the thread's row keeps until the turn is stored; an item may take 400 KB."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """The thread is ours.

    Parameters
    ----------
    row : ThreadRow
        As it is now, lease included.
    keeps_input : bool
        Whether the row keeps the new human messages, so that a dead process loses nothing the user typed.
    """

    row: ThreadRow
    keeps_input: bool


class Admission:
    """Takes threads for runs.

    Parameters
    ----------
    threads : Threads
        Where the leases are.
    clock : Clock
        Tells when they end.
    hold : timedelta
        For how long a lease is taken at first.
    wait, look_every : timedelta
        How long a run waits for a busy thread, and how often it tries.
    """

    def __init__(
        self, threads: Threads, clock: Clock, *, hold: timedelta, wait: timedelta, look_every: timedelta
    ) -> None:
        self._threads = threads
        self._clock = clock
        self._hold = hold
        self._wait = wait
        self._look_every = look_every

    async def admit(self, request: RunRequest) -> Admitted:
        """Take the thread.

        Raises
        ------
        ThreadNotFoundError
            When the user has no such thread and none is to be made.
        ThreadBusyError
            When another run holds it: at once with ``reject``, else after the wait.
        """
        pending = pending_of(request.messages, request.run)
        give_up = self._clock.now() + self._wait
        asked: set[RunId] = set()
        while True:
            try:
                return await self._take(request, pending)
            except ThreadBusyError:
                if request.strategy == "reject" or self._clock.now() >= give_up:
                    raise
                if request.strategy in ("interrupt", "rollback"):
                    await self._stop_the_other(request, asked)
            await asyncio.sleep(self._look_every.total_seconds())

    async def _take(self, request: RunRequest, pending: Sequence[dict[str, Any]]) -> Admitted:
        fits = len(json.dumps(pending).encode()) <= PENDING_LIMIT
        try:
            return Admitted(await self._acquire(request, pending if fits else ()), fits)
        except ItemTooLargeError:
            # Several dead runs have left large messages behind; they come first.
            return Admitted(await self._acquire(request, ()), keeps_input=False)

    async def _acquire(self, request: RunRequest, pending: Sequence[dict[str, Any]]) -> ThreadRow:
        now = self._clock.now()
        return await self._threads.acquire(
            request.user,
            request.thread,
            request.run,
            now=now,
            hold=self._hold,
            pending=pending,
            create=request.create,
            preview=preview_of(request.messages),
            record=RunRow(
                run_id=request.run,
                thread_id=request.thread,
                created_at=now,
                updated_at=now,
                strategy=request.strategy,
                metadata=request.metadata,
            ),
        )

    async def _stop_the_other(self, request: RunRequest, asked: set[RunId]) -> None:
        """Ask whoever holds the thread to stop, once."""
        row = await self._threads.get(request.user, request.thread)
        if row.lease is None or row.lease.run_id in asked:
            return
        asked.add(row.lease.run_id)
        await self._threads.request_cancel(
            request.user,
            request.thread,
            row.lease.run_id,
            now=self._clock.now(),
            rollback=request.strategy == "rollback",
        )


def pending_of(messages: Sequence[AnyMessage], run: RunId) -> list[dict[str, Any]]:
    """Give the human messages as the thread's row keeps them, with the run that brought them."""
    return [
        {"type": "human", "id": message.id, "content": message.content, "run": run}
        for message in messages
        if isinstance(message, HumanMessage)
    ]


def preview_of(messages: Sequence[AnyMessage]) -> str:
    """Give the start of the first human message's text, for lists of threads."""
    first = next((message for message in messages if isinstance(message, HumanMessage)), None)
    return "" if first is None else text_of(first.content)[:PREVIEW_MAX_CHARS]
