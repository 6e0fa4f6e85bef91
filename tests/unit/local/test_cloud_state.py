"""What a start makes of the state that the last one left."""

import json

import pytest

from local.cloud.address import CloudAddress
from local.cloud.emulator import discard_scratch
from local.cloud.state import forget_unfinished, move
from local.layout import Layout

QUEUE = "http://localhost:4566/000000000000/everthread-local-service-PurgesQueue"


@pytest.fixture
def layout(tmp_path):
    """A state as a deployment leaves it."""
    made = Layout(tmp_path)
    made.prepare()
    made.cloud_state.mkdir()
    made.outputs.write_text(json.dumps({"Service": {"PurgeQueueUrl": QUEUE}}))
    made.deployed.write_text("digest")
    (made.cloud / "s3").mkdir()
    for service in ("sqs", "lambda", "cloudformation", "dynamodb"):
        (made.cloud_state / f"{service}.json").write_text(json.dumps({"payload": {QUEUE: {"QueueUrl": QUEUE}}}))
    return made


def stored(layout, service):
    return json.loads((layout.cloud_state / f"{service}.json").read_text())


@pytest.mark.parametrize("service", ["sqs", "lambda", "cloudformation"])
def test_queues_move_with_the_port(layout, service):
    move(layout, CloudAddress(5000))
    new = QUEUE.replace("4566", "5000")
    assert stored(layout, service) == {"payload": {new: {"QueueUrl": new}}}
    assert json.loads(layout.outputs.read_text()) == {"Service": {"PurgeQueueUrl": new}}


def test_what_people_have_written_stays_as_it_is(layout):
    before = stored(layout, "dynamodb")
    move(layout, CloudAddress(5000))
    assert stored(layout, "dynamodb") == before


def test_nothing_is_written_when_the_port_is_the_same(layout):
    before = {path: path.stat().st_ino for path in layout.state.rglob("*")}
    move(layout, CloudAddress(4566))
    assert {path: path.stat().st_ino for path in layout.state.rglob("*")} == before


def test_a_deployment_that_stands_is_kept(layout):
    forget_unfinished(layout)
    assert layout.deployed.exists()
    assert stored(layout, "dynamodb")


@pytest.mark.parametrize("lost", ["outputs.json", "cloud/state/cloudformation.json"])
def test_what_an_interrupted_first_deployment_leaves_is_forgotten(layout, lost):
    (layout.state / lost).unlink()
    layout.user.write_text("{}")
    forget_unfinished(layout)
    assert list(layout.cloud.iterdir()) == []
    assert not layout.outputs.exists()
    assert not layout.deployed.exists()
    assert layout.user.exists()


def test_scratch_is_empty_at_once_and_what_was_in_it_goes(layout):
    (layout.scratch / "worker").mkdir()
    (layout.scratch / "worker" / "module.py").write_text("left")
    (layout.trash / "earlier").mkdir(parents=True)
    removal = discard_scratch(layout)
    assert list(layout.scratch.iterdir()) == []
    removal.join()
    assert not layout.trash.exists()
