"""From a batch of queued purges to purged threads."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from shared.adapters.observability import InvocationContext, code_of
from shared.domain import counters
from shared.domain.errors import EverthreadError, MalformedEventError
from shared.domain.purges import ThreadPurge
from shared.ports import Metrics
from shared.services.purge_thread import PurgeThread

_log = logging.getLogger(__name__)


def handler_of(
    service: PurgeThread, metrics: Metrics
) -> Callable[[Mapping[str, Any], InvocationContext], dict[str, list[dict[str, str]]]]:
    """Make the Lambda handler.

    Parameters
    ----------
    service : PurgeThread
        Purges one thread.
    metrics : Metrics
        Counts what cannot be understood.

    Returns
    -------
    callable
        Takes a batch of SQS messages and gives back those that failed. The queue delivers them again and, in the
        end, keeps them with the dead letters, malformed ones too.
    """

    def handle(event: Mapping[str, Any], _context: InvocationContext) -> dict[str, list[dict[str, str]]]:
        return asyncio.run(_handle(service, metrics, event))

    return handle


async def _handle(service: PurgeThread, metrics: Metrics, event: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    failed: list[dict[str, str]] = []
    for record in event["Records"]:
        try:
            request = _request_of(record["body"])
            await service.purge(request.user_id, request.thread_id)
        except EverthreadError as error:
            if isinstance(error, MalformedEventError):
                metrics.count(counters.EVENT_MALFORMED)
            _log.warning("purge not done", extra={"code": code_of(error), "message_id": record["messageId"]})
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


def _request_of(body: str) -> ThreadPurge:
    try:
        return ThreadPurge.model_validate_json(body)
    except ValidationError:
        raise MalformedEventError("The message is no purge.") from None
