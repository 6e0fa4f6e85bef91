"""Recorded batches of object events, and the queue's own messages, through the app."""

import copy
import json
from pathlib import Path
from urllib.parse import quote_plus

import pytest

from functions.kb_ingest.app import Ingestion, handler_of
from shared.domain import counters
from shared.domain.errors import MalformedEventError, ModelThrottledError, StoreError
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep, UserRemoval
from shared.domain.kb.states import DocumentState
from tests.fakes.knowledge import KnowledgeBase

EVENTS = Path(__file__).parents[2] / "events"
USER = "d3b07384-d113-4ec6-a5d1-2f5b8a1c9e77"
NAME = "c++ notes über 100% fertig.pdf"
KEY = f"users/{USER}/uploads/{NAME}"
SECRET = "my-secret-is-blue-cheese"
TEXT = f"# About\n\nThe heron stands in the water. {SECRET}\n".encode()


def recorded(name):
    return json.loads((EVENTS / name).read_text())


BATCH = recorded("object_events_batch.json")
CREATED, DELETED = (json.loads(record["body"]) for record in BATCH["Records"])
FIRST, SECOND = (record["messageId"] for record in BATCH["Records"])


def batch(*bodies, deliveries=1):
    event = {"Records": []}
    for index, body in enumerate(bodies):
        record = copy.deepcopy(BATCH["Records"][0])
        record["messageId"] = f"m-{index}"
        record["attributes"]["ApproximateReceiveCount"] = str(deliveries)
        record["body"] = body if isinstance(body, str) else json.dumps(body)
        event["Records"].append(record)
    return event


def created(**thing):
    event = copy.deepcopy(CREATED)
    event["detail"]["object"] |= thing
    return event


class World(KnowledgeBase):
    def __init__(self):
        super().__init__()
        version = CREATED["detail"]["object"]["version-id"]
        self.objects.kept[KEY] = [(version, TEXT)]

    def handler(self, metrics=None):
        if metrics is not None:
            self.metrics = metrics
        return handler_of(
            Ingestion(
                uploads=self.uploads, runner=self.runner, removal=self.removal, metrics=self.metrics, deliveries=5
            )
        )

    def status(self, key=KEY):
        record = self.documents.of_key(USER, key)
        return None if record is None else record.state

    def message(self, kind, **fields):
        record = self.documents.of_key(USER, KEY)
        message = kind(user_id=USER, document_id=record.id, run=record.run, **fields)
        return message.model_dump(by_alias=True)


@pytest.fixture
def world():
    return World()


def test_an_upload_becomes_searchable(world, context):
    assert world.handler()(batch(CREATED), context) == {"batchItemFailures": []}
    record = world.documents.of_key(USER, KEY)
    assert (record.state, record.name, record.size) == (DocumentState.READY, NAME, 1305107)
    assert record.object_version == CREATED["detail"]["object"]["version-id"]
    assert world.metrics.counts[counters.UPLOAD_RECORDED] == world.metrics.counts[counters.DOCUMENT_READY] == 1


def test_a_deletion_takes_it_back(world, context):
    world.handler()(BATCH, context)
    assert world.status() is None
    assert (world.index.kept[USER], world.pages.kept) == ({}, {})
    assert world.metrics.counts[counters.UPLOAD_REMOVED] == 1


def test_events_of_one_object_may_come_in_any_order_and_twice(world, context):
    # A deletion that arrives before its upload leaves nothing behind.
    world.handler()(batch(DELETED, CREATED, CREATED, DELETED), context)
    assert world.status() is None
    assert world.index.kept == {}
    assert world.metrics.counts[counters.UPLOAD_EVENT_LATE] == 2


def test_a_later_upload_of_the_same_name_counts(world, context):
    version = world.objects.put(KEY, b"Only the egret.")
    later = created(sequencer="0062E99A88DC4075", size=7, **{"version-id": version})
    world.handler()(batch(DELETED, later), context)
    assert (world.documents.of_key(USER, KEY).size, world.status()) == (7, DocumentState.READY)


@pytest.mark.parametrize("event", [CREATED, recorded("s3_notification.json")], ids=["announced", "notified"])
@pytest.mark.parametrize("wrap", [batch, lambda event: event], ids=["queued", "direct"])
def test_both_shapes_name_the_same_object_with_and_without_a_queue(world, context, event, wrap):
    world.handler()(wrap(event), context)
    assert world.status() is not None


