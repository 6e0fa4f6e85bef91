"""The event bus: where ended turns are announced."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.domain.errors import StoreError
from shared.domain.events import DETAIL_TYPE, SOURCE, TurnEnded

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

ATTEMPTS: Final = 3
_LONGEST_PAUSES: Final = (0.1, 0.3)

LIMIT_SECONDS: Final = 6.0
"""For all of it: a reply that is over for its reader waits for this, and nobody renews the thread's lease meanwhile."""

_log = logging.getLogger(__name__)


class EventBridgeTurnEvents:
    """Announces ended turns on an EventBridge bus; implements the port ``TurnEvents``.

    Parameters
    ----------
    client : EventBridgeClient
        boto3's client of ``events``.
    bus_name : str
        Name or ARN of the bus.
    pause : callable, optional
        Waits the seconds it is given.
    limit_seconds : float
        How long announcing one turn may take.
    """

    def __init__(
        self,
        client: "EventBridgeClient",
        bus_name: str,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self._client = client
        self._bus_name = bus_name
        self._pause = pause
        self._limit = limit_seconds

    async def publish(self, event: TurnEnded) -> None:
        """Announce the turn; an entry that the bus refuses is sent again a little later.

        Parameters
        ----------
        event : TurnEnded
            Ids only.

        Raises
        ------
        StoreError
            When the bus did not take the event, be it by an error or by a count of failed entries: a call that
            took nothing answers 200 as well.
        """
        entry: PutEventsRequestEntryTypeDef = {
            "Source": SOURCE,
            "DetailType": DETAIL_TYPE,
            "Detail": event.model_dump_json(),
            "EventBusName": self._bus_name,
            "Time": event.ended_at,
        }
        try:
            async with asyncio.timeout(self._limit):
                await self._put_until_taken(entry, event.run_id)
        except (ClientError, BotoCoreError, TimeoutError) as error:
            # The SDK has tried such errors again by itself.
            raise StoreError("The event bus cannot be reached.") from error

    async def _put_until_taken(self, entry: "PutEventsRequestEntryTypeDef", run_id: str) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                # Short, and spread so that throttled callers part.
                await self._pause(random.uniform(0, _LONGEST_PAUSES[attempt - 1]))  # noqa: S311 - no secret
            answer = await in_thread(self._client.put_events, Entries=[entry])
            if answer["FailedEntryCount"] == 0:
                return
            code = next((each["ErrorCode"] for each in answer["Entries"] if "ErrorCode" in each), "FailedEntry")
            _log.warning("event refused", extra={"code": code, "attempt": attempt + 1, "run_id": run_id})
        raise StoreError("The event bus did not take the event.")
