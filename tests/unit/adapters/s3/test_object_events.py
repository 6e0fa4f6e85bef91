"""Both of S3's ways of telling, from recorded events."""

import copy
import json
from pathlib import Path

import pytest

from shared.adapters.s3.object_events import object_changes_in
from shared.domain.errors import MalformedEventError
from shared.domain.uploads import ObjectChange

EVENTS = Path(__file__).parents[3] / "events"
KEY = "users/d3b07384-d113-4ec6-a5d1-2f5b8a1c9e77/uploads/c++ notes über 100% fertig.pdf"
CREATED = ObjectChange(
    kind="created",
    bucket="everthread-uploads",
    key=KEY,
    sequencer="0062E99A88DC407460",
    version_id="IYV3p45BT0ac8hjHg1houSdS1a.Mro8e",
    size=1305107,
)


def recorded(name):
    return json.loads((EVENTS / name).read_text())


def notification(event_name, **thing):
    event = recorded("s3_notification.json")
    event["Records"][0]["eventName"] = event_name
    event["Records"][0]["s3"]["object"] |= thing
    return event


def test_through_eventbridge_the_key_is_the_key():
    # A decoded "c++ notes.pdf" would be another object.
    assert list(object_changes_in(recorded("object_created.json"))) == [CREATED]


def test_a_notification_s_key_is_url_encoded():
    # AWS18
    assert list(object_changes_in(recorded("s3_notification.json"))) == [CREATED]


def test_a_percent_sign_that_belongs_to_the_key_stays():
    event = recorded("object_created.json")
    event["detail"]["object"]["key"] = "users/u/uploads/100%25.pdf"
    (change,) = object_changes_in(event)
    assert change.key == "users/u/uploads/100%25.pdf"


def test_a_deletion_is_of_the_object_not_of_a_version():
    (change,) = object_changes_in(recorded("object_deleted.json"))
    assert change == ObjectChange(kind="deleted", bucket="everthread-uploads", key=KEY, sequencer="0062E99A88DC407461")


@pytest.mark.parametrize("event_name", ["ObjectRemoved:DeleteMarkerCreated", "LifecycleExpiration:DeleteMarkerCreated"])
def test_a_delete_marker_is_a_deletion(event_name):
    (change,) = object_changes_in(notification(event_name))
    assert change.kind == "deleted"


def test_an_old_version_that_expires_is_no_deletion():
    # The bucket is versioned and drops old versions by its lifecycle: the document is still there.
    announced = recorded("object_deleted.json")
    announced["detail"]["deletion-type"] = "Permanently Deleted"
    assert list(object_changes_in(announced)) == []
    assert list(object_changes_in(notification("LifecycleExpiration:Delete"))) == []


def test_without_versions_a_permanent_deletion_is_one():
    announced = recorded("object_deleted.json")
    announced["detail"]["deletion-type"] = "Permanently Deleted"
    del announced["detail"]["object"]["version-id"]
    assert [change.kind for change in object_changes_in(announced)] == ["deleted"]


@pytest.mark.parametrize(
    "event",
    [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "everthread-uploads"},
        notification("ObjectTagging:Put"),
        notification("ObjectRestore:Completed"),
        {**recorded("object_created.json"), "detail-type": "Object Tags Added"},
    ],
)
def test_what_says_nothing_of_an_object_s_being_there_is_no_change(event):
    assert list(object_changes_in(event)) == []


def broken(change):
    event = copy.deepcopy(recorded("object_created.json"))
    change(event["detail"])
    return event


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"source": "everthread.chat"},
        {"Records": ["text"]},
        {"Records": [{"eventSource": "aws:sns"}]},
        broken(lambda detail: detail.pop("bucket")),
        broken(lambda detail: detail["object"].pop("sequencer")),
        broken(lambda detail: detail["object"].update(key="")),
        broken(lambda detail: detail.update(object=None)),
    ],
)
def test_what_is_not_s3_s_is_refused(event):
    with pytest.raises(MalformedEventError):
        list(object_changes_in(event))