@pytest.mark.parametrize(
    "name",
    [
        "two  spaces and a space ",
        "c++ + notes.md",
        "100%.md",
        "%2F%2B+%20.md",
        "über 日本語 😀.md",
        "e\u0301 decomposed.md",
        "folder/in a+folder/notes.md",
        "a//b.md",
        "quote'\"<>&?#=.md",
    ],
)
@pytest.mark.parametrize("through", ["EventBridge", "S3 itself"])
def test_a_key_is_the_object_s_own_whatever_is_in_it(world, context, name, through):
    key = f"users/{USER}/uploads/{name}"
    version = world.objects.put(key, TEXT)
    event = created(key=key, **{"version-id": version})
    if through == "S3 itself":
        event = recorded("s3_notification.json")
        event["Records"][0]["s3"]["object"] |= {"key": quote_plus(key), "versionId": version}
    assert world.handler()(batch(event), context) == {"batchItemFailures": []}
    record = world.documents.of_key(USER, key)
    assert (record.state, record.key, record.name) == (DocumentState.READY, key, name.rpartition("/")[2])


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


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "null",
        "[]",
        {"source": "everthread.chat"},
        {"kind": "other"},
        {"kind": "remove_user"},
        created(sequencer="no number"),
    ],
)
def test_only_what_cannot_be_understood_is_handed_back(world, context, body):
    assert world.handler()(batch(body, CREATED), context) == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert world.status() is DocumentState.READY


def test_a_database_that_cannot_answer_hands_everything_back(world, context):
    world.documents.failure = StoreError("down")
    failed = world.handler()(BATCH, context)["batchItemFailures"]
    assert [each["itemIdentifier"] for each in failed] == [FIRST, SECOND]


def test_a_bad_event_without_a_queue_is_raised(world, context):
    with pytest.raises(MalformedEventError):
        world.handler()({"source": "somebody"}, context)


def test_a_step_takes_the_document_on(world, context):
    world.embedder.failures["embed"] = ModelThrottledError("slow down")
    world.handler()(batch(CREATED), context)
    assert world.status() is DocumentState.EMBEDDING
    world.embedder.failures.clear()
    step, _ = world.queue.steps[0]
    assert world.handler()(batch(step.model_dump(by_alias=True)), context) == {"batchItemFailures": []}
    assert world.status() is DocumentState.READY


def test_how_long_there_is_comes_from_the_platform(world, context):
    context.get_remaining_time_in_millis = lambda: 29_000
    world.handler()(batch(CREATED), context)
    assert world.status() is DocumentState.EMBEDDING
    assert [wait for _, wait in world.queue.steps] == [0]


def test_a_removal_removes_the_object_too(world, context):
    world.handler()(batch(CREATED), context)
    world.handler()(batch(world.message(DocumentRemoval, key=KEY)), context)
    assert (world.status(), world.objects.kept, world.index.kept[USER]) == (None, {}, {})


def test_a_user_s_removal_removes_everything_of_theirs_and_may_come_twice(world, context):
    # DL04
    world.handler()(batch(CREATED), context)
    message = UserRemoval(user_id=USER).model_dump(by_alias=True)
    other = UserRemoval(user_id="somebody-else").model_dump(by_alias=True)
    world.handler()(batch(other), context)
    assert world.status() is DocumentState.READY
    for _ in range(2):
        assert world.handler()(batch(message), context) == {"batchItemFailures": []}
    assert (world.status(), world.objects.kept, world.index.kept.get(USER, {})) == (None, {}, {})


def test_a_user_s_removal_that_failed_is_delivered_again(world, context):
    world.handler()(batch(CREATED), context)
    world.pages.failures["purge"] = StoreError("down")
    message = UserRemoval(user_id=USER).model_dump(by_alias=True)
    assert world.handler()(batch(message), context)["batchItemFailures"]
    world.pages.failures.clear()
    assert world.handler()(batch(message), context) == {"batchItemFailures": []}
    assert world.documents.records == {}


@pytest.mark.parametrize("own", [True, False], ids=["step", "event"])
def test_with_the_last_delivery_the_document_is_given_up_and_its_owner_told(world, context, own):
    world.index.failures["upsert"] = StoreError("down")
    assert world.handler()(batch(CREATED, deliveries=4), context)["batchItemFailures"]
    assert world.status() is DocumentState.EMBEDDING
    event = world.message(IngestionStep) if own else CREATED
    assert world.handler()(batch(event, deliveries=5), context) == {"batchItemFailures": []}
    record = world.documents.of_key(USER, KEY)
    assert (record.state, bool(record.reason)) == (DocumentState.FAILED, True)
    assert world.metrics.counts[counters.DOCUMENT_GIVEN_UP] == 1


@pytest.mark.parametrize("fault", [None, "malformed", "store", "bug", "parser"])
def test_no_file_name_and_nothing_of_a_document_gets_into_the_logs(world, deployed, fault):
    # Habit 14
    name = created(key=f"users/{USER}/uploads/{SECRET}.pdf")
    world.objects.kept[f"users/{USER}/uploads/{SECRET}.pdf"] = world.objects.kept[KEY]
    if fault == "store":
        world.documents.failure = StoreError(SECRET)
    if fault == "bug":
        world.documents.failure = ZeroDivisionError(SECRET)
    if fault == "parser":
        world.objects.kept[KEY] = [(CREATED["detail"]["object"]["version-id"], b"%PDF-1.7 " + SECRET.encode() * 99)]
    event = batch(name, SECRET if fault == "malformed" else CREATED)
    deployed.invoke(world.handler(deployed.metrics), event)
    assert (deployed.failure is not None) == (fault == "bug")
    printed = deployed.printed()
    assert '"level"' in printed
    assert SECRET not in printed
    assert "heron" not in printed
