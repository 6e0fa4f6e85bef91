"""Recorded batches of the purge queue, through the app."""

import asyncio
import copy
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from functions.purge.app import handler_of
from shared.domain import counters
from shared.domain.errors import StoreError
from shared.domain.purges import ThreadPurge
from shared.domain.threads import ThreadRow
from shared.services.purge_thread import PurgeThread
from tests.fakes.checkpoints import CountedCheckpoints
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.run_rows import InMemoryRuns
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.threads import InMemoryThreads
from tests.fakes.traces import InMemoryTraces

BATCH = json.loads((Path(__file__).parents[2] / "events" / "purge_messages.json").read_text())
FIRST, SECOND = (ThreadPurge.model_validate_json(record["body"]) for record in BATCH["Records"])
USER = FIRST.user_id
FIRST_MESSAGE, SECOND_MESSAGE = (record["messageId"] for record in BATCH["Records"])
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECRET = "my-secret-is-blue-cheese"


def batch(*bodies):
    """The recorded batch with other bodies."""
    event = copy.deepcopy(BATCH)
    for record, body in zip(event["Records"], bodies, strict=True):
        record["body"] = body
    return event


class World:
    def __init__(self):
        self.threads = InMemoryThreads()
        self.summaries = InMemorySummaries(self.threads)
        self.checkpoints = CountedCheckpoints()
        self.metrics = CountingMetrics()
        self.clock = FixedClock(NOW)

    def handler(self, metrics=None):
        async def pause(seconds):
            self.clock.advance(timedelta(seconds=seconds))

        metrics = metrics or self.metrics
        service = PurgeThread(
            threads=self.threads,
            summaries=self.summaries,
            runs=InMemoryRuns(),
            traces=InMemoryTraces(),
            checkpoints=self.checkpoints,
            clock=self.clock,
            metrics=metrics,
            tombstone_for=timedelta(days=90),
            patience=timedelta(seconds=10),
            pause=pause,
        )
        return handler_of(service, metrics)

    async def deleted_threads(self):
        for request in (FIRST, SECOND):
            await self.threads.create(
                ThreadRow(
                    user_id=USER,
                    thread_id=request.thread_id,
                    created_at=NOW,
                    updated_at=NOW,
                    last_message_at=NOW,
                    title=SECRET,
                    preview=SECRET,
                )
            )
            self.checkpoints.left[USER, request.thread_id] = 3

    async def mark(self):
        for request in (FIRST, SECOND):
            await self.threads.mark_deleting(USER, request.thread_id, now=NOW)


@pytest.fixture
def world():
    world = World()
    asyncio.run(world.deleted_threads())
    return world


def test_a_batch_is_purged(world, context):
    asyncio.run(world.mark())
    assert world.handler()(BATCH, context) == {"batchItemFailures": []}
    assert world.checkpoints.left == {}


def test_only_what_failed_is_delivered_again(world, context):
    # A run still holds the first thread.
    hold = timedelta(minutes=5)
    asyncio.run(
        world.threads.acquire(USER, FIRST.thread_id, "33333333-3333-4333-8333-333333333333", now=NOW, hold=hold)
    )
    asyncio.run(world.mark())
    assert world.handler()(BATCH, context) == {"batchItemFailures": [{"itemIdentifier": FIRST_MESSAGE}]}
    assert set(world.checkpoints.left) == {(USER, FIRST.thread_id)}


def test_a_database_that_cannot_answer_fails_its_messages(world, context):
    asyncio.run(world.mark())
    world.checkpoints.failure = StoreError("down")
    failed = world.handler()(BATCH, context)["batchItemFailures"]
    assert [each["itemIdentifier"] for each in failed] == [FIRST_MESSAGE, SECOND_MESSAGE]


@pytest.mark.parametrize("body", ["", "no json", "{}", json.dumps({"userId": SECRET, "threadId": "all"})])
def test_what_is_no_purge_goes_to_the_dead_letters(world, context, body):
    asyncio.run(world.mark())
    event = batch(body, BATCH["Records"][1]["body"])
    assert world.handler()(event, context) == {"batchItemFailures": [{"itemIdentifier": FIRST_MESSAGE}]}
    assert world.metrics.counts[counters.EVENT_MALFORMED] == 1
    assert set(world.checkpoints.left) == {(USER, FIRST.thread_id)}


@pytest.mark.parametrize("fault", [None, "malformed", "store", "bug"])
def test_nothing_a_user_said_gets_into_the_logs(world, deployed, fault):
    # Habit 14
    asyncio.run(world.mark())
    event = batch(json.dumps({"userId": SECRET}), SECRET) if fault == "malformed" else BATCH
    if fault == "store":
        world.checkpoints.failure = StoreError(SECRET)
    if fault == "bug":
        world.checkpoints.failure = ZeroDivisionError(SECRET)
    deployed.invoke(world.handler(deployed.metrics), event)
    assert (deployed.failure is not None) == (fault == "bug")
    printed = deployed.printed()
    assert '"level"' in printed
    assert SECRET not in printed
