"""Traces of the runs of threads: one packed row a run, so that a turn costs one write unit for it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from shared.adapters.dynamodb.items import StoredItem, row_of
from shared.adapters.dynamodb.packed_json import SMALLEST, pack, unpack
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import BODY, END, TRACE_ROW, TTL, decode_key, encode_part, row_key, row_prefix
from shared.adapters.dynamodb.writes import Put
from shared.domain.errors import CorruptItemError
from shared.domain.ids import MessageId, RunId, ThreadId, UserId
from shared.domain.spans import KEEP, Span, SpanKind, SpanStatus, Trace, TraceOrigin
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_MAX_UNPACKED: Final = 4 * 1024 * 1024


class DynamoTraces:
    """The port ``Traces`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    keep : timedelta
        How long after it began a trace expires.
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
        keep: timedelta = KEEP,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._rows = Rows(client, table_name, clock=clock, pause=pause)
        self._keep = keep

    async def save(self, user: UserId, trace: Trace) -> None:
        """Write the row."""
        key = row_key(TRACE_ROW, trace.thread_id, trace.run_id, trace.origin)
        expires = int((trace.started_at + self._keep).timestamp())
        await self._rows.put(Put(key=row_of(user, key), attributes={BODY: _packed(trace), TTL: expires}))

    async def of_thread(self, user: UserId, thread: ThreadId) -> Sequence[Trace]:
        """Read rows, one query a megabyte."""
        pages = self._rows.pages(encode_part(user), row_prefix(TRACE_ROW, thread))
        return sorted([_trace(item) async for page in pages for item in page], key=lambda trace: trace.started_at)

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        """Remove the rows of a thread."""
        await remove_rows(self._rows, user, row_prefix(TRACE_ROW, thread))


def _packed(trace: Trace) -> bytes:
    began = trace.started_at
    spans = [
        [
            span.id,
            span.parent,
            span.name,
            span.kind,
            span.status,
            _milliseconds(span.started_at - began),
            None if span.ended_at is None else _milliseconds(span.ended_at - began),
            span.error,
            dict(span.facts),
        ]
        for span in trace.spans
    ]
    body = {"at": began.isoformat(), "message": trace.message_id, "spans": spans}
    return pack(body, level=SMALLEST)


def _milliseconds(after: timedelta) -> int:
    return round(after / timedelta(milliseconds=1))


def _trace(item: StoredItem) -> Trace:
    (_, thread, run), origin = decode_key(item.key[1].removeprefix(END))
    try:
        body = unpack(item.blob(BODY), limit=_MAX_UNPACKED)
        began = datetime.fromisoformat(body["at"])
        return Trace(
            run_id=RunId(run),
            thread_id=ThreadId(thread),
            origin=cast("TraceOrigin", origin),
            message_id=MessageId(body["message"]),
            spans=[_span(run, began, said) for said in body["spans"]],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptItemError("A trace cannot be understood.") from error


def _span(run: str, began: datetime, said: Sequence[Any]) -> Span:
    span_id, parent, name, kind, status, start, end, error, facts = said
    return Span(
        id=span_id,
        run=run,
        name=name,
        kind=SpanKind(kind),
        status=SpanStatus(status),
        started_at=began + timedelta(milliseconds=start),
        ended_at=None if end is None else began + timedelta(milliseconds=end),
        parent=parent,
        error=error,
        facts=facts,
    )
