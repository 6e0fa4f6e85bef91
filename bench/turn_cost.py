"""What one turn asks of AWS: requests, how many after one another, capacity units.

    python -m bench.turn_cost [--turns 1,2,10,50,200]

The chat API with its real adapters and the real agent graph runs on a mocked AWS; the model is scripted. A question
has 377 bytes and an answer 200 words, as in the checkpointer's own bench. Beside our checkpointer the packaged one
(langgraph-checkpoint-aws) runs in the same turns, for the part that is the checkpointer's.
"""

import argparse
import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import boto3
import httpx
from langgraph_checkpoint_aws import DynamoDBSaver as PackagedSaver
from moto import mock_aws

from bench._aws_meter import Meter
from functions.chat.app import app_of
from functions.chat.wiring import Chat
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.checkpointer import checkpointer_for
from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.runs import DynamoRuns
from shared.adapters.dynamodb.schema import MEMORY_TABLE
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.dynamodb.traces import DynamoTraces
from shared.adapters.events import EventBridgeTurnEvents
from shared.adapters.http import EVENT_SCOPE_KEY
from shared.adapters.purge_queue import SqsPurgeQueue
from shared.graphs.agent import AgentDeps, AgentModels
from shared.graphs.agent.topology import TRIGGER_BACKGROUND_AGENT, build
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.runner import GraphRunner, RunTiming
from shared.services.copy_thread import CopyThread
from shared.services.follow_run import FollowRun
from shared.services.manage_runs import ManageRuns
from shared.services.manage_threads import ManageThreads
from shared.services.recall import Recall
from shared.services.record_spans import KeepTraces
from shared.services.remember import Remember
from shared.settings import ChatSettings
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.metrics import CountingMetrics
from tests.fakes.tables import create_checkpoint_table, create_memory_table

REGION = "eu-central-1"
USER = str(uuid.UUID(int=7))
QUESTION = ("How does a thread stay within the window of the model? " * 7)[:377]
ANSWER = " ".join(["token"] * 200)
LATENCY = 0.02


@dataclass
class Bench:
    """The chat API on a mocked AWS, with a meter on every client."""

    app: Any
    meter: Meter
    model_called_at: list[float]
    checkpoint_tables: frozenset[str]

    async def turn(self, client: httpx.AsyncClient, thread: str) -> dict[str, Any]:
        self.meter.reset()
        self.model_called_at.clear()
        body = {
            "assistant_id": "agent",
            "input": {"messages": [{"role": "user", "content": QUESTION, "id": str(uuid.uuid4())}]},
            "stream_mode": ["messages-tuple"],
        }
        began = time.perf_counter()
        answer = await client.post(f"/threads/{thread}/runs/stream", json=body)
        took = time.perf_counter() - began
        assert '"status":"success"' in answer.text, answer.text[-500:]
        calls, model = self.meter.calls, self.model_called_at[0]
        return {
            "requests": len(calls),
            "before": sum(call.start < model for call in calls),
            "rounds_before": self.meter.rounds(until=model),
            "rounds": self.meter.rounds(),
            "wcu": sum(call.wcu for call in calls),
            "rcu": sum(call.rcu for call in calls),
            "seconds": took,
            "operations": Counter(f"{call.service}:{call.operation}" for call in calls),
        }


