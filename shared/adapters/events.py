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
    """

    def __init__(
        self,
        client: "EventBridgeClient",
        bus_name: str,
        *,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._bus_name = bus_name
        self._pause = pause

    async def publish(self, event: TurnEnded) -> None:
        """Announce the turn; tried again a little later when the bus refuses.

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
        for attempt in range(ATTEMPTS):
            if attempt:
                # The reply waits for this: the pauses are short, and spread so that throttled callers part.
                await self._pause(random.uniform(0, _LONGEST_PAUSES[attempt - 1]))  # noqa: S311 - no secret
            refusal = await self._put(entry)
            if refusal is None:
                return
            _log.warning("event refused", extra={"code": refusal, "attempt": attempt + 1, "run_id": event.run_id})
        raise StoreError("The event bus did not take the event.")

    async def _put(self, entry: "PutEventsRequestEntryTypeDef") -> str | None:
        """Send one entry; give the code of what went wrong, if something did."""
        try:
            answer = await in_thread(self._client.put_events, Entries=[entry])
        except ClientError as error:
            return error.response.get("Error", {}).get("Code", "ClientError")
        except BotoCoreError as error:
            return type(error).__name__
        if answer["FailedEntryCount"] == 0:
            return None
        return next((entry["ErrorCode"] for entry in answer["Entries"] if "ErrorCode" in entry), "FailedEntry")
