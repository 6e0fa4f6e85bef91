"""Spans of the runs of documents: kept for a while, then gone by themselves."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.adapters.dynamodb.items import StoredItem, row_of
from shared.adapters.dynamodb.removal import remove_rows
from shared.adapters.dynamodb.rows import Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import BODY, END, SPAN_ROW, TTL, decode_key, encode_part, row_key, row_prefix
from shared.adapters.dynamodb.writes import Put
from shared.domain.errors import CorruptItemError
from shared.domain.ids import DocumentId, UserId
from shared.domain.json_text import compact_json
from shared.domain.spans import KEEP, Span, SpanKind, SpanStatus
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoSpans:
    """The port ``Spans`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    keep : timedelta
        How long after it began a span expires.
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

    async def save(self, user: UserId, document: DocumentId, spans: Sequence[Span]) -> None:
        """Write rows, 25 a request; of a span that comes twice the last counts."""
        puts = {(span.run, span.id): self._put(user, document, span) for span in spans}
        await self._rows.write_all(puts.values())

    async def of_document(self, user: UserId, document: DocumentId) -> Sequence[Span]:
        """Read rows, one query a megabyte."""
        pages = self._rows.pages(encode_part(user), row_prefix(SPAN_ROW, document))
        spans = [_span(item) async for page in pages for item in page]
        return sorted(spans, key=lambda span: span.started_at)

    async def remove(self, user: UserId, document: DocumentId) -> None:
        """Remove the rows of a document."""
        await remove_rows(self._rows, user, row_prefix(SPAN_ROW, document))

    async def purge(self, user: UserId) -> None:
        """Remove the rows of a user."""
        await remove_rows(self._rows, user, row_prefix(SPAN_ROW))

    def _put(self, user: UserId, document: DocumentId, span: Span) -> Put:
        return Put(
            key=row_of(user, row_key(SPAN_ROW, document, span.run, span.id)),
            attributes={BODY: _text(span), TTL: int((span.started_at + self._keep).timestamp())},
        )


def _text(span: Span) -> str:
    said = {
        "name": span.name,
        "kind": span.kind,
        "status": span.status,
        "from": span.started_at.isoformat(),
        "to": None if span.ended_at is None else span.ended_at.isoformat(),
        "parent": span.parent,
        "error": span.error,
        "facts": dict(span.facts),
    }
    return compact_json({name: value for name, value in said.items() if value})


def _span(item: StoredItem) -> Span:
    (_, _, run), span_id = decode_key(item.key[1].removeprefix(END))
    said = item.json_object(BODY)
    try:
        return Span(
            id=span_id,
            run=run,
            name=said["name"],
            kind=SpanKind(said["kind"]),
            status=SpanStatus(said["status"]),
            started_at=datetime.fromisoformat(said["from"]),
            ended_at=datetime.fromisoformat(said["to"]) if "to" in said else None,
            parent=said.get("parent"),
            error=said.get("error", ""),
            facts=said.get("facts", {}),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptItemError("A span cannot be understood.") from error
