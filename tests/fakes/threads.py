"""Thread rows, kept in memory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from shared.adapters.dynamodb.schema import ITEM_MAX_BYTES
from shared.domain.errors import (
    ItemTooLargeError,
    LeaseLostError,
    ThreadDeletedError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import RunRow
from shared.domain.threads import (
    DEFAULT_TITLE,
    Lease,
    LeaseSignal,
    ThreadQuery,
    ThreadRow,
    ThreadStatus,
    busy_error,
    merged_metadata,
)
from tests.fakes.faults import Faults


@dataclass(frozen=True)
class Deleting:
    row: ThreadRow


@dataclass(frozen=True)
class Tombstone:
    until: datetime


class InMemoryThreads(Faults):
    """Implements ``Threads``."""

    def __init__(self) -> None:
        super().__init__()
        self._threads: dict[tuple[UserId, ThreadId], ThreadRow | Deleting | Tombstone] = {}
        self._asked: dict[tuple[UserId, ThreadId], LeaseSignal] = {}

    async def create(self, row: ThreadRow) -> None:
        self._called("create")
        _check_size(row)
        if not self._is_free(row.user_id, row.thread_id, row.created_at):
            if not self.lives(row.user_id, row.thread_id):
                raise ThreadDeletedError(row.thread_id)
            raise ThreadExistsError(f"Thread {row.thread_id} exists already.")
        self._put(row)

    async def get(self, user: UserId, thread: ThreadId) -> ThreadRow:
        self._called("get")
        return self._living(user, thread)

    async def titles(self, user: UserId, threads: Sequence[ThreadId]) -> Mapping[ThreadId, str]:
        self._called("titles")
        rows = (self._threads.get((user, thread)) for thread in threads)
        return {row.thread_id: row.title for row in rows if isinstance(row, ThreadRow)}

    async def search(self, user: UserId, query: ThreadQuery, *, now: datetime) -> Sequence[ThreadRow]:
        self._called("search")
        page = query.in_order(self._fitting(user, query, now), now)[query.offset : query.offset + query.limit]
        return [_listed(row) for row in page]

    async def count(self, user: UserId, query: ThreadQuery, *, now: datetime) -> int:
        self._called("count")
        return len(self._fitting(user, query, now))

    async def update_metadata(
        self, user: UserId, thread: ThreadId, metadata: Mapping[str, Any], *, now: datetime
    ) -> ThreadRow:
        self._called("update_metadata")
        row = self._living(user, thread)
        return self._put(replace(row, metadata=merged_metadata(row.metadata, metadata), updated_at=now))

    async def rename(self, user: UserId, thread: ThreadId, title: str, *, only_default: bool = False) -> bool:
        self._called("rename")
        row = self._threads.get((user, thread))
        if not isinstance(row, ThreadRow) or (only_default and row.title not in (DEFAULT_TITLE, title)):
            return False
        self._put(replace(row, title=title))
        return True

    async def touch(self, user: UserId, thread: ThreadId, at: datetime) -> bool:
        self._called("touch")
        row = self._threads.get((user, thread))
        if not isinstance(row, ThreadRow):
            return False
        self._put(replace(row, last_message_at=max(row.last_message_at, at)))
        return True

    async def acquire(
        self,
        user: UserId,
        thread: ThreadId,
        run: RunId,
        *,
        now: datetime,
        hold: timedelta,
        pending: Sequence[Mapping[str, Any]] = (),
        create: bool = False,
        preview: str = "",
        record: RunRow | None = None,
    ) -> ThreadRow:
        self._called("acquire")
        if create and self._is_free(user, thread, now):
            row = ThreadRow(user_id=user, thread_id=thread, created_at=now, updated_at=now, last_message_at=now)
        elif create and not self.lives(user, thread):
            raise ThreadDeletedError(thread)
        else:
            row = self._living(user, thread)
        if _holds(row, now):
            if row.lease is not None and row.lease.run_id == run:
                return row
            raise busy_error(row, now)
        row = replace(
            row,
            status="busy",
            status_before="error" if row.status == "busy" else row.status,
            updated_at=now,
            preview=row.preview or preview,
            pending=(*row.pending, *pending),
            lease=Lease(run_id=run, number=row.lease.number + 1 if row.lease else 1, until=now + hold),
            cancel_requested=False,
            run=record,
            left_run=row.run,
        )
        _check_size(row)
        self._asked.pop((user, thread), None)
        return self._put(row)

    async def renew(self, user: UserId, thread: ThreadId, lease: Lease, until: datetime) -> LeaseSignal:
        self._called("renew")
        row, signal = self._held(user, thread, lease)
        self._replace(replace(row, lease=replace(lease, until=until)))
        return signal

    async def watch(self, user: UserId, thread: ThreadId, lease: Lease) -> LeaseSignal:
        self._called("watch")
        return self._held(user, thread, lease)[1]

    async def release(
        self,
        user: UserId,
        thread: ThreadId,
        lease: Lease,
        *,
        status: ThreadStatus,
        now: datetime,
        checkpoint_id: str | None = None,
        pending: Sequence[Mapping[str, Any]] = (),
        keep_preview: bool = True,
    ) -> None:
        self._called("release")
        try:
            row, _ = self._held(user, thread, lease)
        except LeaseLostError:
            return
        self._replace(
            replace(
                row,
                status=status,
                updated_at=now,
                lease=replace(lease, until=now),
                pending=tuple(pending),
                checkpoint_id=checkpoint_id or row.checkpoint_id,
                cancel_requested=False,
                run=None,
                left_run=None,
                status_before="idle",
                preview=row.preview if keep_preview else "",
            )
        )

    async def request_cancel(
        self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime, rollback: bool = False
    ) -> bool:
        self._called("request_cancel")
        asked = {"cancel_requested": True, **({"rollback": True} if rollback else {})}
        return self._ask(user, thread, run, now, asked)

    async def request_events(self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime) -> bool:
        self._called("request_events")
        return self._ask(user, thread, run, now, {"followed": True})

    async def mark_deleting(self, user: UserId, thread: ThreadId, *, now: datetime) -> None:
        self._called("mark_deleting")
        if not isinstance(self._threads.get((user, thread)), Deleting):
            self._threads[user, thread] = Deleting(self._living(user, thread))

    async def lease_of_deleted(self, user: UserId, thread: ThreadId) -> Lease | None:
        self._called("lease_of_deleted")
        found = self._threads.get((user, thread))
        return found.row.lease if isinstance(found, Deleting) and found.row.status == "busy" else None

    async def bury(self, user: UserId, thread: ThreadId, *, now: datetime, keep_for: timedelta) -> None:
        self._called("bury")
        if isinstance(self._threads.get((user, thread)), Deleting):
            self._threads[user, thread] = Tombstone(now + keep_for)

    def lives(self, user: UserId, thread: ThreadId) -> bool:
        """Say whether the thread is there and not going: what a summary pass's transaction checks."""
        return isinstance(self._threads.get((user, thread)), ThreadRow)

    def _is_free(self, user: UserId, thread: ThreadId, now: datetime) -> bool:
        found = self._threads.get((user, thread))
        return found is None or (isinstance(found, Tombstone) and found.until <= now)

    def _living(self, user: UserId, thread: ThreadId) -> ThreadRow:
        found = self._threads.get((user, thread))
        if not isinstance(found, ThreadRow):
            raise ThreadNotFoundError(thread)
        return found

    def _fitting(self, user: UserId, query: ThreadQuery, now: datetime) -> list[ThreadRow]:
        rows = (row for (owner, _), row in self._threads.items() if owner == user)
        return [row for row in rows if isinstance(row, ThreadRow) and query.fits(row, now)]

    def _held(self, user: UserId, thread: ThreadId, lease: Lease) -> tuple[ThreadRow, LeaseSignal]:
        found = self._threads.get((user, thread))
        row = found.row if isinstance(found, Deleting) else found
        if (
            not isinstance(row, ThreadRow)
            or row.status != "busy"
            or row.lease is None
            or (row.lease.run_id, row.lease.number) != (lease.run_id, lease.number)
        ):
            raise LeaseLostError(f"The run no longer holds thread {thread}.")
        signal = self._asked.get((user, thread), LeaseSignal())
        return row, replace(signal, deleting=isinstance(found, Deleting))

    def _ask(self, user: UserId, thread: ThreadId, run: RunId, now: datetime, asked: dict[str, bool]) -> bool:
        row = self._threads.get((user, thread))
        if not isinstance(row, ThreadRow) or not _holds(row, now) or row.lease is None or row.lease.run_id != run:
            return False
        signal = replace(self._asked.get((user, thread), LeaseSignal()), **asked)
        self._asked[user, thread] = signal
        self._put(replace(row, cancel_requested=signal.cancel_requested))
        return True

    def _put(self, row: ThreadRow) -> ThreadRow:
        # Through JSON, as the table has it: nothing is shared with the caller and tuples come back as lists.
        stored = replace(row, metadata=_as_stored(dict(row.metadata)), pending=tuple(_as_stored(list(row.pending))))
        self._threads[row.user_id, row.thread_id] = stored
        return stored

    def _replace(self, row: ThreadRow) -> None:
        deleting = isinstance(self._threads[row.user_id, row.thread_id], Deleting)
        stored = self._put(row)
        if deleting:
            self._threads[row.user_id, row.thread_id] = Deleting(stored)


def _as_stored(value: Any) -> Any:
    return json.loads(compact_json(value))


def _holds(row: ThreadRow, now: datetime) -> bool:
    return row.status == "busy" and row.lease is not None and row.lease.until > now


def _listed(row: ThreadRow) -> ThreadRow:
    if row.status == "busy":
        return replace(row, pending=(), left_run=None)
    return replace(row, pending=(), lease=None, cancel_requested=False, run=None, left_run=None)


def _check_size(row: ThreadRow) -> None:
    size = len(compact_json([dict(row.metadata), [dict(each) for each in row.pending]]).encode())
    if size > ITEM_MAX_BYTES:
        raise ItemTooLargeError("The thread's row", size, ITEM_MAX_BYTES)
