"""Thread rows: what is known of a thread, and the lease that lets one run at a time write to it."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from shared.adapters.dynamodb.items import Plain, StoredItem
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    BURIED_AT,
    CANCEL_REQUESTED,
    CHECKPOINT_ID,
    CREATED_AT,
    DELETING_AT,
    EVENTS_REQUESTED,
    LAST_MESSAGE_AT,
    LEASE_NUMBER,
    LEASE_RUN,
    LEASE_UNTIL,
    LEFT_RUN,
    METADATA,
    PENDING,
    POLICY,
    PRESENT_RUN,
    PREVIEW,
    ROLLBACK_REQUESTED,
    STATUS,
    STATUS_BEFORE,
    TITLE,
    TOKEN,
    TTL,
    UPDATED_AT,
)
from shared.adapters.dynamodb.thread_items import (
    ALIVE,
    FREE_ID,
    HOLDS,
    attributes_of,
    holds,
    is_alive,
    lease_of,
    pending_texts,
    row_from,
    run_text,
    thread_key,
)
from shared.adapters.dynamodb.thread_lists import count_threads, search_threads
from shared.adapters.dynamodb.writes import EXISTS, Put, Update
from shared.domain.errors import LeaseLostError, ThreadDeletedError, ThreadExistsError, ThreadNotFoundError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import RunRow
from shared.domain.threads import (
    DEFAULT_POLICY,
    DEFAULT_TITLE,
    Lease,
    LeaseSignal,
    ThreadQuery,
    ThreadRow,
    ThreadStatus,
    busy_error,
    merged_metadata,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# What others ask of the run that holds the thread; it is asked of no other.
_REQUESTS = (CANCEL_REQUESTED, ROLLBACK_REQUESTED, EVENTS_REQUESTED)


class DynamoThreads:
    """The port ``Threads`` on the memory table. Each change is one conditional write unless its docstring says more.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    pause : callable
        Waits between tries.
    """

    def __init__(self, client: "DynamoDBClient", table_name: str, *, pause: Pause = jittered_pause) -> None:
        self._rows = Rows(client, table_name, pause=pause)

    async def create(self, row: ThreadRow) -> None:
        """Write a new row.

        Raises
        ------
        ItemTooLargeError
            When it is more than an item may hold.
        """
        token = uuid.uuid4().hex
        write = Put(
            key=thread_key(row.user_id, row.thread_id),
            attributes={**attributes_of(row), TOKEN: token},
            condition=FREE_ID,
            values={"epoch": int(row.created_at.timestamp())},
        )
        try:
            await self._rows.put(write)
        except ConditionFailedError as failed:
            # The SDK repeats a write whose answer was lost; the row that is in the way may be this very one.
            if failed.current is None or failed.current.text_or_none(TOKEN) != token:
                raise _taken(failed.current, row.thread_id) from None

    async def get(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Read a row."""
        return row_from(user, _living(await self._rows.get(thread_key(user, thread)), thread))

    async def titles(self, user: UserId, threads: Sequence[ThreadId]) -> Mapping[ThreadId, str]:
        """Read titles, a hundred a request."""
        keys = {thread_key(user, thread): thread for thread in threads}
        found = await self._rows.get_many(keys, attributes=(TITLE, DELETING_AT))
        return {keys[key]: item.text(TITLE) for key, item in found.items() if is_alive(item)}

    async def search(self, user: UserId, query: ThreadQuery, *, now: datetime) -> Sequence[ThreadRow]:
        """List threads: one query a page of the index, and one read of those that seem busy."""
        return await search_threads(self._rows, user, query, now)

    async def count(self, user: UserId, query: ThreadQuery, *, now: datetime) -> int:
        """Count threads: one query a page of the index."""
        return await count_threads(self._rows, user, query, now)

    async def update_metadata(
        self, user: UserId, thread: ThreadId, metadata: Mapping[str, Any], *, now: datetime
    ) -> ThreadRow:
        """Merge metadata: a read, then a write on condition that nobody else changed it.

        Raises
        ------
        InvalidInputError
            When it would be more than a thread may keep.
        """
        key = thread_key(user, thread)
        item = _living(await self._rows.get(key), thread)
        while True:
            write = Update(
                key=key,
                sets=(f"#{METADATA} = :merged", f"#{UPDATED_AT} = :now"),
                condition=f"{ALIVE} AND #{METADATA} = :read",
                values={
                    "merged": compact_json(merged_metadata(item.json_object(METADATA), metadata)),
                    "read": item.text(METADATA),
                    "now": now,
                },
            )
            try:
                return row_from(user, await self._rows.update(write))
            except ConditionFailedError as failed:
                item = _living(failed.current, thread)

    async def rename(self, user: UserId, thread: ThreadId, title: str, *, only_default: bool = False) -> bool:
        """Set the title."""
        write = Update(
            key=thread_key(user, thread),
            sets=(f"#{TITLE} = :title",),
            condition=f"{ALIVE} AND #{TITLE} = :default" if only_default else ALIVE,
            values={"title": title, "default": DEFAULT_TITLE} if only_default else {"title": title},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError as failed:
            # A title that is there already may be this write's own, repeated by the SDK.
            return failed.current is not None and is_alive(failed.current) and failed.current.text(TITLE) == title
        return True

    async def touch(self, user: UserId, thread: ThreadId, at: datetime) -> bool:
        """Move the last-message time forward, and with it the thread's place in lists."""
        write = Update(
            key=thread_key(user, thread),
            sets=(f"#{LAST_MESSAGE_AT} = :at",),
            condition=f"{ALIVE} AND #{LAST_MESSAGE_AT} < :at",
            values={"at": at},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError as failed:
            return is_alive(failed.current)
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
        """Take the lease, or make the thread and take it; the human messages travel on the same write."""
        sets = [
            # What is on the right is as it was before the write.
            f"#{STATUS_BEFORE} = if_not_exists(#{STATUS}, :idle)",
            f"#{STATUS} = :busy",
            f"#{LEASE_RUN} = :run",
            f"#{LEASE_NUMBER} = if_not_exists(#{LEASE_NUMBER}, :zero) + :one",
            f"#{LEASE_UNTIL} = :until",
            f"#{UPDATED_AT} = :now",
            f"#{PENDING} = list_append(if_not_exists(#{PENDING}, :nothing), :pending)",
            f"#{LEFT_RUN} = if_not_exists(#{PRESENT_RUN}, :nobody)",
            f"#{PRESENT_RUN} = :record",
        ]
        values: dict[str, Plain] = {
            "busy": "busy",
            "idle": "idle",
            "run": run,
            "zero": 0,
            "one": 1,
            "until": now + hold,
            "now": now,
            "nothing": [],
            "pending": pending_texts(pending),
            "nobody": run_text(None),
            "record": run_text(record),
        }
        if preview:
            sets.append(f"#{PREVIEW} = if_not_exists(#{PREVIEW}, :preview)")
            values["preview"] = preview
        condition = f"{ALIVE} AND (#{STATUS} <> :busy OR #{LEASE_UNTIL} <= :now)"
        removes = [*_REQUESTS]
        if create:
            sets += [f"#{name} = if_not_exists(#{name}, :now)" for name in (CREATED_AT, LAST_MESSAGE_AT)]
            sets += [f"#{name} = if_not_exists(#{name}, :{name})" for name in (TITLE, METADATA, POLICY)]
            values |= {TITLE: DEFAULT_TITLE, METADATA: "{}", POLICY: DEFAULT_POLICY, "epoch": int(now.timestamp())}
            condition = f"{FREE_ID} OR ({condition})"
            # What a tombstone whose time is over would leave in the new row.
            removes += [DELETING_AT, BURIED_AT, TTL]
        write = Update(key=thread_key(user, thread), sets=sets, removes=removes, condition=condition, values=values)
        try:
            return row_from(user, await self._rows.update(write))
        except ConditionFailedError as failed:
            if create and failed.current is not None and not is_alive(failed.current):
                raise ThreadDeletedError(thread) from None
            row = row_from(user, _living(failed.current, thread))
        if row.lease is not None and row.lease.run_id == run:
            # The SDK's repeat of a write whose answer was lost: this run has the thread, its messages are there.
            return row
        raise busy_error(row, now)

    async def renew(self, user: UserId, thread: ThreadId, lease: Lease, until: datetime) -> LeaseSignal:
        """Hold the lease until ``until``."""
        write = Update(
            key=thread_key(user, thread),
            sets=(f"#{LEASE_UNTIL} = :until",),
            condition=HOLDS,
            values={**_holder(lease), "until": until},
        )
        try:
            return _signal(await self._rows.update(write))
        except ConditionFailedError:
            raise _lost(thread) from None

    async def watch(self, user: UserId, thread: ThreadId, lease: Lease) -> LeaseSignal:
        """Look after the lease, with one read."""
        item = await self._rows.get(thread_key(user, thread))
        if item is None or not holds(item, lease):
            raise _lost(thread)
        return _signal(item)

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
        """Give the lease back."""
        sets = [f"#{STATUS} = :status", f"#{LEASE_UNTIL} = :now", f"#{UPDATED_AT} = :now"]
        values: dict[str, Plain] = {**_holder(lease), "status": status, "now": now}
        if checkpoint_id is not None:
            sets.append(f"#{CHECKPOINT_ID} = :checkpoint")
            values["checkpoint"] = checkpoint_id
        if pending:
            sets.append(f"#{PENDING} = :pending")
            values["pending"] = pending_texts(pending)
        write = Update(
            key=thread_key(user, thread),
            sets=sets,
            removes=(
                *(*_REQUESTS, PRESENT_RUN, LEFT_RUN, STATUS_BEFORE),
                *(() if pending else (PENDING,)),
                *(() if keep_preview else (PREVIEW,)),
            ),
            condition=HOLDS,
            values=values,
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError:
            return

    async def request_cancel(
        self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime, rollback: bool = False
    ) -> bool:
        """Ask the run to stop."""
        asked = (CANCEL_REQUESTED, ROLLBACK_REQUESTED) if rollback else (CANCEL_REQUESTED,)
        return await self._ask(user, thread, run, asked, now)

    async def request_events(self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime) -> bool:
        """Ask the run to keep its events as they come."""
        return await self._ask(user, thread, run, (EVENTS_REQUESTED,), now)

    async def _ask(self, user: UserId, thread: ThreadId, run: RunId, requests: Sequence[str], now: datetime) -> bool:
        write = Update(
            key=thread_key(user, thread),
            sets=[f"#{request} = :yes" for request in requests],
            condition=f"{ALIVE} AND #{STATUS} = :busy AND #{LEASE_RUN} = :run AND #{LEASE_UNTIL} > :now",
            values={"yes": True, "busy": "busy", "run": run, "now": now},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError:
            return False
        return True

    async def mark_deleting(self, user: UserId, thread: ThreadId, *, now: datetime) -> None:
        """Make the thread invisible; it leaves the index of lists with the same write."""
        write = Update(
            key=thread_key(user, thread),
            sets=(f"#{DELETING_AT} = if_not_exists(#{DELETING_AT}, :now)",),
            removes=(LAST_MESSAGE_AT,),
            condition=f"{EXISTS} AND attribute_not_exists(#{BURIED_AT})",
            values={"now": now},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError:
            raise ThreadNotFoundError(thread) from None

    async def lease_of_deleted(self, user: UserId, thread: ThreadId) -> Lease | None:
        """Give the lease that a purge waits for."""
        item = await self._rows.get(thread_key(user, thread))
        if item is None or is_alive(item) or item.text_or_none(STATUS) != "busy":
            return None
        return lease_of(item)

    async def bury(self, user: UserId, thread: ThreadId, *, now: datetime, keep_for: timedelta) -> None:
        """Leave a tombstone, which holds nothing of the thread but its id."""
        write = Put(
            key=thread_key(user, thread),
            attributes={DELETING_AT: now, BURIED_AT: now, TTL: int((now + keep_for).timestamp())},
            condition=f"attribute_exists(#{DELETING_AT}) AND attribute_not_exists(#{BURIED_AT})",
        )
        try:
            await self._rows.put(write)
        except ConditionFailedError:
            return


def _taken(item: StoredItem | None, thread: ThreadId) -> ThreadExistsError:
    if item is not None and not is_alive(item):
        return ThreadDeletedError(thread)
    return ThreadExistsError(f"Thread {thread} exists already.")


def _living(item: StoredItem | None, thread: ThreadId) -> StoredItem:
    if item is None or not is_alive(item):
        raise ThreadNotFoundError(thread)
    return item


def _holder(lease: Lease) -> dict[str, Plain]:
    return {"busy": "busy", "run": lease.run_id, "number": lease.number}


def _signal(item: StoredItem) -> LeaseSignal:
    return LeaseSignal(
        cancel_requested=item.flag(CANCEL_REQUESTED),
        rollback=item.flag(ROLLBACK_REQUESTED),
        followed=item.flag(EVENTS_REQUESTED),
        deleting=not is_alive(item),
    )


def _lost(thread: ThreadId) -> LeaseLostError:
    return LeaseLostError(f"The run no longer holds thread {thread}.")
