"""What only the document rows on DynamoDB have: items, requests and failures."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.domain.documents import document_id_for
from shared.domain.errors import StoreError
from shared.domain.ids import UserId
from tests.fakes.dynamodb import mocked_dynamodb, no_pause, tapped

ANNA = UserId("anna")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "users/anna/uploads/notes.pdf"
MOMENT = "2026-03-01T12:00:00.000000+00:00"


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


@pytest.fixture
def wire(client):
    with tapped(client) as wire:
        yield wire


@pytest.fixture
def documents(client):
    return DynamoDocuments(client, "memory", pause=no_pause)


def item(client):
    (item,) = client.scan(TableName="memory")["Items"]
    return item


def upload(documents, sequencer="0A", version_id: str | None = "v1", now=AT):
    return documents.record_upload(ANNA, KEY, version_id=version_id, sequencer=sequencer, size=5, now=now)


async def test_an_upload_is_a_pending_row(documents, client, wire):
    document = await upload(documents)

    assert document == document_id_for(ANNA, KEY)
    assert item(client) == {
        "pk": {"S": "anna"},
        "sk": {"S": f"!document!{document}"},
        "schema_version": {"N": "1"},
        "status": {"S": "PENDING"},
        "object_key": {"S": KEY},
        "object_version": {"S": "v1"},
        "size": {"N": "5"},
        "sequencer": {"S": "0A".ljust(64, "0")},
        "created_at": {"S": MOMENT},
        "updated_at": {"S": MOMENT},
    }
    assert wire.counts["UpdateItem"] == 1
    assert wire.counts["GetItem"] == 0


async def test_a_newer_upload_replaces_what_is_known_of_the_object(documents, client):
    await upload(documents)
    await upload(documents, "0B", version_id=None, now=AT + timedelta(hours=1))

    found = item(client)
    assert "object_version" not in found
    assert found["created_at"]["S"] == MOMENT < found["updated_at"]["S"]


async def test_a_deletion_leaves_a_marker_with_nothing_of_the_document_and_an_end(documents, client):
    await upload(documents)
    await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)

    found = item(client)
    assert set(found) == {"pk", "sk", "schema_version", "status", "sequencer", "updated_at", "ttl"}
    assert found["status"] == {"S": "DELETED"}
    # Events live two weeks in a queue at most.
    assert int(found["ttl"]["N"]) > (AT + timedelta(days=28)).timestamp()

    await upload(documents, "0C", now=AT + timedelta(hours=1))
    assert "ttl" not in item(client)
    assert item(client)["created_at"] == item(client)["updated_at"]


async def test_an_event_that_comes_again_does_not_start_a_processed_document_over(documents, client):
    document = await upload(documents)
    client.put_item(TableName="memory", Item={**item(client), "status": {"S": "READY"}})

    assert await upload(documents, now=AT + timedelta(hours=1)) == document

    assert (item(client)["status"], item(client)["updated_at"]) == ({"S": "READY"}, {"S": MOMENT})


async def test_an_answer_that_was_lost_changes_nothing(documents, wire):
    wire.lose_answer("UpdateItem")
    assert await upload(documents) is not None
    wire.lose_answer("UpdateItem")
    assert await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT) is True


async def test_a_failure_is_an_error(documents, wire):
    wire.fail("UpdateItem", "InternalServerError", times=2)
    with pytest.raises(StoreError):
        await upload(documents)
    with pytest.raises(StoreError):
        await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)
