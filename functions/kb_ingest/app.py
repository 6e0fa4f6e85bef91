"""From S3's events to document rows."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from shared.adapters.observability import InvocationContext, code_of
from shared.adapters.s3.object_events import object_changes_in
from shared.domain import counters
from shared.domain.errors import EverthreadError, MalformedEventError
from shared.ports import Metrics
from shared.services.ingest_documents import IngestDocuments

Reply = dict[str, list[dict[str, str]]]

_log = logging.getLogger(__name__)


def handler_of(service: IngestDocuments, metrics: Metrics) -> Callable[[Mapping[str, Any], InvocationContext], Reply]:
    """Make the Lambda handler.

    Parameters
    ----------
    service : IngestDocuments
        Records one change of an object.
    metrics : Metrics
        Counts what cannot be understood.

    Returns
    -------
    callable
        Takes a batch of SQS messages, each an EventBridge event or a notification of S3, and gives back those that
        failed; or one such event without a queue, whose failure it raises.
    """

    def handle(event: Mapping[str, Any], _context: InvocationContext) -> Reply:
        return asyncio.run(_handle(service, metrics, event))

    return handle


async def _handle(service: IngestDocuments, metrics: Metrics, event: Mapping[str, Any]) -> Reply:
    messages = _messages_of(event)
    if messages is None:
        await _note_all(service, event)
        return {"batchItemFailures": []}
    failed: list[dict[str, str]] = []
    for message in messages:
        try:
            await _note_all(service, _json(message["body"]))
        except EverthreadError as error:
            if isinstance(error, MalformedEventError):
                metrics.count(counters.EVENT_MALFORMED)
            _log.warning("object event not noted", extra={"code": code_of(error), "message_id": message["messageId"]})
            failed.append({"itemIdentifier": message["messageId"]})
    return {"batchItemFailures": failed}


async def _note_all(service: IngestDocuments, event: object) -> None:
    for change in object_changes_in(event):
        await service.note(change)


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
