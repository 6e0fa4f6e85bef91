"""What a turn costs on our checkpointer and on langgraph-checkpoint-aws, side by side.

``python -m bench.checkpoint_cost`` runs one chat of a thousand turns on each saver, over a mocked DynamoDB, and prints
what the turns asked for cost. ``--quick`` stops at turn 100.

A turn is a question of 377 bytes and an answer of about 200 tokens through a graph of three nodes. Every column is
counted from the requests that were sent (see ``_aws_meter``): nothing is estimated. A saver *fails* at a turn when that
turn, or one before it, raised.
"""

import argparse
import asyncio
import gc
import logging
import random
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from statistics import mean
from typing import Any, Literal

import boto3
from botocore.config import Config
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph_checkpoint_aws import DynamoDBSaver as PackagedSaver
from moto import mock_aws
from moto.dynamodb.models.dynamo_type import DynamoType

from bench._aws_meter import READ_UNIT, WRITE_UNIT, Meter
from shared.adapters.dynamodb.checkpointer import DynamoDBSaver
from shared.adapters.dynamodb.checkpointer.cache import Cache

TURNS = (1, 10, 50, 100, 200, 400, 1000)
QUICK_TURNS = (1, 10, 50, 100)
PERIOD = 17
"""How many turns one of our snapshots lasts; means are over as many."""

LATENCY = 0.03
"""Seconds that each request takes while round trips are counted: enough to tell what runs side by side."""

Durability = Literal["exit", "async"]

# Texts of these compress as English documentation does: 1,237 bytes to about 575.
WORDS = (  # noqa: SIM905 - easier to read than a list
    "the of and to a in that it is was for on with he be I by as at have are this not but had his they from she which "
    "or we an there her were one do been all their has would will what if can when so my who about more out up into "
    "them some could him time your its then now only other new over very just know take people year good come make see "
    "because any these give day most us think also after use how our work first well way even want back through should "
    "where much go me being those too two long must own before right here such still world life against house always "
    "something never last last found place hand part while number under water night point city great letter moment"
).split()


def prose(seed: str, size: int) -> str:
    """Give a text of ``size`` characters that is always the same for a seed."""
    pick = random.Random(seed)  # noqa: S311 - no secret
    text = ""
    while len(text) < size:
        text += pick.choice(WORDS) + pick.choice([" "] * 9 + [", ", ". "])
    return text[:size]


def some_id(seed: str) -> str:
    return str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))  # noqa: S311 - no secret


def question(number: int) -> HumanMessage:
    return HumanMessage(prose(f"question {number}", 377), id=some_id(f"question {number}"))


def answer(number: int) -> AIMessage:
    usage = {"input_tokens": 1_000 + number, "output_tokens": 200, "total_tokens": 1_200 + number}
    name = f"lc_run--{some_id(f'answer {number}')}"
    return AIMessage(prose(f"answer {number}", 860), id=name, usage_metadata=usage)


