"""Savers over a mocked table, and checkpoints to put into them."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import EndpointConnectionError
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint
from langgraph.checkpoint.base.id import uuid6

from shared.adapters.dynamodb.checkpointer import DynamoDBSaver
from shared.adapters.dynamodb.checkpointer.cache import Cache

OWNER = "owner"
THREAD = "thread"


def saver_on(client: Any, owner: str = OWNER, **options: Any) -> DynamoDBSaver:
    """A saver that knows nothing yet, as in a process that has just started."""
    return DynamoDBSaver(client, "checkpoints", owner, cache=Cache(), pause=lambda tries: None, **options)


def config_of(thread: str = THREAD, checkpoint: str | None = None, namespace: str = "", **more: Any) -> RunnableConfig:
    known = {} if checkpoint is None else {"checkpoint_id": checkpoint}
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, **known, **more}}


def checkpoint_of(values: Mapping[str, Any], versions: Mapping[str, int], step: int = 0) -> Checkpoint:
    return Checkpoint(
        v=4,
        id=str(uuid6(clock_seq=step)),
        ts="2026-01-01T00:00:00+00:00",
        channel_values=dict(values),
        channel_versions=dict(versions),
        versions_seen={"node": dict(versions)},
        updated_channels=sorted(values),
    )


def put(
    saver: BaseCheckpointSaver[Any],
    values: Mapping[str, Any],
    parent: RunnableConfig | None = None,
    step: int = 0,
    **more: Any,
) -> RunnableConfig:
    """Store a checkpoint with these values, every one of them new, after ``parent`` or as the first."""
    versions = dict.fromkeys(values, step + 1)
    config = parent or config_of(**more)
    config = {"configurable": {**config["configurable"], **more}}
    return saver.put(config, checkpoint_of(values, versions, step), {"source": "loop", "step": step}, versions)


def values_of(saver: BaseCheckpointSaver[Any], config: RunnableConfig | None = None) -> dict[str, Any]:
    found = saver.get_tuple(config or config_of())
    assert found is not None
    return found.checkpoint["channel_values"]


def texts(messages: list[AnyMessage]) -> list[Any]:
    return [message.content for message in messages]


def items_of(client: Any) -> list[dict[str, Any]]:
    pages = client.get_paginator("scan").paginate(TableName="checkpoints")
    return [item for page in pages for item in page["Items"]]


class DyingClient:
    """A client whose process dies: after so many requests, of all or of one kind, none goes out any more.

    Attributes
    ----------
    sent
        How many requests of each kind went out.
    """

    def __init__(self, client: Any, requests: int | None = None, **of_kind: int) -> None:
        self._client, self._requests, self._of_kind = client, requests, of_kind
        self._lock = threading.Lock()
        self.sent: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        def call(**request: Any) -> Any:
            with self._lock:
                dead = self._requests is not None and self.sent.total() >= self._requests
                if dead or self.sent[name] >= self._of_kind.get(name, self.sent[name] + 1):
                    raise EndpointConnectionError(endpoint_url="http://loopback")
                self.sent[name] += 1
            return getattr(self._client, name)(**request)

        return call
