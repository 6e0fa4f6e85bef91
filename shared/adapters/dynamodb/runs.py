"""Rows of runs that have ended, and the events of runs: both expire."""

from collections.abc import Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, cast

from shared.adapters.dynamodb.items import Key, Plain, StoredItem, row_of
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    BASE,
    BODY,
    CREATED_AT,
    END,
    LAST_EVENT,
    METADATA,
    RUN_EVENTS_ROW,
    RUN_ROW,
    STATUS,
    STRATEGY,
    TTL,
    UPDATED_AT,
    decode_key,
    encode_part,
    row_key,
    row_prefix,
)
from shared.adapters.dynamodb.writes import Put
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import EventPage, MultitaskStrategy, RunRow, RunStatus
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEEP_ROWS: Final = timedelta(days=30)
KEEP_EVENTS: Final = timedelta(hours=1)


class DynamoRuns:
    """The port ``Runs`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    keep_rows, keep_events : timedelta
        How long after they were written they expire.
    clock : Clock, optional
        Tells what has expired; the system's unless told otherwise.
    pause : callable
        Waits between tries.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        keep_rows: timedelta = KEEP_ROWS,
        keep_events: timedelta = KEEP_EVENTS,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._rows = Rows(client, table_name, clock=clock, pause=pause)
        self._keep_rows = keep_rows
        self._keep_events = keep_events

    async def save(
        self, user: UserId, *, rows: Sequence[RunRow] = (), pages: Sequence[EventPage] = (), now: datetime
    ) -> None:
        """Write rows and pages, 25 a request."""
        puts = [_row_put(user, row, now + self._keep_rows) for row in rows]
        puts += [_page_put(user, page, now + self._keep_events) for page in pages]
        await self._rows.write_all(puts)

    async def get(self, user: UserId, thread: ThreadId, run: RunId) -> RunRow | None:
        """Read a row."""
        item = await self._rows.get(_row_key(user, thread, run))
        return None if item is None else _row(item)

    async def search(
        self, user: UserId, thread: ThreadId, *, limit: int = 10, offset: int = 0, status: RunStatus | None = None
    ) -> Sequence[RunRow]:
        """List rows: one query a page, no further than the page's end."""
        end = offset + limit
        found: list[RunRow] = []
        size = end if status is None else None
        pages = self._rows.pages(encode_part(user), row_prefix(RUN_ROW, thread), page_size=size, descending=True)
        async with aclosing(pages):
            async for page in pages:
                found += [row for row in map(_row, page) if status is None or row.status == status]
                if len(found) >= end:
                    break
        return found[offset:end]

    async def pages(
        self, user: UserId, thread: ThreadId, run: RunId, *, since: int = 0, consistent: bool = True
    ) -> Sequence[EventPage]:
        """Read pages, one query a megabyte."""
        prefix = row_prefix(RUN_EVENTS_ROW, thread, run)
        replies = self._rows.pages(encode_part(user), prefix, since=_number(since), consistent=consistent)
        return [_page(item) async for items in replies for item in items]

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        """Remove rows and pages."""
        for kind in (RUN_EVENTS_ROW, RUN_ROW):
            prefix = row_prefix(kind, thread)
            async for items in self._rows.pages(encode_part(user), prefix, attributes=(CREATED_AT,), expired=True):
                await self._rows.write_all(deletes=[item.key for item in items])


def _row_key(user: UserId, thread: ThreadId, run: RunId) -> Key:
    return row_of(user, row_key(RUN_ROW, thread, run))


def _row_put(user: UserId, row: RunRow, expires: datetime) -> Put:
    return Put(
        key=_row_key(user, row.thread_id, row.run_id),
        attributes={
            STATUS: row.status,
            STRATEGY: row.strategy,
            METADATA: compact_json(dict(row.metadata)),
            CREATED_AT: row.created_at,
            UPDATED_AT: row.updated_at,
            TTL: int(expires.timestamp()),
        },
    )


def _row(item: StoredItem) -> RunRow:
    (_, thread), run = _named(item)
    return RunRow(
        run_id=RunId(run),
        thread_id=ThreadId(thread),
        created_at=item.moment(CREATED_AT),
        updated_at=item.moment(UPDATED_AT),
        status=cast("RunStatus", item.text(STATUS)),
        strategy=cast("MultitaskStrategy", item.text(STRATEGY)),
        metadata=item.json_object(METADATA),
    )


def _page_put(user: UserId, page: EventPage, expires: datetime) -> Put:
    attributes: dict[str, Plain] = {LAST_EVENT: page.last, BODY: page.body, TTL: int(expires.timestamp())}
    if page.base is not None:
        attributes[BASE] = page.base
    key = row_key(RUN_EVENTS_ROW, page.thread_id, page.run_id, _number(page.first))
    return Put(key=row_of(user, key), attributes=attributes)


def _page(item: StoredItem) -> EventPage:
    (_, thread, run), first = _named(item)
    return EventPage(
        run_id=RunId(run),
        thread_id=ThreadId(thread),
        first=int(first),
        last=item.number(LAST_EVENT),
        body=item.blob(BODY),
        base=item.text_or_none(BASE),
    )


def _named(item: StoredItem) -> tuple[tuple[str, ...], str]:
    return decode_key(item.key[1].removeprefix(END))


def _number(event: int) -> str:
    # Ten digits, so that the order of the text is that of the numbers.
    return f"{event:010d}"
