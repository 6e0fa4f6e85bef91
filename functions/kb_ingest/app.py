"""From S3's events, and messages of the queue's own, to searchable documents."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from shared.adapters.observability import InvocationContext, code_of
from shared.adapters.s3.object_events import object_changes_in
from shared.domain import counters
from shared.domain.errors import EverthreadError, MalformedEventError
from shared.domain.kb.ingestion import DocumentRemoval, UserRemoval, message_of
from shared.graphs.knowledge.runner import Bounds, IngestionRunner
from shared.ports import Metrics
from shared.services.ingest_documents import IngestDocuments
from shared.services.remove_documents import RemoveDocuments

Reply = dict[str, list[dict[str, str]]]

_log = logging.getLogger(__name__)


class TimedContext(InvocationContext, Protocol):
    """Lambda's context, with how long the invocation may still take."""

    def get_remaining_time_in_millis(self) -> int:
        """Give the milliseconds that are left."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """What the function does.

    Parameters
    ----------
    uploads : IngestDocuments
        Notes what happens to objects.
    runner : IngestionRunner
        Takes documents on.
    removal : RemoveDocuments
        Removes them.
    metrics : Metrics
        Counts what cannot be understood.
    deliveries : int
        How often a message is delivered before it is a dead letter. With the last one a document is given up, so that
        its owner is told.
    """

    uploads: IngestDocuments
    runner: IngestionRunner
    removal: RemoveDocuments
    metrics: Metrics
    deliveries: int


@dataclass(frozen=True, slots=True)
class _Delivery:
    seconds_left: Callable[[], float]
    last: bool = False


def handler_of(ingestion: Ingestion) -> Callable[[Mapping[str, Any], TimedContext], Reply]:
    """Make the Lambda handler.

    Parameters
    ----------
    ingestion : Ingestion
        What it does.

    Returns
    -------
    callable
        Takes a batch of SQS messages, each an EventBridge event, a notification of S3 or a message of our own, and
        gives back those that failed; or one such event without a queue, whose failure it raises.
    """

    def handle(event: Mapping[str, Any], context: TimedContext) -> Reply:
        return asyncio.run(_handle(ingestion, event, lambda: context.get_remaining_time_in_millis() / 1000))

    return handle


async def _handle(ingestion: Ingestion, event: Mapping[str, Any], seconds_left: Callable[[], float]) -> Reply:
    messages = _messages_of(event)
    if messages is None:
        await _take(ingestion, event, _Delivery(seconds_left))
        return {"batchItemFailures": []}
    failed: list[dict[str, str]] = []
    for message in messages:
        deliveries = int(message.get("attributes", {}).get("ApproximateReceiveCount", 1))
        try:
            await _take(
                ingestion, _json(message["body"]), _Delivery(seconds_left, last=deliveries >= ingestion.deliveries)
            )
        except EverthreadError as error:
            if isinstance(error, MalformedEventError):
                ingestion.metrics.count(counters.EVENT_MALFORMED)
            _log.warning("message not done", extra={"code": code_of(error), "message_id": message["messageId"]})
            failed.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failed}


async def _take(ingestion: Ingestion, event: object, delivery: _Delivery) -> None:
    if _is_ours(event):
        await _take_message(ingestion, event, delivery)
        return
    for change in object_changes_in(event):
        noted = await ingestion.uploads.note(change)
        if noted is None:
            continue
        if delivery.last:
            await ingestion.runner.give_up(noted.user, noted.document)
        else:
            await ingestion.runner.run(noted.user, noted.document, Bounds(seconds_left=delivery.seconds_left))


async def _take_message(ingestion: Ingestion, event: object, delivery: _Delivery) -> None:
    message = message_of(event)
    if isinstance(message, UserRemoval):
        await ingestion.removal.purge(message.user_id)
    elif isinstance(message, DocumentRemoval):
        await ingestion.removal.remove(message)
    elif delivery.last:
        await ingestion.runner.give_up(message.user_id, message.document_id, run=message.run)
    else:
        bounds = Bounds(seconds_left=delivery.seconds_left, run=message.run, stalls=message.stalls)
        await ingestion.runner.run(message.user_id, message.document_id, bounds)


def _is_ours(event: object) -> bool:
    # S3 has no such word at the top of what it says.
    return isinstance(event, Mapping) and "kind" in event


def _messages_of(event: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
    """Give the batch's messages; ``None`` when the event did not come through a queue."""
    records = event.get("Records")
    if not isinstance(records, list):
        return None
    messages = cast("list[Mapping[str, Any]]", records)
    return messages if all(message.get("eventSource") == "aws:sqs" for message in messages) else None


def _json(body: str) -> object:
    try:
        return cast("object", json.loads(body))
    except ValueError:
        raise MalformedEventError("The message is no JSON.") from None