def chat() -> StateGraph[Any, Any, Any, Any]:
    """Give a graph of three nodes, one of which answers."""
    builder = StateGraph(MessagesState)
    builder.add_node("router", lambda _: {})
    builder.add_node("agent", lambda state: {"messages": [answer(len(state["messages"]) // 2 + 1)]})
    builder.add_node("after", lambda _: {})
    for pair in ((START, "router"), ("router", "agent"), ("agent", "after"), ("after", END)):
        builder.add_edge(*pair)
    return builder


@dataclass
class Bench:
    """One saver on tables of its own.

    Parameters
    ----------
    saver
        The saver of the running process.
    cold
        Makes a saver that knows nothing yet, on the same client.
    client
        Whose requests are counted.
    """

    saver: BaseCheckpointSaver[Any]
    cold: Callable[[], BaseCheckpointSaver[Any]]
    client: Any


def new_client() -> Any:
    return boto3.Session().client("dynamodb", region_name="eu-central-1", config=Config(max_pool_connections=50))


def create_table(client: Any, name: str, partition_key: str, sort_key: str) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in (partition_key, sort_key)],
        KeySchema=[
            {"AttributeName": partition_key, "KeyType": "HASH"},
            {"AttributeName": sort_key, "KeyType": "RANGE"},
        ],
    )


OWNER = some_id("owner")


def ours() -> Bench:
    client = new_client()
    create_table(client, "checkpoints", "pk", "sk")

    def make() -> BaseCheckpointSaver[Any]:
        return DynamoDBSaver(client, "checkpoints", OWNER, cache=Cache())

    return Bench(make(), make, client)


def packaged(*, compressed: bool) -> Bench:
    create_table(new_client(), "packaged", "PK", "SK")
    saver = PackagedSaver(
        "packaged", boto3.Session(region_name="eu-central-1"), enable_checkpoint_compression=compressed
    )
    return Bench(saver, lambda: saver, saver.client)


SAVERS: dict[str, Callable[[], Bench]] = {
    "ours": ours,
    "langgraph-checkpoint-aws": lambda: packaged(compressed=False),
    "the same, gzip": lambda: packaged(compressed=True),
}


@dataclass
class Row:
    """What a turn cost; ``failed`` says why it could not be measured."""

    turn: int
    requests: int = 0
    written: int = 0
    write_units: float = 0
    mean_write_units: float = 0
    cold_read_units: float = 0
    warm_read_units: float = 0
    round_trips: tuple[int, int] = (0, 0)
    """Of the whole turn, and of a cold load."""
    cpu: float = 0
    failed: str = ""


class Chat:
    """One thread on one saver, with a meter on its requests.

    Attributes
    ----------
    turns
        How many there have been.
    write_units
        What each cost, as far as the meter was on.
    """

    def __init__(self, bench: Bench, durability: Durability, *, leased: bool) -> None:
        self._bench, self._durability, self._leased = bench, durability, leased
        self._thread = some_id("thread")
        self.meter = Meter(sizes=new_client(), indexed={})
        self._other_seconds = 0.0
        self._leave_out(bench.client._endpoint, "_send_request")  # noqa: SLF001 - below it is the mock
        self._leave_out(self.meter, "_before")
        self._leave_out(self.meter, "_after")
        self.meter.serialize(self.meter.sizes, bench.client)
        self.turns = 0
        self.write_units: dict[int, float] = {}

    async def say(self) -> None:
        """Do one turn."""
        self.turns += 1
        self.meter.reset()
        configurable: dict[str, Any] = {"thread_id": self._thread}
        if self._leased:
            configurable |= {"run_id": some_id(f"run {self.turns}"), "lease_number": self.turns}
        graph = chat().compile(checkpointer=self._bench.saver)
        turn = {"messages": [question(self.turns)]}
        await graph.ainvoke(turn, {"configurable": configurable}, durability=self._durability)
        self.write_units[self.turns] = sum(call.wcu for call in self.meter.calls)

    async def measured(self) -> "Row":
        """Do one turn and say what it cost, and what a load cost before and after it."""
        row = Row(self.turns + 1)
        row.warm_read_units, _ = self._load(self._bench.saver)
        self.meter.latency = LATENCY
        # What the mock holds would be looked through in the middle of the turn; no real client has it.
        gc.collect()
        gc.freeze()
        cpu, other = time.process_time(), self._other_seconds
        await self.say()
        row.cpu = (time.process_time() - cpu) - (self._other_seconds - other)
        row.requests, row.write_units = len(self.meter.calls), self.write_units[self.turns]
        row.written = sum(call.written for call in self.meter.calls)
        turn_trips = self.meter.rounds()
        row.cold_read_units, cold_trips = self._load(self._bench.cold())
        self.meter.latency = 0
        row.round_trips = (turn_trips, cold_trips)
        return row

    def _load(self, saver: BaseCheckpointSaver[Any]) -> tuple[float, int]:
        self.meter.reset()
        saver.get_tuple({"configurable": {"thread_id": self._thread}})
        return sum(call.rcu for call in self.meter.calls), self.meter.rounds()

    def _leave_out(self, owner: Any, name: str) -> None:
        """Count the processor time that goes into the mock and the meter, which a real client does not spend."""
        call = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            before = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self._other_seconds += time.thread_time() - before

        setattr(owner, name, timed)


async def measure(name: str, durability: Durability, turns: Sequence[int], *, leased: bool) -> list[Row]:
    """Run one chat, measure the turns asked for, and go on for as long as the last one's mean needs."""
    bench = SAVERS[name]()
    talk = Chat(bench, durability, leased=leased)
    rows: list[Row] = []
    failed = ""
    try:
        while talk.turns < turns[-1] + PERIOD - 1:
            turn = talk.turns + 1
            with ExitStack() as metered:
                if any(first <= turn < first + PERIOD for first in turns):
                    metered.enter_context(talk.meter.on(bench.client))
                if turn in turns:
                    rows.append(await talk.measured())
                else:
                    await talk.say()
    except Exception as error:  # noqa: BLE001 - which, is the result
        failed = f"fails at turn {talk.turns}: {type(error).__name__}"
    for row in rows:
        units = (talk.write_units.get(turn) for turn in range(row.turn, row.turn + PERIOD))
        row.mean_write_units = mean(each for each in units if each is not None)
    return rows + [Row(turn, failed=failed) for turn in turns[len(rows) :]]


def targets(rows: Sequence[Row], new_bytes: int) -> list[str]:
    """Hold our rows against what the product must reach."""
    by_turn = {row.turn: row for row in rows}
    first, last = by_turn[10], rows[-1]
    limit = 1.5 * ceil(new_bytes / WRITE_UNIT) + 1
    most = max(row.mean_write_units for row in rows)
    growth = last.mean_write_units / first.mean_write_units
    lines = [
        f"requests a turn: {max(row.requests for row in rows)} (at most 3)",
        f"WCU, mean of {PERIOD} turns: {most:.2f} (at most {limit:g})",
        f"the same at turn {last.turn}: {growth:.2f} times turn 10's (at most 1.1)",
        f"warm RCU: {max(row.warm_read_units for row in rows):g} (at most 8)",
    ]
    for row in rows:
        whole = ceil(compressed_history(row.turn) / READ_UNIT)
        lines.append(f"cold RCU at turn {row.turn}: {row.cold_read_units:g} (at most {1.5 * whole + 4:g})")
    trips = max(row.round_trips[0] for row in rows)
    lines.append(
        f"round trips: {trips} a turn, one to load and one to save; {max(r.round_trips[1] for r in rows)} cold"
    )
    return lines


def packed_turn(number: int) -> bytes:
    serde = JsonPlusSerializer()
    return b"".join(serde.dumps_typed(message)[1] for message in (question(number), answer(number)))


def compressed_history(turns: int) -> int:
    return len(zlib.compress(b"".join(map(packed_turn, range(1, turns + 1))), 9))


def quicken_the_mock() -> None:
    """Let the mock compare keys as they are: it sorts all it holds for each query, and every key here is a text."""
    DynamoType.__lt__ = lambda self, other: self.value < other.value
    DynamoType.__eq__ = lambda self, other: self.type == other.type and self.value == other.value


def show(name: str, durability: str, rows: Sequence[Row]) -> None:
    for row in rows:
        cells = [name, durability, f"{row.turn}"]
        if row.failed:
            cells += [row.failed, *[""] * 7]
        else:
            cells += [
                f"{row.requests}",
                f"{row.written:,}",
                f"{row.write_units:g}",
                f"{row.mean_write_units:.2f}",
                f"{row.cold_read_units:g}",
                f"{row.warm_read_units:g}",
                f"{row.round_trips[0]} / {row.round_trips[1]}",
                f"{1_000 * row.cpu:.0f}",
            ]
        print("| " + " | ".join(cells) + " |", flush=True)


HEADINGS = (
    "saver",
    "durability",
    "turn",
    "requests",
    "bytes written",
    "WCU",
    f"WCU, mean of {PERIOD} turns",
    "RCU cold",
    "RCU warm",
    "round trips: turn / cold load",
    "client CPU ms",
)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.checkpoint_cost", description="What a turn costs.")
    parser.add_argument("--quick", action="store_true", help="stop at turn 100")
    parser.add_argument("--saver", action="append", choices=[*SAVERS], help="only these; all by default")
    parser.add_argument("--durability", action="append", choices=["exit", "async"], help="only these; both by default")
    parser.add_argument("--leased", action="store_true", help="with run ids and lease numbers, as the product does")
    options = parser.parse_args(arguments)
    turns = QUICK_TURNS if options.quick else TURNS
    new_bytes = len(packed_turn(5))
    print(f"A turn adds {new_bytes} bytes of messages, {compressed_history(400) / 400:.0f} when all are compressed.\n")
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + " --- |" * len(HEADINGS))
    quicken_the_mock()
    # What the packaged saver logs when it fails is in the table.
    logging.disable(logging.CRITICAL)
    # The first run of any graph pays for imports.
    chat().compile().invoke({"messages": [question(1)]})
    kept: Sequence[Row] = ()
    for name in options.saver or SAVERS:
        for durability in options.durability or ("exit", "async"):
            with mock_aws():
                rows = asyncio.run(measure(name, durability, turns, leased=options.leased))
            show(name, durability, rows)
            if (name, durability) == ("ours", "exit"):
                kept = rows
    if kept and not any(row.failed for row in kept):
        print("\n" + "\n".join(f"- {line}" for line in targets(kept, new_bytes)))


if __name__ == "__main__":
    main(sys.argv[1:])
