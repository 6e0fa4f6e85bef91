"""What LangGraph's store asks of DynamoDB, ours beside the packaged one (langgraph-checkpoint-aws), and who is right.

    python -m bench.store_cost [--users 50]

Both hold the same items on a mocked DynamoDB and are asked the same; so is LangGraph's own store in memory, which is
the judge of the answers. Requests and capacity are counted from what goes over the wire and from the items' own bytes;
rounds are requests that had to wait for one another, told apart by latency that is added to each.
"""

import argparse
import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph_checkpoint_aws import DynamoDBStore as PackagedStore
from moto import mock_aws

from bench._aws_meter import Meter
from shared.adapters.dynamodb.schema import MEMORY_TABLE
from shared.adapters.dynamodb.store import DynamoStore
from tests.fakes.tables import create_memory_table

REGION = "eu-central-1"
LATENCY = 0.02
ITEMS = 100
LARGE_ITEMS = 300
TEXT = ("A thread that never outgrows the window of the model. " * 12)[:600]

Act = Callable[[BaseStore], Awaitable[Any]]
Judge = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Case:
    """Something asked of a store; ``everything`` asks the judge for all answers of which some are right."""

    name: str
    act: Act
    everything: Act | None = None
    count: int = 0


def value(number: int) -> dict[str, Any]:
    return {"text": TEXT, "place": str(number), "kind": "rare" if number % 50 == 49 else "common"}


async def fill(store: BaseStore, users: int) -> None:
    for number in range(ITEMS):
        await store.aput(("me", "notes"), f"note-{number:03d}", value(number))
    for number in range(LARGE_ITEMS):
        await store.aput(("me", "files"), f"file-{number:03d}", {"text": TEXT * 8})
    await store.aput(("me", "new"), "other", value(0))
    for topic in ("boats", "birds", "bread"):
        await store.aput(("me", "topics", topic), "only", value(0))
    for user in range(users):
        for number in range(10):
            await store.aput((f"user-{user:03d}", "notes"), f"note-{number}", value(number))


def found(items: Any) -> list[tuple[tuple[str, ...], str, Any]]:
    return [(item.namespace, item.key, item.value) for item in items]


def one(item: Any) -> Any:
    return None if item is None else (item.namespace, item.key, item.value)


def searching(*prefix: str, **options: Any) -> Act:
    async def act(store: BaseStore) -> Any:
        return found(await store.asearch(prefix, **options))

    return act


def listing(**options: Any) -> Act:
    async def act(store: BaseStore) -> Any:
        return await store.alist_namespaces(**options)

    return act


def getting(key: str) -> Act:
    async def act(store: BaseStore) -> Any:
        return one(await store.aget(("me", "notes"), key))

    return act


def putting(key: str, what: dict[str, Any], *, ttl: float | None = None) -> Act:
    async def act(store: BaseStore) -> Any:
        await (store.aput(("me", "new"), key, what) if ttl is None else store.aput(("me", "new"), key, what, ttl=ttl))

    return act


def put_and_get(what: dict[str, Any]) -> Act:
    async def act(store: BaseStore) -> Any:
        await store.aput(("me", "values"), "one", what)
        return one(await store.aget(("me", "values"), "one"))

    return act


async def delete(store: BaseStore) -> Any:
    await store.adelete(("me", "new"), "first")
    return one(await store.aget(("me", "new"), "first"))


async def get_many(store: BaseStore) -> Any:
    got = await store.abatch([GetOp(("me", "notes"), f"note-{number:03d}") for number in range(25)])
    return [one(item) for item in got]


async def put_many(store: BaseStore) -> Any:
    await store.abatch([PutOp(("me", "batch"), str(number), value(number)) for number in range(25)])


async def colons(store: BaseStore) -> Any:
    await store.aput(("me", "a:b"), "key", {"of": "one label"})
    await store.aput(("me", "a", "b"), "key", {"of": "two labels"})
    return [one(await store.aget(namespace, "key")) for namespace in (("me", "a:b"), ("me", "a", "b"))]


async def expired(store: BaseStore) -> Any:
    """Put with a time to live of a second, wait longer, and read before DynamoDB has come round to removing it."""
    # The judge knows no time to live.
    if isinstance(store, InMemoryStore):
        return None
    await store.aput(("me", "new"), "short", {"of": "a second"}, ttl=1 / 60)
    await asyncio.sleep(2.1)
    return one(await store.aget(("me", "new"), "short"))


