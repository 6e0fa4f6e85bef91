"""Requests to the checkpoint table: consistent, paged, retried, with failures by name.

LangGraph's savers have a synchronous face as well, so this does not share ``rows.py``: the calls block, and the saver's
asynchronous face runs them beside the event loop.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from uuid import UUID

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.checkpointer.keys import Span
from shared.adapters.dynamodb.items import Key, StoredItem, wire_key
from shared.adapters.dynamodb.schema import CURRENT_SCHEMA, PK, SCHEMA_VERSION, SK, TTL
from shared.domain.errors import StoreError
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")

Item: TypeAlias = dict[str, Any]
"""An item in DynamoDB's wire form."""

Pause: TypeAlias = Callable[[int], None]
"""Waits before the next try; given how many tries there have been."""

RUN: Final = "run"
"""The attribute of a checkpoint's item that names its run."""

_TRIES: Final = 8
_FIRST_PAUSE_SECONDS: Final = 0.025
_LONGEST_PAUSE_SECONDS: Final = 1.0
_WRITES_A_BATCH: Final = 25
_BYTES_A_BATCH: Final = 8 * 1024 * 1024
_KEYS_A_READ: Final = 25
_THREADS: Final = 16


class ConditionFailedError(Exception):
    """A write's condition did not hold; nothing was written.

    Parameters
    ----------
    current : dict or None
        The item that was there.
    """

    def __init__(self, current: Item | None) -> None:
        super().__init__("The condition of a write did not hold.")
        self.current = current


def jittered_pause(tries: int) -> None:
    """Wait a random while, longer on average with each try, so that rivals do not meet again."""
    time.sleep(random.uniform(0, min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**tries)))  # noqa: S311


@cache
def _pool() -> ThreadPoolExecutor:
    # Of its own: the pool that runs the saver's calls would wait for itself.
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="checkpoints")


def beside(call: Callable[[], T]) -> "Future[T]":
    """Start a call that may run while others do. It must not start another one and wait for it."""
    return _pool().submit(call)


def item(key: Key, attributes: Mapping[str, Any], expires: int | None = None) -> Item:
    """Give an item's wire form.

    Parameters
    ----------
    key : tuple of str
        Where.
    attributes : mapping
        Its attributes, in wire form.
    expires : int, optional
        When it may go, in epoch seconds.
    """
    made = {**wire_key(key), SCHEMA_VERSION: {"N": str(CURRENT_SCHEMA)}, **attributes}
    return made if expires is None else made | {TTL: {"N": str(expires)}}


