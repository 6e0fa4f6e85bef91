"""Summary entries and claims, kept in memory."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from pydantic import ValidationError

from shared.domain.claims import Claim, ClaimRecord, ClaimRefusal
from shared.domain.errors import ClaimLostError, InvalidInputError, ThreadNotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.summary import SummaryEntry, SummaryRows
from tests.fakes.faults import Faults


class _Lives(Protocol):
    def lives(self, user: UserId, thread: ThreadId) -> bool: ...


class _EveryThread:
    def lives(self, user: UserId, thread: ThreadId) -> bool:
        return True


class InMemorySummaries(Faults):
    """Implements ``Summaries``.

    Parameters
    ----------
    threads
        Says which threads live, as the table's thread rows do; an ``InMemoryThreads``. Without one, all do.
    """

    def __init__(self, threads: _Lives | None = None) -> None:
        super().__init__()
        self._threads: _Lives = threads or _EveryThread()
        self._entries: dict[tuple[UserId, ThreadId, int], SummaryEntry | None] = {}
        self._claims: dict[tuple[UserId, ThreadId, str], ClaimRecord] = {}

    async def of_thread(self, user: UserId, thread: ThreadId) -> SummaryRows:
        self._called("of_thread")
        return self._rows(lambda owner, of: (owner, of) == (user, thread))

    async def of_user(self, user: UserId) -> SummaryRows:
        self._called("of_user")
        return self._rows(lambda owner, _: owner == user)

    async def claim(
        self,
        user: UserId,
        thread: ThreadId,
        window_key: str,
        *,
        now: datetime,
        hold: timedelta,
        max_attempts: int,
        back_off: timedelta,
    ) -> Claim | ClaimRefusal:
        self._called("claim")
        if not self._threads.lives(user, thread):
            return "thread_gone"
        record = self._claims.get((user, thread, window_key))
        refusal = record and record.refusal(now, max_attempts=max_attempts, back_off=back_off)
        if record is not None and refusal == "exhausted":
            self._claims[user, thread, window_key] = replace(record, state="failed")
        if refusal is not None:
            return refusal
        record = ClaimRecord(
            state="held", token=uuid.uuid4().hex, attempts=record.attempts + 1 if record else 1, until=now + hold
        )
        self._claims[user, thread, window_key] = record
        return Claim(
            thread_id=thread, window_key=window_key, token=record.token, attempts=record.attempts, until=record.until
        )

    async def append(self, user: UserId, entry: SummaryEntry, claim: Claim) -> None:
        self._called("append")
        try:
            entry = SummaryEntry.model_validate(entry.model_dump())
        except ValidationError as error:
            raise InvalidInputError("The summary entry breaks the rules of entries.") from error
        if not self._threads.lives(user, entry.thread_id):
            raise ThreadNotFoundError(entry.thread_id)
        record = self._held(user, claim)
        if record is None or (user, entry.thread_id, entry.sequence) in self._entries:
            raise ClaimLostError(f"The pass no longer holds its window of thread {entry.thread_id}.")
        self._entries[user, entry.thread_id, entry.sequence] = entry
        self._claims[user, claim.thread_id, claim.window_key] = replace(record, state="done")

    async def fail(self, user: UserId, claim: Claim, *, now: datetime) -> None:
        self._called("fail")
        record = self._held(user, claim)
        if record is not None:
            self._claims[user, claim.thread_id, claim.window_key] = replace(record, state="returned", until=now)

    async def forget(self, user: UserId, thread: ThreadId) -> int:
        self._called("forget")
        for key in [key for key in self._claims if key[:2] == (user, thread)]:
            del self._claims[key]
        entries = [key for key in self._entries if key[:2] == (user, thread)]
        for key in entries:
            del self._entries[key]
        return len(entries)

    def plant_corrupt(self, user: UserId, thread: ThreadId, sequence: int) -> None:
        """Leave a row that no reader understands."""
        self._entries[user, thread, sequence] = None

    def plant(self, user: UserId, entry: SummaryEntry) -> None:
        """Leave an entry behind without a claim, for tests that start with summaries."""
        self._entries[user, entry.thread_id, entry.sequence] = entry

    def record(self, user: UserId, thread: ThreadId, window_key: str) -> ClaimRecord | None:
        """Give a window's claim as an operator sees it."""
        return self._claims.get((user, thread, window_key))

    def _held(self, user: UserId, claim: Claim) -> ClaimRecord | None:
        record = self._claims.get((user, claim.thread_id, claim.window_key))
        return record if record is not None and (record.state, record.token) == ("held", claim.token) else None

    def _rows(self, wanted: Callable[[UserId, ThreadId], bool]) -> SummaryRows:
        found = {key[1:]: entry for key, entry in sorted(self._entries.items()) if wanted(key[0], key[1])}
        return SummaryRows(
            entries=tuple(entry for entry in found.values() if entry is not None),
            corrupt=sum(entry is None for entry in found.values()),
            highest_sequence=max((sequence for _, sequence in found), default=0),
        )