@contextmanager
def bench_with(saver: str, *, spans: bool) -> Iterator[Bench]:
    with mock_aws():
        session = boto3.Session(region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x")
        clients = {name: session.client(name) for name in ("dynamodb", "events", "sqs")}
        create_memory_table(clients["dynamodb"])
        create_checkpoint_table(clients["dynamodb"])
        clients["events"].create_event_bus(Name="turns")
        queue = clients["sqs"].create_queue(QueueName="purges")["QueueUrl"]
        checkpointers: Any = partial(checkpointer_for, clients["dynamodb"], "checkpoints")
        metered = list(clients.values())
        if saver == "packaged":
            _create_packaged_table(clients["dynamodb"])
            packaged = PackagedSaver("packaged", session=session, region_name=REGION)
            metered.append(packaged.client)

            def checkpointers(_user: str) -> PackagedSaver:
                return packaged

        asked: list[float] = []
        model = ScriptedChatModel(*[_answer(asked)] * 2000)
        meter = Meter(
            sizes=session.client("dynamodb"),
            indexed={
                "memory": {index.name: (index.sort_key, *index.projected) for index in MEMORY_TABLE.local_indexes}
            },
            latency=LATENCY,
        )
        meter.serialize(meter.sizes, *metered)
        with meter.on(*metered):
            yield Bench(
                _app(clients, queue, checkpointers, model, spans=spans),
                meter,
                asked,
                frozenset({"checkpoints", "packaged"}),
            )


def _answer(asked: list[float]) -> Any:
    def answer(_request: Any) -> str:
        asked.append(time.perf_counter())
        return ANSWER

    return answer


def _create_packaged_table(client: Any) -> None:
    client.create_table(
        TableName="packaged",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
    )


def _app(clients: dict[str, Any], queue: str, checkpointers: Any, model: ScriptedChatModel, *, spans: bool) -> Any:
    settings = ChatSettings(
        memory_table="memory",
        checkpoint_table="checkpoints",
        event_bus="turns",
        purge_queue_url=queue,
        bucket="uploads",
        chat_model="scripted",
        fast_model="scripted",
        agents=("chat",),
    )
    metrics, clock = CountingMetrics(), SystemClock()
    threads = DynamoThreads(clients["dynamodb"], "memory")
    runs = DynamoRuns(clients["dynamodb"], "memory")
    profiles = DynamoProfiles(clients["dynamodb"], "memory")
    recall = Recall(profiles, DynamoSummaries(clients["dynamodb"], "memory"), metrics)
    graph = build(
        AgentDeps(
            models=AgentModels(chat=model, fast=model),
            recall=recall,
            remember=Remember(profiles, clock, settings.memory_profile_max_bytes),
            knowledge=ChatKnowledge().services(),
            threads=threads,
            metrics=metrics,
            settings=settings,
        )
    )
    runner = GraphRunner(
        graph,
        checkpointers=checkpointers,
        recall=recall,
        ports=RunPorts(
            threads=threads,
            runs=runs,
            turn_events=EventBridgeTurnEvents(clients["events"], "turns"),
            clock=clock,
            metrics=metrics,
            turn_end=TRIGGER_BACKGROUND_AGENT,
            traces=KeepTraces(DynamoTraces(clients["dynamodb"], "memory"), clock, metrics) if spans else None,
        ),
        # The mock is slow; a real turn this short is over before the first look at the lease.
        timing=RunTiming(watch_every=timedelta(minutes=5), renew_every=timedelta(minutes=5), hold=timedelta(hours=1)),
    )
    purge_queue = SqsPurgeQueue(clients["sqs"], queue)
    manage_threads = ManageThreads(threads, purge_queue, clock, metrics)
    chat = Chat(
        threads=manage_threads,
        copies=CopyThread(threads, runner, manage_threads, clock),
        runs=ManageRuns(threads, runs, clock),
        follow=FollowRun(threads, runs, clock),
        runner=runner,
        clock=clock,
        heartbeat_seconds=60,
    )
    app = app_of(chat, max_body_bytes=5_500_000)
    event = {"requestContext": {"authorizer": {"claims": {"sub": USER}}}}

    async def through_gateway(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, EVENT_SCOPE_KEY: event}, receive, send)

    return through_gateway


async def measure(bench: Bench, shown: list[int]) -> dict[int, dict[str, Any]]:
    transport = httpx.ASGITransport(bench.app)
    measured = {}
    async with httpx.AsyncClient(transport=transport, base_url="http://bench", timeout=600) as client:
        # Named, so that no call for a title is counted; that is one more model call and one write, once a thread.
        thread = (await client.post("/threads", json={"metadata": {"title": "Bench"}})).json()["thread_id"]
        for number in range(1, max(shown) + 1):
            bench.meter.latency = LATENCY if number in shown else 0.0
            cost = await bench.turn(client, thread)
            if number in shown:
                measured[number] = cost
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description="What one turn asks of AWS.")
    parser.add_argument("--turns", default="1,2,10,50,200", help="which turns of one thread to show")
    shown = [int(number) for number in parser.parse_args().turns.split(",")]
    logging.disable(logging.CRITICAL)
    print(
        f"Question {len(QUESTION)} bytes, answer {len(ANSWER.split())} words, {LATENCY * 1000:.0f} ms added a request."
    )
    for saver, spans in (("ours", True), ("ours", False), ("packaged", True)):
        print(f"\ncheckpointer: {saver}, spans: {'on' if spans else 'off'}")
        print("turn  requests  before model  rounds before  rounds    WCU    RCU")
        with bench_with(saver, spans=spans) as bench:
            try:
                measured = asyncio.run(measure(bench, shown))
            except AssertionError as error:
                print(f"      a turn failed: {error}")
                continue
        for number, cost in measured.items():
            print(
                f"{number:>4}  {cost['requests']:>8}  {cost['before']:>12}  {cost['rounds_before']:>13}"
                f"  {cost['rounds']:>6}  {cost['wcu']:>5.0f}  {cost['rcu']:>5.1f}"
            )
        operations = ", ".join(f"{name} {count}" for name, count in sorted(cost["operations"].items()))
        print(f"      the last: {operations}")


if __name__ == "__main__":
    main()