class CheckpointTable:
    """The checkpoint table. Expired items read as absent.

    Each method raises ``StoreError`` when DynamoDB cannot answer.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    name : str
        The table.
    clock : Clock, optional
        Tells which items have expired; the system's unless told otherwise.
    pause : callable
        Waits between tries of what DynamoDB leaves unprocessed.
    """

    def __init__(
        self, client: "DynamoDBClient", name: str, *, clock: Clock | None = None, pause: Pause = jittered_pause
    ) -> None:
        self._client = client
        self.name = name
        self.clock = clock or SystemClock()
        self.pause = pause
        """Waits before the next try."""

    def get(self, key: Key) -> Item | None:
        """Read one item; ``None`` when it is not there."""
        reply = self._send(self._client.get_item, Key=wire_key(key), ConsistentRead=True)
        living = self._living([reply["Item"]] if "Item" in reply else [])
        return living[0] if living else None

    def pages(
        self,
        partition: str,
        span: Span,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        keys_only: bool = False,
        expired: bool = False,
    ) -> Iterator[list[Item]]:
        """Read a range of a partition, page by page.

        Parameters
        ----------
        partition, span
            What to read.
        newest_first : bool
            Whether to read backwards.
        limit : int, optional
            How many items a page may hold.
        keys_only : bool
            Whether the keys and the expiry will do.
        expired : bool
            Whether to give expired items too.
        """
        request: dict[str, Any] = {
            "ConsistentRead": True,
            "ScanIndexForward": not newest_first,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :first AND :last",
            "ExpressionAttributeNames": {"#pk": PK, "#sk": SK},
            "ExpressionAttributeValues": {
                ":pk": {"S": partition},
                ":first": {"S": span.first},
                ":last": {"S": span.last},
            },
        }
        if limit is not None:
            request["Limit"] = limit
        if keys_only:
            request["ProjectionExpression"] = "#pk, #sk, #ttl, #run"
            request["ExpressionAttributeNames"] |= {"#ttl": TTL, "#run": RUN}
        while True:
            reply = self._send(self._client.query, **request)
            yield reply["Items"] if expired else self._living(reply["Items"])
            if not reply.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Read several items; those that are not there are left out."""
        distinct = list(dict.fromkeys(keys))
        found: list[Item] = []
        for start in range(0, len(distinct), _KEYS_A_READ):
            open_keys: list[Any] = [wire_key(key) for key in distinct[start : start + _KEYS_A_READ]]
            for tries in self._tries("BatchGetItem"):
                batch = {self.name: {"Keys": open_keys, "ConsistentRead": True}}
                reply = self._try(self._client.batch_get_item, RequestItems=batch)
                found += self._living(reply["Responses"].get(self.name, []))
                open_keys = reply.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
                if not open_keys:
                    break
                self.pause(tries)
        return {key_of(each): each for each in found}

    def write(self, puts: Sequence[Item] = (), deletes: Iterable[Key] = ()) -> int:
        """Write and remove items, 25 a request, one request after the other, in this order and without conditions.

        Returns
        -------
        int
            How many tries a request took at most; none if there was nothing to do.
        """
        writes: list[Any] = [{"PutRequest": {"Item": each}} for each in puts]
        writes += [{"DeleteRequest": {"Key": wire_key(key)}} for key in deletes]
        most = 0
        for batch in _batches(writes):
            left = batch
            for tries in self._tries("BatchWriteItem"):
                most = max(most, tries)
                reply = self._try(self._client.batch_write_item, RequestItems={self.name: left})
                left = reply.get("UnprocessedItems", {}).get(self.name, [])
                if not left:
                    break
                self.pause(tries)
        return most

    def update(
        self,
        key: Key,
        *,
        expression: str,
        names: Mapping[str, str],
        values: Mapping[str, Any],
        condition: str = "",
        returned: str = "NONE",
    ) -> Item:
        """Change an item or make it; give what ``returned`` asks for.

        Raises
        ------
        ConditionFailedError
            When the condition does not hold.
        """
        request: dict[str, Any] = {"ConditionExpression": condition} if condition else {}
        reply = self._send(
            self._client.update_item,
            Key=wire_key(key),
            UpdateExpression=expression,
            ExpressionAttributeNames={"#schema": SCHEMA_VERSION, **names},
            ExpressionAttributeValues={":schema": {"N": str(CURRENT_SCHEMA)}, **values},
            ReturnValues=returned,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **request,
        )
        return reply.get("Attributes", {})

    def _living(self, items: Iterable[Item]) -> list[Item]:
        now = self.clock.now()
        return [each for each in items if TTL not in each or not StoredItem(each).expired(now)]

    def _send(self, call: Callable[..., Any], **request: Any) -> Any:  # noqa: ANN401
        return self._try(call, TableName=self.name, **request)

    def _try(self, call: Callable[..., Any], **request: Any) -> Any:  # noqa: ANN401
        try:
            return call(**request)
        except ClientError as error:
            answer: Mapping[str, Any] = {**error.response}
            code: str = answer["Error"].get("Code", "")
            if code == "ConditionalCheckFailedException":
                raise ConditionFailedError(answer.get("Item") or None) from None
            # The code only: DynamoDB's messages may quote what was written.
            raise StoreError(f"DynamoDB refused {error.operation_name}: {code}.") from error
        except BotoCoreError as error:
            raise StoreError(f"DynamoDB did not answer: {type(error).__name__}.") from error

    def _tries(self, operation: str) -> Iterator[int]:
        yield from range(1, _TRIES + 1)
        raise StoreError(f"DynamoDB put off {operation} {_TRIES} times.")


def key_of(stored: Item) -> Key:
    """Give an item's key."""
    return stored[PK]["S"], stored[SK]["S"]


def run_value(run: str) -> dict[str, Any]:
    """Give the value of the attribute that names a run; a UUID, as most are, in its sixteen bytes."""
    try:
        short = UUID(run)
    except ValueError:
        return {"S": run}
    return {"B": short.bytes} if str(short) == run else {"S": run}


def run_of(value: Mapping[str, Any]) -> str:
    """Give back what :func:`run_value` was given."""
    return str(UUID(bytes=bytes(value["B"]))) if "B" in value else value["S"]


def _batches(writes: Sequence[Any]) -> Iterator[list[Any]]:
    batch: list[Any] = []
    room = _BYTES_A_BATCH
    for each in writes:
        size = sum(len(value.get("B", b"")) for value in each.get("PutRequest", {}).get("Item", {}).values())
        if batch and (len(batch) == _WRITES_A_BATCH or size > room):
            yield batch
            batch, room = [], _BYTES_A_BATCH
        batch.append(each)
        room -= size
    if batch:
        yield batch
