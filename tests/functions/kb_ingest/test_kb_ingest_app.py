"""Recorded batches of object events, through the app."""

import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from functions.kb_ingest.app import handler_of
from shared.domain import counters
from shared.domain.errors import MalformedEventError, StoreError
from shared.services.ingest_documents import IngestDocuments
from tests.fakes.clock import FixedClock
from tests.fakes.documents import InMemoryDocuments
from tests.fakes.metrics import CountingMetrics

EVENTS = Path(__file__).parents[2] / "events"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BUCKET = "everthread-uploads"
USER = "d3b07384-d113-4ec6-a5d1-2f5b8a1c9e77"
KEY = f"users/{USER}/uploads/c++ notes über 100% fertig.pdf"
SECRET = "my-secret-is-blue-cheese"


def recorded(name):
    return json.loads((EVENTS / name).read_text())


BATCH = recorded("object_events_batch.json")
CREATED, DELETED = (json.loads(record["body"]) for record in BATCH["Records"])
FIRST, SECOND = (record["messageId"] for record in BATCH["Records"])


def batch(*bodies):
    event = {"Records": []}
    for index, body in enumerate(bodies):
        record = copy.deepcopy(BATCH["Records"][0])
        record["messageId"] = f"m-{index}"
        record["body"] = body if isinstance(body, str) else json.dumps(body)
        event["Records"].append(record)
    return event


def created(**thing):
    event = copy.deepcopy(CREATED)
    event["detail"]["object"] |= thing
    return event


class World:
    def __init__(self):
        self.documents = InMemoryDocuments()
        self.metrics = CountingMetrics()

    def handler(self, metrics=None):
        metrics = metrics or self.metrics
        service = IngestDocuments(documents=self.documents, clock=FixedClock(NOW), metrics=metrics, bucket=BUCKET)
        return handler_of(service, metrics)

    def status(self, key=KEY):
        record = self.documents.of_key(USER, key)
        return None if record is None else record.state


@pytest.fixture
def world():
    return World()


def test_an_upload_gets_a_pending_row(world, context):
    # KB06 in this version: the row is there before anything is parsed.
    assert world.handler()(batch(CREATED), context) == {"batchItemFailures": []}
    record = world.documents.of_key(USER, KEY)
    version = CREATED["detail"]["object"]["version-id"]
    assert (record.state, record.size, record.object_version) == ("PENDING", 1305107, version)
    assert world.metrics.counts[counters.UPLOAD_RECORDED] == 1


def test_a_deletion_takes_it_back(world, context):
    world.handler()(BATCH, context)
    assert world.status() is None
    assert world.metrics.counts[counters.UPLOAD_REMOVED] == 1


def test_events_of_one_object_may_come_in_any_order_and_twice(world, context):
    # A deletion that arrives before its upload leaves nothing behind.
    world.handler()(batch(DELETED, CREATED, CREATED, DELETED), context)
    assert world.status() is None
    assert world.metrics.counts[counters.UPLOAD_EVENT_LATE] == 2


def test_a_later_upload_of_the_same_name_counts(world, context):
    world.handler()(batch(DELETED, created(sequencer="0062E99A88DC4075", size=7)), context)
    assert world.documents.of_key(USER, KEY).size == 7


@pytest.mark.parametrize("event", [CREATED, recorded("s3_notification.json")], ids=["announced", "notified"])
@pytest.mark.parametrize("wrap", [batch, lambda event: event], ids=["queued", "direct"])
def test_both_shapes_name_the_same_object_with_and_without_a_queue(world, context, event, wrap):
    world.handler()(wrap(event), context)
    assert world.status() == "PENDING"


@pytest.mark.parametrize(
    "event",
    [
        created(key=f"users/{USER}/uploads/folder/"),
        created(key=f"users/{USER}/exports/all.json"),
        created(key="notes.pdf"),
        {**CREATED, "detail": {**CREATED["detail"], "bucket": {"name": "another-bucket"}}},
    ],
)
def test_what_is_no_user_s_upload_is_ignored(world, context, event):
    assert world.handler()(batch(event), context) == {"batchItemFailures": []}
    assert world.documents.records == {}
    assert world.metrics.counts[counters.UPLOAD_EVENT_IGNORED] == 1


@pytest.mark.parametrize("body", ["", "{", "null", "[]", {"source": "everthread.chat"}, created(sequencer="no number")])
def test_only_what_cannot_be_understood_is_handed_back(world, context, body):
    assert world.handler()(batch(body, CREATED), context) == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert world.status() == "PENDING"


def test_a_database_that_cannot_answer_hands_everything_back(world, context):
    world.documents.failure = StoreError("down")
    failed = world.handler()(BATCH, context)["batchItemFailures"]
    assert [each["itemIdentifier"] for each in failed] == [FIRST, SECOND]


def test_a_bad_event_without_a_queue_is_raised(world, context):
    with pytest.raises(MalformedEventError):
        world.handler()({"source": "somebody"}, context)


@pytest.mark.parametrize("fault", [None, "malformed", "store", "bug"])
def test_no_file_name_gets_into_the_logs(world, deployed, fault):
    # Habit 14
    name = created(key=f"users/{USER}/uploads/{SECRET}.pdf")
    if fault == "store":
        world.documents.failure = StoreError(SECRET)
    if fault == "bug":
        world.documents.failure = ZeroDivisionError(SECRET)
    event = batch(name, SECRET if fault == "malformed" else name)
    deployed.invoke(world.handler(deployed.metrics), event)
    assert (deployed.failure is not None) == (fault == "bug")
    printed = deployed.printed()
    assert '"level"' in printed
    assert SECRET not in printed
