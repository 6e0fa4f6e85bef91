"""One table: reads that follow every page, writes with conditions, batches that retry, failures by name.

The adapters of the memory table share this module. It knows DynamoDB and nothing of what the items mean.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.items import Key, StoredItem, bytes_of, wire, wire_key
from shared.adapters.dynamodb.schema import FIRST_STORE_KEY, ITEM_MAX_BYTES, PK, SK
from shared.adapters.dynamodb.writes import Check, Put, Update, expressions, projection
from shared.domain.errors import ItemTooLargeError, StoreError
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Pause: TypeAlias = Callable[[int], Awaitable[None]]
"""Waits before the next try; given how many tries there have been."""

_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.025
_LONGEST_PAUSE_SECONDS = 1.0
_KEYS_A_READ = 100
_HIGHEST = "\U0010ffff"
_WRITES_A_BATCH = 25

# Somebody else's transaction has the item at this moment. The SDK retries throttling, but not these.
_PASSING = frozenset({"TransactionConflictException", "TransactionInProgressException"})
_PASSING_REASONS = frozenset({"None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})

_OPERATIONS = {Put: "Put", Update: "Update", Check: "ConditionCheck"}


class ConditionFailedError(Exception):
    """A write's condition did not hold; nothing was written.

    Parameters
    ----------
    current : StoredItem or None
        The item that was there, from the same answer; ``None`` when there was none.
    """

    def __init__(self, current: StoredItem | None) -> None:
        super().__init__("The condition of a write did not hold.")
        self.current = current


class TransactionRefusedError(Exception):
    """Conditions of a transaction did not hold; nothing was written.

    Parameters
    ----------
    refused : mapping of int to StoredItem or None
        For the position of each write whose condition failed, the item that was there.
    """

    def __init__(self, refused: Mapping[int, StoredItem | None]) -> None:
        super().__init__("A condition of a transaction did not hold.")
        self.refused = refused


async def jittered_pause(tries: int) -> None:
    """Wait a random while, longer on average with each try, so that rivals do not meet again."""
    longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**tries)
    await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - no secret


class Rows:
    """Reads and writes of one table. Every read is consistent; expired items read as absent.

    Each method raises ``StoreError`` when DynamoDB cannot answer.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The table.
    clock : Clock, optional
        Tells which items have expired; the system's unless told otherwise.
    pause : callable
        Waits between tries of what DynamoDB leaves unprocessed or puts off.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._client = client
        self._table = table_name
        self._clock = clock or SystemClock()
        self._pause = pause

    async def get(self, key: Key) -> StoredItem | None:
        """Read one item; ``None`` when it is not there."""
        reply = await self._send(self._client.get_item, Key=wire_key(key), ConsistentRead=True)
        items = self._living([reply["Item"]] if "Item" in reply else [])
        return items[0] if items else None

    async def get_many(self, keys: Iterable[Key], *, attributes: Sequence[str] = ()) -> dict[Key, StoredItem]:
        """Read several items, a hundred a request; those that are not there are left out.

        ``attributes`` names what is needed of each: everything when empty.
        """
        distinct = list(dict.fromkeys(keys))
        request = {"ConsistentRead": True, **expressions({}, ProjectionExpression=projection(attributes))}
        found: list[StoredItem] = []
        for start in range(0, len(distinct), _KEYS_A_READ):
            open_keys: list[Any] = [wire_key(key) for key in distinct[start : start + _KEYS_A_READ]]
            tries = 0
            while open_keys:
                reply = await self._batch(self._client.batch_get_item, {"Keys": open_keys, **request})
                found += self._living(reply["Responses"].get(self._table, []))
                open_keys = reply.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
                tries += 1
                if open_keys:
                    await self._wait(tries, "BatchGetItem")
        return {item.key: item for item in found}

    async def pages(
        self,
        partition: str,
        prefix: str,
        *,
        attributes: Sequence[str] = (),
        page_size: int | None = None,
        expired: bool = False,
        since: str = "",
        descending: bool = False,
        consistent: bool = True,
    ) -> AsyncGenerator[list[StoredItem]]:
        """Read the items whose sort key starts with ``prefix``, in order, page by page.

        An empty prefix means every store item of the partition, and no row of our own. ``expired`` gives expired
        items too. ``since`` is what follows the prefix in the first key wanted. A read that need
        not be ``consistent`` costs half, and may miss what was written a moment ago.
        """
        span = f"begins_with(#{SK}, :prefix)" if prefix else f"#{SK} >= :first"
        if since:
            span = f"#{SK} BETWEEN :since AND :last"
        request = {} if not descending else {"ScanIndexForward": False}
        request |= expressions(
            {
                "pk": partition,
                "prefix": prefix,
                "first": FIRST_STORE_KEY,
                "since": prefix + since,
                "last": prefix + _HIGHEST,
            },
            KeyConditionExpression=f"#{PK} = :pk AND {span}",
            ProjectionExpression=projection(attributes),
        )
        replies = self._replies(self._client.query, _page(page_size) | request, consistent=consistent)
        async for reply in replies:
            yield [StoredItem(each) for each in reply["Items"]] if expired else self._living(reply["Items"])

    async def index_pages(
        self, index: str, partition: str, *, descending: bool, page_size: int | None = None
    ) -> AsyncGenerator[list[StoredItem]]:
        """Read what a local index holds of a partition, in the index's order, page by page."""
        request = {
            "IndexName": index,
            "ScanIndexForward": not descending,
            "Select": "ALL_PROJECTED_ATTRIBUTES",
            **expressions({"pk": partition}, KeyConditionExpression=f"#{PK} = :pk"),
        }
        async for reply in self._replies(self._client.query, _page(page_size) | request):
            yield self._living(reply["Items"])

    async def index_count(self, index: str, partition: str) -> int:
        """Count what a local index holds of a partition, without reading it out."""
        request = {
            "IndexName": index,
            "Select": "COUNT",
            **expressions({"pk": partition}, KeyConditionExpression=f"#{PK} = :pk"),
        }
        return sum([reply["Count"] async for reply in self._replies(self._client.query, request)])

    async def scan(self, *, attributes: Sequence[str] = ()) -> AsyncGenerator[list[StoredItem]]:
        """Read the whole table, page by page. No request of a user comes here."""
        request = expressions({}, ProjectionExpression=projection(attributes))
        async for reply in self._replies(self._client.scan, request):
            yield self._living(reply["Items"])

    async def put(self, write: Put) -> None:
        """Write a whole item.

        Raises
        ------
        ConditionFailedError
            When its condition does not hold.
        ItemTooLargeError
            When the item is more than DynamoDB takes.
        """
        await self._send(self._client.put_item, ReturnValuesOnConditionCheckFailure="ALL_OLD", **write.request())

    async def update(self, write: Update) -> StoredItem:
        """Change an item and give it as it is now.

        Raises
        ------
        ConditionFailedError
            When its condition does not hold.
        ItemTooLargeError
            When the item would outgrow what DynamoDB takes; nothing was written.
        """
        request = write.request()
        try:
            reply = await self._send(
                self._client.update_item,
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **request,
            )
        except ItemTooLargeError as refused:
            # DynamoDB does not say how large it would have been.
            current = await self.get(write.key)
            size = bytes_of(wire(write.values)) + (current.size if current else 0)
            raise ItemTooLargeError("The item", max(size, refused.size), refused.limit) from None
        return StoredItem(reply["Attributes"])

    async def transact(self, *writes: Put | Update | Check) -> None:
        """Do all writes or none.

        Raises
        ------
        TransactionRefusedError
            When conditions do not hold.
        ItemTooLargeError
            When an item is more than DynamoDB takes.
        """
        condition = {"TableName": self._table, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        items = [{_OPERATIONS[type(write)]: condition | write.request()} for write in writes]
        # botocore adds a ClientRequestToken: when it repeats a request whose answer was lost, nothing happens twice.
        await self._try(self._client.transact_write_items, {"TransactItems": items})

    async def delete(self, key: Key) -> None:
        """Remove one item, if it is there."""
        await self._send(self._client.delete_item, Key=wire_key(key))

    async def write_all(self, puts: Iterable[Put] = (), *, deletes: Iterable[Key] = ()) -> None:
        """Write and remove many items, 25 a request, in no order and without conditions; no key may come twice.

        Raises
        ------
        ItemTooLargeError
            When an item is more than DynamoDB takes; nothing was written.
        """
        writes: list[Any] = [{"PutRequest": {"Item": put.item()}} for put in puts]
        writes += [{"DeleteRequest": {"Key": wire_key(key)}} for key in deletes]
        for start in range(0, len(writes), _WRITES_A_BATCH):
            batch = writes[start : start + _WRITES_A_BATCH]
            tries = 0
            while batch:
                reply = await self._batch(self._client.batch_write_item, batch)
                batch = reply.get("UnprocessedItems", {}).get(self._table, [])
                tries += 1
                if batch:
                    await self._wait(tries, "BatchWriteItem")

    def _living(self, items: Iterable[Mapping[str, Any]]) -> list[StoredItem]:
        now = self._clock.now()
        return [item for item in map(StoredItem, items) if not item.expired(now)]

    async def _replies(
        self, call: Callable[..., Any], request: Mapping[str, Any], *, consistent: bool = True
    ) -> AsyncGenerator[Mapping[str, Any]]:
        following: dict[str, Any] = {}
        while True:
            reply = await self._send(call, ConsistentRead=consistent, **request, **following)
            yield reply
            if not reply.get("LastEvaluatedKey"):
                return
            following = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    async def _send(self, call: Callable[..., Any], **request: Any) -> Mapping[str, Any]:  # noqa: ANN401
        return await self._try(call, {"TableName": self._table, **request})

    async def _batch(self, call: Callable[..., Any], batch: object) -> Mapping[str, Any]:
        return await self._try(call, {"RequestItems": {self._table: batch}})

    async def _try(self, call: Callable[..., Any], request: Mapping[str, Any]) -> Mapping[str, Any]:
        tries = 0
        while True:
            try:
                return await in_thread(call, **request)
            except ClientError as error:
                _raise_unless_passing(error)
                tries += 1
                await self._wait(tries, error.operation_name, error)
            except BotoCoreError as error:
                raise StoreError(f"DynamoDB did not answer: {type(error).__name__}.") from error

    async def _wait(self, tries: int, operation: str, cause: Exception | None = None) -> None:
        if tries >= _TRIES:
            raise StoreError(f"DynamoDB put off {operation} {tries} times.") from cause
        await self._pause(tries)


def _page(size: int | None) -> dict[str, Any]:
    return {} if size is None else {"Limit": size}


def _raise_unless_passing(error: ClientError) -> None:
    answer: Mapping[str, Any] = {**error.response}
    code: str = answer["Error"].get("Code", "")
    if code == "ConditionalCheckFailedException":
        raise ConditionFailedError(_current(answer)) from None
    if code == "TransactionCanceledException":
        reasons: Sequence[Mapping[str, Any]] = answer.get("CancellationReasons", [])
        refused = {n: _current(each) for n, each in enumerate(reasons) if each["Code"] == "ConditionalCheckFailed"}
        if refused:
            raise TransactionRefusedError(refused) from None
        codes = {each["Code"] for each in reasons}
        if codes and codes <= _PASSING_REASONS:
            return
        code = ", ".join(sorted(codes - {"None"})) or code
    if code in _PASSING:
        return
    if code == "ValidationException" and "Item size" in answer["Error"].get("Message", ""):
        raise ItemTooLargeError("The item", ITEM_MAX_BYTES + 1, ITEM_MAX_BYTES) from error
    # The code only: DynamoDB's messages may quote what was written.
    raise StoreError(f"DynamoDB refused {error.operation_name}: {code}.") from error


def _current(answer: Mapping[str, Any]) -> StoredItem | None:
    return StoredItem(answer["Item"]) if answer.get("Item") else None
