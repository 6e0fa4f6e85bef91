"""What travels on the bus, seen by a queue of the tests' own, and the bus itself for events sent again."""

import asyncio
import json
from typing import Any
from uuid import uuid4

from local.product import LocalProduct
from shared.domain.events import DETAIL_TYPE, SOURCE
from tests.e2e.waiting import until


class TurnEnds:
    """Every turn end since the tests began."""

    def __init__(self, product: LocalProduct) -> None:
        self._bus = product.deployment.outputs["EventBus"]
        self._events = product.address.client("events")
        self._sqs = product.address.client("sqs")
        name = f"turn-ends-{uuid4().hex}"
        self._queue = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        pattern = json.dumps({"source": [SOURCE], "detail-type": [DETAIL_TYPE]})
        self._events.put_rule(Name=name, EventBusName=self._bus, EventPattern=pattern)
        self._events.put_targets(Rule=name, EventBusName=self._bus, Targets=[{"Id": "tests", "Arn": arn}])
        self._seen: list[dict[str, Any]] = []

    def close(self) -> None:
        self._events.close()
        self._sqs.close()

    def _receive(self) -> None:
        while messages := self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                self._seen.append(json.loads(message["Body"])["detail"])
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])

    async def of_thread(self, thread: str) -> list[dict[str, Any]]:
        await asyncio.to_thread(self._receive)
        return [detail for detail in self._seen if detail["thread_id"] == thread]

    async def reach(self, thread: str, count: int) -> list[dict[str, Any]]:
        async def look() -> list[dict[str, Any]]:
            seen = await self.of_thread(thread)
            return seen if len(seen) >= count else []

        return await until(look, f"{count} turn ends")

    def send(self, detail: dict[str, Any]) -> None:
        entry = {"Source": SOURCE, "DetailType": DETAIL_TYPE, "EventBusName": self._bus, "Detail": json.dumps(detail)}
        assert self._events.put_events(Entries=[entry])["FailedEntryCount"] == 0
