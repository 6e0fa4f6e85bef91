"""A mocked DynamoDB with both tables, and a hook on what goes over its wire."""

import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from moto import mock_aws

from tests.fakes.tables import create_checkpoint_table, create_memory_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


async def no_pause(tries: int) -> None:
    """Stands in for the wait between tries."""


@cache
def _client() -> "DynamoDBClient":
    client = boto3.client(
        "dynamodb",
        region_name="eu-central-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    # DynamoDB checks a condition and writes in one step; moto does it in two, with other threads in between.
    one_at_a_time, call = threading.Lock(), client._make_api_call

    def call_alone(*args: Any, **kwargs: Any) -> Any:
        with one_at_a_time:
            return call(*args, **kwargs)

    client._make_api_call = call_alone
    return client


@contextmanager
def mocked_dynamodb() -> "Iterator[DynamoDBClient]":
    """Give a client of a fresh mock that holds an empty ``memory`` and an empty ``checkpoints`` table."""
    with mock_aws():
        client = _client()
        create_memory_table(client)
        create_checkpoint_table(client)
        yield client


@dataclass
class Wire:
    """What was asked of DynamoDB, and answers to give in its place.

    Attributes
    ----------
    requests
        Operation and body of each request, in order.
    """

    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _scripted: dict[str, deque[Any]] = field(default_factory=lambda: defaultdict(deque))

    @property
    def counts(self) -> Counter[str]:
        return Counter(operation for operation, _ in self.requests)

    def bodies(self, operation: str) -> list[dict[str, Any]]:
        return [body for name, body in self.requests if name == operation]

    def answer(self, operation: str, *replies: "dict[str, Any] | WireError | Exception | None") -> None:
        """Script the next answers to an operation; ``None`` lets a request through, an exception is raised."""
        self._scripted[operation].extend(replies)

    def fail(self, operation: str, code: str, times: int = 1, message: str = "", **answer: Any) -> None:
        """Let the next requests of an operation fail with an error of DynamoDB's."""
        self.answer(operation, *[WireError(code, message, answer)] * times)

    def lose_answer(self, operation: str) -> None:
        """Let the next request through twice, as the SDK does when an answer is lost: the second answer counts."""
        self._scripted[operation].append(_TWICE)

    def _before_call(self, client: "DynamoDBClient", model: Any, params: dict[str, Any], context: Any) -> Any:
        body = json.loads(params["body"])
        self.requests.append((model.name, body))
        script = self._scripted[model.name]
        reply = script.popleft() if script else None
        if reply is _TWICE:
            client._make_request(model, dict(params), context)
            return None
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, WireError):
            return AWSResponse("http://loopback", 400, {}, None), reply.parsed()
        return None if reply is None else (AWSResponse("http://loopback", 200, {}, None), reply)


_TWICE = object()


@dataclass(frozen=True)
class WireError:
    code: str
    message: str
    answer: dict[str, Any]

    def parsed(self) -> dict[str, Any]:
        return {
            "Error": {"Code": self.code, "Message": self.message},
            "ResponseMetadata": {"HTTPStatusCode": 400},
            **self.answer,
        }


@contextmanager
def tapped(client: "DynamoDBClient") -> Iterator[Wire]:
    """Watch, and where scripted answer, what a client sends."""
    wire = Wire()

    def hook(model: Any, params: dict[str, Any], context: Any, **_: Any) -> Any:
        return wire._before_call(client, model, params, context)

    client.meta.events.register("before-call.dynamodb", hook)
    try:
        yield wire
    finally:
        client.meta.events.unregister("before-call.dynamodb", hook)
