"""What a thread row looks like in the table, and the conditions under which it may be changed.

A row is alive until ``deleting_at`` is there. A tombstone has ``buried_at`` too, a time to live, and nothing else.
Only living rows carry ``last_message_at`` and so stand in the index of lists.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from shared.adapters.dynamodb.items import Key, Plain, StoredItem, row_of
from shared.adapters.dynamodb.schema import (
    CANCEL_REQUESTED,
    CHECKPOINT_ID,
    CREATED_AT,
    DELETING_AT,
    END,
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
    STATUS,
    STATUS_BEFORE,
    THREAD_ROW,
    TITLE,
    TTL,
    UPDATED_AT,
    decode_key,
    moment,
    row_key,
)
from shared.adapters.dynamodb.writes import ABSENT, EXISTS, Check
from shared.domain.errors import CorruptItemError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import RunRow
from shared.domain.threads import HistoryPolicy, Lease, ThreadRow, ThreadStatus

ALIVE = f"{EXISTS} AND attribute_not_exists(#{DELETING_AT})"
FREE_ID = f"{ABSENT} OR #{TTL} <= :epoch"
"""The id was never used, or its tombstone's time is over and DynamoDB has not come round to removing it."""
HOLDS = f"#{STATUS} = :busy AND #{LEASE_RUN} = :run AND #{LEASE_NUMBER} = :number"
"""The run holds the thread. A lease that has ended still counts while nobody else has taken over."""


def thread_key(user: UserId, thread: ThreadId) -> Key:
    """Give the key of a thread's row."""
    return row_of(user, row_key(THREAD_ROW, thread))


def living_thread(user: UserId, thread: ThreadId) -> Check:
    """Give the part of a transaction that looks whether the thread lives."""
    return Check(key=thread_key(user, thread), condition=ALIVE)


def is_alive(item: StoredItem | None) -> bool:
    """Say whether there is a row and it is not going."""
    return item is not None and not item.has(DELETING_AT)


def attributes_of(row: ThreadRow) -> dict[str, Plain]:
    """Give what a new row holds."""
    attributes: dict[str, Plain] = {
        TITLE: row.title,
        STATUS: row.status,
        METADATA: compact_json(dict(row.metadata)),
        POLICY: row.policy,
        CREATED_AT: row.created_at,
        UPDATED_AT: row.updated_at,
        LAST_MESSAGE_AT: row.last_message_at,
        PENDING: pending_texts(row.pending),
    }
    # Absent rather than empty: the first run's preview is kept only if there is none.
    if row.preview:
        attributes[PREVIEW] = row.preview
    if row.checkpoint_id is not None:
        attributes[CHECKPOINT_ID] = row.checkpoint_id
    if row.lease is not None:
        attributes |= {
            LEASE_RUN: row.lease.run_id,
            LEASE_NUMBER: row.lease.number,
            LEASE_UNTIL: row.lease.until,
        }
    return attributes


def pending_texts(pending: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give messages as they are stored: one JSON text each."""
    return [compact_json(dict(message)) for message in pending]


def run_text(run: RunRow | None) -> str:
    """Give what a thread's row says of the run that holds it; what goes without saying is left out."""
    if run is None:
        return ""
    said: dict[str, Any] = {"id": run.run_id, "at": moment(run.created_at)}
    if run.strategy != "enqueue":
        said["strategy"] = run.strategy
    if run.metadata:
        said["metadata"] = dict(run.metadata)
    return compact_json(said)


def run_from(item: StoredItem, attribute: str, thread: ThreadId) -> RunRow | None:
    """Read back what :func:`run_text` gave.

    Raises
    ------
    CorruptItemError
        When it cannot be understood.
    """
    if not item.text(attribute, ""):
        return None
    said = item.json_object(attribute)
    try:
        created = datetime.fromisoformat(said["at"])
        return RunRow(
            run_id=said["id"],
            thread_id=thread,
            created_at=created,
            updated_at=created,
            strategy=said.get("strategy", "enqueue"),
            metadata=said.get("metadata", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptItemError("What a thread's row says of its run cannot be understood.") from error


def lease_of(item: StoredItem) -> Lease | None:
    """Give the last lease of a row, whether or not it has ended."""
    if not item.has(LEASE_RUN):
        return None
    return Lease(run_id=RunId(item.text(LEASE_RUN)), number=item.number(LEASE_NUMBER), until=item.moment(LEASE_UNTIL))


def holds(item: StoredItem | None, lease: Lease) -> bool:
    """Say of an item what :data:`HOLDS` says in a condition."""
    return item is not None and (
        item.text_or_none(STATUS),
        item.text_or_none(LEASE_RUN),
        item.number(LEASE_NUMBER, 0),
    ) == ("busy", lease.run_id, lease.number)


def row_from(user: UserId, item: StoredItem) -> ThreadRow:
    """Read a living row.

    Raises
    ------
    CorruptItemError
        When it cannot be understood.
    """
    try:
        pending: tuple[Mapping[str, Any], ...] = tuple(json.loads(text) for text in item.texts(PENDING))
    except ValueError as error:
        raise CorruptItemError("A pending message is no JSON.") from error
    thread = ThreadId(decode_key(item.key[1].removeprefix(END))[1])
    return ThreadRow(
        user_id=user,
        thread_id=thread,
        created_at=item.moment(CREATED_AT),
        updated_at=item.moment(UPDATED_AT),
        last_message_at=item.moment(LAST_MESSAGE_AT),
        title=item.text(TITLE),
        preview=item.text(PREVIEW, ""),
        status=cast("ThreadStatus", item.text(STATUS)),
        metadata=item.json_object(METADATA),
        policy=cast("HistoryPolicy", item.text(POLICY)),
        lease=lease_of(item),
        pending=pending,
        checkpoint_id=item.text_or_none(CHECKPOINT_ID),
        cancel_requested=item.flag(CANCEL_REQUESTED),
        run=run_from(item, PRESENT_RUN, thread),
        left_run=run_from(item, LEFT_RUN, thread),
        status_before=_status_before(item),
    )


def _status_before(item: StoredItem) -> ThreadStatus:
    before = cast("ThreadStatus", item.text(STATUS_BEFORE, "idle"))
    # It was taken over from a run that had died.
    return "error" if before == "busy" else before
