"""What only the document rows on DynamoDB have: items, requests and failures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.domain.documents import document_id_for
from shared.domain.errors import StoreError
from shared.domain.ids import UserId
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.states import DocumentState
from tests.fakes.dynamodb import no_pause

ANNA = UserId("anna")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "users/anna/uploads/notes.pdf"
EVERYTHING = {
    "state": DocumentState.PREPARED,
    "reason": "Some pages could not be read.",
    "kind": DocumentKind.PDF,
    "reading": 1,
    "pages": 2,
    "pages_done": 2,
    "text_reading": 1,
    "chunks": 2,
    "embedded": frozenset({0}),
    "refused": frozenset({1}),
    "live_version": 1,
    "duplicate_of": document_id_for(ANNA, "other"),
}
MOMENT = "2026-03-01T12:00:00.000000+00:00"


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
        "run": {"S": "0A".ljust(64, "0")},
        "origin": {"S": "kb-upload"},
        "mode": {"S": "full"},
        "counter": {"N": "1"},
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
    document = await upload(documents)
    record = replace((await documents.get(ANNA, document)).read_anew("5a"), **EVERYTHING)
    await documents.save(ANNA, record, now=AT)
    await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)

    found = item(client)
    assert set(found) == {"pk", "sk", "schema_version", "status", "sequencer", "updated_at", "ttl", "counter"}
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
    assert await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT) == 1


async def test_a_failure_is_an_error(documents, wire):
    wire.fail("UpdateItem", "InternalServerError", times=2)
    with pytest.raises(StoreError):
        await upload(documents)
    with pytest.raises(StoreError):
        await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)


async def test_a_deletion_by_the_owner_leaves_no_more_than_one_by_the_object(documents, client):
    document = await upload(documents)
    record = replace((await documents.get(ANNA, document)).read_anew("5a"), **EVERYTHING)
    await documents.save(ANNA, record, now=AT)
    await documents.remove(ANNA, document, run=record.run, now=AT)
    assert set(item(client)) == {"pk", "sk", "schema_version", "status", "sequencer", "updated_at", "ttl", "counter"}


async def test_a_request_whose_answer_was_lost_has_taken_over(documents, wire):
    document = await upload(documents)
    record = await documents.get(ANNA, document)
    wire.lose_answer("UpdateItem")
    await documents.save(ANNA, replace(record, run="again"), now=AT, run=record.run)
    assert (await documents.get(ANNA, document)).run == "again"


async def test_a_row_that_cannot_be_understood_does_not_hide_the_others(documents, client):
    document = await upload(documents)
    client.put_item(TableName="memory", Item={**item(client), "sk": {"S": "!document!d-1"}, "kind": {"S": "scroll"}})
    assert [record.id for record in await documents.of_user(ANNA)] == [document]


async def test_the_figures_of_a_large_document_take_little_room(documents, client):
    document = await upload(documents)
    record = replace(await documents.get(ANNA, document), chunks=20_000, embedded=frozenset(range(20_000)))
    await documents.save(ANNA, record, now=AT)
    assert len(item(client)["embedded"]["B"]) == 2_500
    assert await documents.get(ANNA, document) == record
