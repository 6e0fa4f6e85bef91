import json
import threading
from datetime import UTC, datetime

import boto3
import pytest
from botocore.stub import ANY, Stubber

from shared.adapters.events import EventBridgeTurnEvents
from shared.domain.errors import StoreError
from shared.domain.events import DETAIL_TYPE, SOURCE, TurnEnded

EVENT = TurnEnded(
    user_id="u1",
    thread_id="11111111-1111-4111-8111-111111111111",
    run_id="22222222-2222-4222-8222-222222222222",
    human_message_id="m-3",
    human_count=3,
    ended_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
    outcome="completed",
)
TAKEN = {"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]}
REFUSED = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "slow down"}]}
EXPECTED = {"Entries": ANY}


@pytest.fixture
def client():
    return boto3.client("events", region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test")


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def adapter(client, pauses):
    async def pause(seconds):
        pauses.append(seconds)

    return EventBridgeTurnEvents(client, "bus-1", pause=pause)


async def test_the_entry_is_what_the_rule_matches_and_the_consumer_reads(client, adapter, pauses):
    sent = []
    client.meta.events.register("before-parameter-build.events.PutEvents", lambda params, **_: sent.append(params))
    with Stubber(client) as stub:
        stub.add_response("put_events", TAKEN, EXPECTED)
        await adapter.publish(EVENT)
    (entry,) = sent[0]["Entries"]
    assert (entry["Source"], entry["DetailType"], entry["EventBusName"]) == (SOURCE, DETAIL_TYPE, "bus-1")
    assert TurnEnded.model_validate_json(entry["Detail"]) == EVENT
    assert set(json.loads(entry["Detail"])) == set(TurnEnded.model_fields), "ids only"
    assert pauses == []


async def test_a_failed_entry_in_a_200_is_tried_again(client, adapter, pauses):
    # AWS09: PutEvents answers 200 for what it did not take.
    with Stubber(client) as stub:
        stub.add_response("put_events", REFUSED, EXPECTED)
        stub.add_response("put_events", TAKEN, EXPECTED)
        await adapter.publish(EVENT)
        stub.assert_no_pending_responses()
    assert len(pauses) == 1


async def test_an_entry_that_is_refused_every_time_is_an_error(client, adapter, pauses):
    with Stubber(client) as stub:
        for _ in range(3):
            stub.add_response("put_events", REFUSED, EXPECTED)
        with pytest.raises(StoreError):
            await adapter.publish(EVENT)
        stub.assert_no_pending_responses()
    assert len(pauses) == 2
    assert all(0 <= pause < 1 for pause in pauses)


async def test_an_error_that_the_sdk_has_retried_is_not_retried_again(client, adapter, pauses):
    with Stubber(client) as stub:
        stub.add_client_error("put_events", "InternalException", http_status_code=500)
        with pytest.raises(StoreError):
            await adapter.publish(EVENT)
    assert pauses == []


async def test_a_bus_that_does_not_answer_holds_no_reply_open():
    answered = threading.Event()

    class Silent:
        def put_events(self, **_):
            answered.wait()

    try:
        with pytest.raises(StoreError):
            await EventBridgeTurnEvents(Silent(), "bus-1", limit_seconds=0).publish(EVENT)
    finally:
        answered.set()