CASES = (
    Case("put a new item", putting("first", value(1))),
    Case("put it again", putting("first", value(2))),
    Case("get", getting("note-007")),
    Case("get what is not there", getting("nothing")),
    Case("delete, then get", delete),
    Case("search a namespace, 10 of 100", searching("me", "notes", limit=10), searching("me", "notes", limit=1000), 10),
    Case(
        "the same, from the 50th on",
        searching("me", "notes", limit=10, offset=50),
        searching("me", "notes", limit=1000),
        10,
    ),
    Case("search with a filter, 2 of 100", searching("me", "notes", filter={"kind": "rare"}, limit=10)),
    Case(
        "the same, with $ne",
        searching("me", "notes", filter={"kind": {"$ne": "common"}}, limit=10),
    ),
    Case("search under a user, 10 of all", searching("me", limit=10), searching("me", limit=1000), 10),
    Case("search all of 1.4 MB", searching("me", "files", limit=1000)),
    Case("list a user's namespaces", listing(prefix=("me",), limit=1000)),
    Case("list with a wildcard", listing(prefix=("me", "*", "boats"), limit=1000)),
    Case("list by suffix, two labels of it", listing(prefix=("me",), suffix=("boats",), max_depth=2, limit=1000)),
    Case("25 gets in a batch", get_many),
    Case("25 puts in a batch", put_many),
    Case("put and get whole numbers", put_and_get({"number": 7, "list": [1, None, True]})),
    Case("put and get a float", put_and_get({"number": 0.5})),
    Case("labels with a colon", colons),
    Case("get what has expired", expired),
)


@dataclass
class Outcome:
    requests: int
    rounds: int
    wcu: float
    rcu: float
    answer: Any


def as_json(answer: Any) -> Any:
    """Give an answer as a client of an API would get it."""
    try:
        return json.loads(json.dumps(answer))
    except TypeError as error:
        return f"{error}"


def says(answer: Any, expected: Any, case: Case) -> str:
    """Say whether an answer is right, and if not, how it differs."""
    if isinstance(answer, Exception):
        return f"refused: {type(answer).__name__}"
    given, right = as_json(answer), as_json(expected)
    if case.everything is not None:
        keys = [tuple(map(str, item[:2])) for item in given]
        if len(given) == case.count == len(set(keys)) and all(item in right for item in given):
            return "right"
        return f"wrong: {len(given)} of {case.count}"
    if sorted(map(str, given)) == sorted(map(str, right)) if isinstance(right, list) else given == right:
        return "right"
    if isinstance(given, str):
        return f"wrong: {given}"
    if isinstance(right, list) and len(given) != len(right):
        return f"wrong: {len(given)} of {len(right)}"
    return "wrong: another value"


@contextmanager
def stores(users: int) -> Iterator[tuple[Meter, dict[str, BaseStore]]]:
    with mock_aws():
        session = boto3.Session(region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
        client, sizes = session.client("dynamodb"), session.client("dynamodb")
        create_memory_table(client)
        packaged = PackagedStore("packaged", boto3_session=session, ttl={"refresh_on_read": False})
        packaged.setup()
        meter = Meter(
            sizes=sizes,
            indexed={
                "memory": {index.name: (index.sort_key, *index.projected) for index in MEMORY_TABLE.local_indexes}
            },
        )
        meter.serialize(sizes, client, packaged.client)
        compared: dict[str, BaseStore] = {"ours": DynamoStore(client, "memory"), "packaged": packaged}
        for store in compared.values():
            asyncio.run(fill(store, users))
        with meter.on(client, packaged.client):
            yield meter, compared


async def measure(meter: Meter, store: BaseStore, case: Case) -> Outcome:
    meter.reset()
    meter.latency = LATENCY
    try:
        answer = await case.act(store)
    except Exception as error:  # noqa: BLE001 - a refusal is an answer
        answer = error
    meter.latency = 0.0
    return Outcome(
        len(meter.calls),
        meter.rounds(),
        sum(call.wcu for call in meter.calls),
        sum(call.rcu for call in meter.calls),
        answer,
    )


async def compare(meter: Meter, compared: dict[str, BaseStore], users: int) -> None:
    judge = InMemoryStore()
    await fill(judge, users)
    print(f"| |{''.join(f' {name} | | | | |' for name in compared)}")
    print(f"| --- |{' ---: | ---: | ---: | ---: | --- |' * len(compared)}")
    print(f"| |{' requests | rounds | WCU | RCU | answer |' * len(compared)}")
    consistent = {name: Counter[bool]() for name in compared}
    for case in CASES:
        expected = await case.act(judge)
        if case.everything is not None:
            expected = await case.everything(judge)
        cells = [f"| {case.name} |"]
        for name, store in compared.items():
            cost = await measure(meter, store, case)
            consistent[name].update(call.consistent for call in meter.calls if call.rcu)
            cells.append(
                f" {cost.requests} | {cost.rounds} | {cost.wcu:g} | {cost.rcu:g}"
                f" | {says(cost.answer, expected, case)} |"
            )
        print("".join(cells), flush=True)
    told = (f"{name} {reads[True]} of {reads.total()}" for name, reads in consistent.items())
    print(f"\nConsistent reads: {', '.join(told)}.")


def main() -> None:
    parser = argparse.ArgumentParser(description="What LangGraph's store asks of DynamoDB.")
    parser.add_argument("--users", type=int, default=50, help="other users in the table, with ten items each")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    print(
        f"Items of {len(json.dumps(value(0)))} bytes, {arguments.users} other users, {LATENCY * 1000:.0f} ms a request."
    )
    with stores(arguments.users) as (meter, compared):
        asyncio.run(compare(meter, compared, arguments.users))


if __name__ == "__main__":
    main()
