"""Functions as Lambda imports them: real adapters over mocked tables, and Bedrock's wire on loopback."""

import asyncio
import importlib
import json
import logging
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from shared.adapters import aws
from shared.adapters.observability import OWN_PACKAGES
from shared.settings import ChatSettings, MemoryApiSettings
from tests.fakes.chat_api import events_in
from tests.fakes.converse_wire import ConverseWire, converse_wire
from tests.fakes.dynamodb import mocked_dynamodb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REGION = "eu-central-1"
RUN = json.loads((Path(__file__).parents[1] / "events" / "run_stream_request.json").read_text(encoding="utf-8"))
USER = RUN["requestContext"]["authorizer"]["claims"]["sub"]
CHAT_SETTINGS = ChatSettings(
    memory_table="memory",
    checkpoint_table="checkpoints",
    event_bus="turns",
    purge_queue_url="",
    bucket="uploads",
    document_wait_seconds=0.2,
    chat_model="eu.anthropic.claude-sonnet-4-6",
    fast_model="eu.amazon.nova-lite-v1:0",
    agents=("chat",),
)


class Deployed:
    """A function, its events, and what it left behind."""

    def __init__(self, handler: Any, dynamodb: "DynamoDBClient", wire: ConverseWire | None, queue_url: str) -> None:
        self.handler = handler
        self.dynamodb = dynamodb
        self.wire = wire
        self._queue_url = queue_url
        self._context = type("Context", (), {"aws_request_id": str(uuid.uuid4())})()

    def request(self, method: str, path: str, body: Any = None, *, user: str = USER, **event: Any) -> dict[str, Any]:
        """Send a request as API Gateway does; ``event`` is written over what it says of it."""
        sent = json.loads(json.dumps(RUN))
        sent["requestContext"]["authorizer"]["claims"]["sub"] = user
        sent |= {
            "httpMethod": method,
            "path": path,
            "resource": path,
            "body": None if body is None else json.dumps(body),
            **event,
        }
        return self.handler(sent, self._context)

    def json(self, *request: Any, **options: Any) -> Any:
        return json.loads(self.request(*request, **options)["body"])

    def say(self, thread: str, text: str, **options: Any) -> Any:
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": text}]}, **options}
        return events_in(self.request("POST", f"/threads/{thread}/runs/stream", body)["body"])

    def said(self, thread: str) -> list[Any]:
        values = self.json("GET", f"/threads/{thread}/state")["values"]
        return [message["content"] for message in values.get("messages", [])]

    def purges(self) -> list[Any]:
        messages = boto3.client("sqs", region_name=REGION).receive_message(QueueUrl=self._queue_url)
        return [json.loads(message["Body"]) for message in messages.get("Messages", ())]


@contextmanager
def deployed_chat() -> Iterator[Deployed]:
    """Give the chat function until the end of the block."""
    with mocked_dynamodb() as dynamodb, converse_wire() as wire:
        boto3.client("events", region_name=REGION).create_event_bus(Name="turns")
        _make_bucket()
        queue_url = _queue("purges")
        environment = CHAT_SETTINGS.model_copy(update={"purge_queue_url": queue_url}).environment()
        with imported_handler("chat", {**environment, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": wire.url}) as module:
            try:
                yield Deployed(module.handler, dynamodb, wire, queue_url)
            finally:
                module.gateway.close()


@contextmanager
def deployed_memory_api() -> Iterator[Deployed]:
    """Give the memory function until the end of the block."""
    with mocked_dynamodb() as dynamodb, asyncio.Runner() as runner:
        _make_bucket()
        queue_url = _queue("purges")
        settings = MemoryApiSettings(
            memory_table="memory",
            purge_queue_url=queue_url,
            bucket="uploads",
            ingestion_queue_url=_queue("object-events"),
        )
        # Mangum takes the loop it finds, or makes one that nobody closes.
        asyncio.set_event_loop(runner.get_loop())
        try:
            with imported_handler("memory_api", settings.environment()) as module:
                yield Deployed(module.handler, dynamodb, None, queue_url)
        finally:
            asyncio.set_event_loop(None)


def _make_bucket() -> None:
    boto3.client("s3", region_name=REGION).create_bucket(
        Bucket="uploads", CreateBucketConfiguration={"LocationConstraint": REGION}
    )


@contextmanager
def imported_handler(function: str, environment: Mapping[str, str]) -> Iterator[Any]:
    """Import a function's handler with variables, and leave no trace of it."""
    root = logging.getLogger()
    handlers, levels = root.handlers, [(each, each.level) for each in (root, *map(logging.getLogger, OWN_PACKAGES))]
    credentials = {
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment, **credentials}.items():
            patch.setenv(name, value)
        aws.client.cache_clear()
        aws.session.cache_clear()
        patch.delitem(sys.modules, f"functions.{function}.handler", raising=False)
        try:
            yield importlib.import_module(f"functions.{function}.handler")
        finally:
            root.handlers = handlers
            for logger, level in levels:
                logger.setLevel(level)
            aws.client.cache_clear()
            aws.session.cache_clear()


def _queue(name: str) -> str:
    return boto3.client("sqs", region_name=REGION).create_queue(QueueName=name)["QueueUrl"]
