"""LangGraph's ``BaseStore`` on the memory table: what the graphs, and any LangGraph code, keep of a user.

The profile and the summaries stand among its items, under the seed's namespaces. Reading them here is fine; writing
them here keeps no log and checks no rules, though a profile's version moves on, so that nobody else's write is lost.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    validate_op_namespace,
)

from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.items import Key, Plain, StoredItem, store_key
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    CREATED_AT,
    FIRST_STORE_KEY,
    TTL,
    TTL_SECONDS,
    UPDATED_AT,
    VALUE,
    VERSION,
    decode_key,
    decode_part,
    encode_part,
    encode_prefix,
)
from shared.adapters.dynamodb.store_values import exact_json, fits_condition, fits_filter
from shared.adapters.dynamodb.writes import Put, Update
from shared.domain.errors import InvalidInputError
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Namespace: TypeAlias = tuple[str, ...]


class DynamoStore(BaseStore):
    """A store whose namespaces' first label is the partition, so that whatever a user has is one query away.

    A ``get`` is one request, a search or a listing under a first label one query a page. Searches come in the order
    of namespaces and keys. Every read is consistent. Without an embedding, ``index`` and ``query`` have no effect, as
    LangGraph defines.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    clock : Clock, optional
        Dates items and tells which have expired.
    ttl : TTLConfig, optional
        Default time to live in minutes, and whether reads refresh it. DynamoDB removes what has expired; until then
        it reads as absent, whatever ``omit_expired`` says.
    allow_scan : bool
        Whether searches and listings that name no first label may read the whole table. Off for whatever serves
        users: such a read would also cross from one user to all.
    pause : callable
        Waits between tries.
    """

    supports_ttl = True

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        clock: Clock | None = None,
        ttl: TTLConfig | None = None,
        allow_scan: bool = False,
        pause: Pause = jittered_pause,
    ) -> None:
        self._clock = clock or SystemClock()
        self._rows = Rows(client, table_name, clock=self._clock, pause=pause)
        self.ttl_config = ttl
        self._allow_scan = allow_scan

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as :meth:`abatch` does, for code that is not asynchronous."""
        todo = list(ops)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.abatch(todo))
        # A loop runs in this thread and cannot run another.
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, self.abatch(todo)).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all reads on what is there, then all writes; of several writes to one key the last counts.

        Several gets are one request a hundred, several writes one read and then one request per 25.

        Raises
        ------
        StoreError
            When DynamoDB cannot answer. Some of the writes may have happened: a batch is no transaction.
        NotJsonError, ItemTooLargeError, InvalidIdError
            When a value or a key cannot be stored; nothing was written.
        InvalidNamespaceError
            When a namespace has no legal form; nothing was read or written.
        InvalidInputError
            When the whole table would have to be read.
        """
        todo = list(ops)
        for op in todo:
            validate_op_namespace(op)
            if isinstance(op, GetOp | PutOp) and not op.namespace:
                raise InvalidNamespaceError("Namespace cannot be empty.")
        now = self._clock.now()
        writes = {store_key(op.namespace, op.key): _new_item(op, now) for op in todo if isinstance(op, PutOp)}
        gets = {store_key(op.namespace, op.key): op for op in todo if isinstance(op, GetOp)}
        found = await self._get(gets, now)
        results: list[Result] = []
        for op in todo:
            if isinstance(op, GetOp):
                results.append(found.get(store_key(op.namespace, op.key)))
            elif isinstance(op, SearchOp):
                results.append(await self._search(op, now))
            elif isinstance(op, ListNamespacesOp):
                results.append(await self._list(op))
            else:
                results.append(None)
        await self._write(writes, now)
        return results

    async def _get(self, gets: Mapping[Key, GetOp], now: datetime) -> dict[Key, Item]:
        if len(gets) == 1:
            one = await self._rows.get(next(iter(gets)))
            found = {one.key: one} if one else {}
        else:
            found = await self._rows.get_many(gets)
        await self._refresh([item for key, item in found.items() if gets[key].refresh_ttl], now)
        return {key: _item(item) for key, item in found.items()}

    async def _search(self, op: SearchOp, now: datetime) -> list[SearchItem]:
        end = op.offset + op.limit if min(op.offset, op.limit) >= 0 else None
        # Without a filter the first items are the answer, and nothing more is read.
        page_size = None if op.filter or end is None else max(end, 1)
        fitting: list[tuple[StoredItem, SearchItem]] = []
        async with aclosing(self._pages(op.namespace_prefix, page_size=page_size)) as pages:
            async for page in pages:
                items = ((stored, _search_item(stored)) for stored in page)
                fitting += [(stored, item) for stored, item in items if fits_filter(item.value, op.filter)]
                if end is not None and len(fitting) >= end:
                    break
        chosen = fitting[op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            await self._refresh([stored for stored, _ in chosen], now)
        return [item for _, item in chosen]

    async def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefixes = [tuple(takewhile("*".__ne__, each.path)) for each in conditions if each.match_type == "prefix"]
        namespaces: set[Namespace] = set()
        # The expiry alone: keys come with any reading.
        async for page in self._pages(max(prefixes, key=len, default=()), attributes=(TTL,)):
            found = {_place(item.key)[0] for item in page}
            namespaces |= {
                namespace[: op.max_depth]
                for namespace in found
                if all(fits_condition(namespace, condition) for condition in conditions)
            }
        return sorted(namespaces)[op.offset : op.offset + op.limit]

    def _pages(
        self, namespace: Namespace, *, attributes: Sequence[str] = (), page_size: int | None = None
    ) -> AsyncGenerator[list[StoredItem]]:
        if namespace:
            return self._rows.pages(
                encode_part(namespace[0]), encode_prefix(namespace[1:]), attributes=attributes, page_size=page_size
            )
        if not self._allow_scan:
            raise InvalidInputError("Without a first label the whole table would be read; allow_scan=True allows it.")
        return self._scan(attributes)

    async def _scan(self, attributes: Sequence[str]) -> AsyncGenerator[list[StoredItem]]:
        items = [item async for page in self._rows.scan(attributes=attributes) for item in page]
        # A scan has no order, and paging needs one.
        yield sorted((item for item in items if item.key[1] >= FIRST_STORE_KEY), key=lambda item: item.key)

    async def _write(self, writes: Mapping[Key, dict[str, Plain] | None], now: datetime) -> None:
        if len(writes) == 1:
            for key, item in writes.items():
                await (self._rows.delete(key) if item is None else self._put(key, item, now))
            return
        puts = {key: item for key, item in writes.items() if item is not None}
        # BatchWriteItem replaces items whole: what must outlast that is read first.
        replaced = await self._rows.get_many(puts, attributes=(CREATED_AT, VERSION))
        guarded = {key for key, item in replaced.items() if item.has(VERSION)}
        await self._rows.write_all(
            [_whole(key, item, replaced.get(key)) for key, item in puts.items() if key not in guarded],
            deletes=[key for key, item in writes.items() if item is None],
        )
        for key in guarded:
            await self._put(key, puts[key], now)

    async def _put(self, key: Key, item: Mapping[str, Plain], now: datetime) -> None:
        sets = [f"#{name} = :{name}" for name in item if name != CREATED_AT]
        sets.append(f"#{CREATED_AT} = if_not_exists(#{CREATED_AT}, :{CREATED_AT})")
        removes = [name for name in (TTL, TTL_SECONDS) if name not in item]
        values = {**item, "epoch": int(now.timestamp())}
        condition = f"attribute_not_exists(#{VERSION}) AND (attribute_not_exists(#{TTL}) OR #{TTL} > :epoch)"
        try:
            await self._rows.update(Update(key=key, sets=sets, removes=removes, condition=condition, values=values))
        except ConditionFailedError as failed:
            if failed.current is None or failed.current.expired(now):
                await self._rows.put(_whole(key, item, None))
                return
            # A profile: whoever read it before must notice.
            sets.append(f"#{VERSION} = if_not_exists(#{VERSION}, :zero) + :one")
            await self._rows.update(Update(key=key, sets=sets, removes=removes, values={**item, "zero": 0, "one": 1}))

    async def _refresh(self, items: Iterable[StoredItem], now: datetime) -> None:
        await asyncio.gather(*(self._live_on(item, now) for item in items if item.has(TTL_SECONDS)))

    async def _live_on(self, item: StoredItem, now: datetime) -> None:
        seconds = item.number(TTL_SECONDS)
        until = int(now.timestamp()) + seconds
        if until == item.number(TTL):
            return
        write = Update(
            key=item.key,
            sets=(f"#{TTL} = :until",),
            # Not when somebody else has removed it, or put it with another time to live.
            condition=f"#{TTL} = :read AND #{TTL_SECONDS} = :seconds",
            values={"until": until, "read": item.number(TTL), "seconds": seconds},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError:
            return


def _new_item(op: PutOp, now: datetime) -> dict[str, Plain] | None:
    if op.value is None:
        return None
    item: dict[str, Plain] = {VALUE: exact_json(op.value), CREATED_AT: now, UPDATED_AT: now}
    if op.ttl is not None:
        seconds = math.ceil(op.ttl * 60)
        item |= {TTL_SECONDS: seconds, TTL: int(now.timestamp()) + seconds}
    # Refused here, before any other write of the batch.
    _whole(store_key(op.namespace, op.key), item, None).item()
    return item


def _whole(key: Key, item: Mapping[str, Plain], replaced: StoredItem | None) -> Put:
    created_at = item[CREATED_AT] if replaced is None else replaced.text(CREATED_AT)
    return Put(key=key, attributes={**item, CREATED_AT: created_at})


def _place(key: Key) -> tuple[Namespace, str]:
    labels, name = decode_key(key[1])
    return (decode_part(key[0]), *labels), name


def _item(stored: StoredItem) -> Item:
    namespace, key = _place(stored.key)
    return Item(
        value=stored.json_object(VALUE),
        key=key,
        namespace=namespace,
        created_at=stored.moment(CREATED_AT),
        updated_at=stored.moment(UPDATED_AT),
    )


def _search_item(stored: StoredItem) -> SearchItem:
    item = _item(stored)
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at)
