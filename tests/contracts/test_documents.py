"""What every implementation of ``Documents`` keeps: the fake and the one on DynamoDB."""

import itertools
from datetime import UTC, datetime

import pytest

from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.domain.errors import InvalidInputError
from shared.domain.ids import UserId, parse_document_id
from shared.domain.kb.records import RunOrigin, StaleRunError
from shared.domain.kb.states import DocumentState
from tests.fakes.documents import InMemoryDocuments
from tests.fakes.dynamodb import mocked_dynamodb, no_pause

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = "users/anna/uploads/c++ notes.pdf"


@pytest.fixture(params=["fake", "dynamodb"])
def documents(request):
    if request.param == "fake":
        yield InMemoryDocuments()
        return
    with mocked_dynamodb() as client:
        yield DynamoDocuments(client, "memory", pause=no_pause)


def upload(documents, sequencer, *, user=ANNA, key=KEY):
    return documents.record_upload(user, key, version_id="v1", sequencer=sequencer, size=5, now=AT)


def delete(documents, sequencer, *, user=ANNA, key=KEY):
    return documents.record_delete(user, key, sequencer=sequencer, now=AT)


async def test_an_upload_gets_a_document_id(documents):
    document = await upload(documents, "0A")
    assert parse_document_id(document) == document


async def test_the_same_event_again_gives_the_same_id(documents):
    assert await upload(documents, "0A") == await upload(documents, "0A")
    assert await upload(documents, "0a") is not None


async def test_a_newer_upload_of_a_key_is_the_same_document(documents):
    assert await upload(documents, "0A") == await upload(documents, "0B")


async def test_an_older_upload_changes_nothing(documents):
    await upload(documents, "0B")
    assert await upload(documents, "0A") is None


async def test_sequencers_compare_after_padding_on_the_right(documents):
    await upload(documents, "00A")
    assert await upload(documents, "00A1") is not None
    assert await upload(documents, "009FFFFF") is None


async def test_a_deletion_is_taken_once_and_again(documents):
    await upload(documents, "0A")
    assert await delete(documents, "0B") == 1
    assert await delete(documents, "0B") == 1


async def test_an_older_deletion_changes_nothing(documents):
    await upload(documents, "0B")
    assert await delete(documents, "0A") is None
    assert await upload(documents, "0B") is not None


async def test_a_deletion_before_its_upload_leaves_nothing(documents):
    assert await delete(documents, "0B") == 0
    assert await upload(documents, "0A") is None


async def test_an_upload_after_a_deletion_is_kept(documents):
    await upload(documents, "0A")
    await delete(documents, "0B")
    assert await upload(documents, "0C") is not None


async def test_any_order_of_events_ends_with_the_last_one(documents):
    events = [("0A", upload), ("0B", delete), ("0C", upload)]
    for number, order in enumerate(itertools.permutations(events)):
        key = f"users/anna/uploads/{number}"
        for sequencer, event in order:
            await event(documents, sequencer, key=key)
        assert await upload(documents, "0C", key=key) is not None
        assert await delete(documents, "0B", key=key) is None


async def test_a_deletion_and_an_upload_of_other_keys_and_users_do_not_meet(documents):
    await delete(documents, "0B")
    assert await upload(documents, "0A", key=f"{KEY}2") is not None
    assert await upload(documents, "0A", user=BEN) is not None


async def test_what_is_no_sequencer_is_refused(documents):
    for sequencer in ("", "xyz", "0" * 65):
        with pytest.raises(InvalidInputError):
            await upload(documents, sequencer)


async def test_a_key_may_be_as_long_as_s3_takes(documents):
    assert await upload(documents, "0A", key="users/anna/uploads/" + " " * 1000) is not None


CHAT_KEY = "users/anna/uploads/chat-0a/notes.md"


async def test_an_expected_upload_is_there_until_its_event_takes_it_over(documents):
    """KB06, KB07."""
    await documents.expect_upload(ANNA, CHAT_KEY, size=5, now=AT)
    (expected,) = await documents.of_user(ANNA)
    assert (expected.state, expected.origin, expected.size) == (DocumentState.PENDING, RunOrigin.CHAT, 5)

    assert await upload(documents, "0A", key=CHAT_KEY) == expected.id
    (record,) = await documents.of_user(ANNA)
    assert (record.state, record.origin, record.counter) == (DocumentState.PENDING, RunOrigin.CHAT, 1)
    assert record.run != expected.run


def expect(documents, size=5):
    return documents.expect_upload(ANNA, CHAT_KEY, size=size, now=AT)


async def test_what_is_known_already_is_not_expected_again(documents):
    await upload(documents, "0A", key=CHAT_KEY)
    before = await documents.of_user(ANNA)
    assert await expect(documents, size=99) is False
    assert await documents.of_user(ANNA) == before


async def test_whoever_expects_it_second_is_told_that_no_event_came(documents):
    assert await expect(documents) is False
    before = await documents.of_user(ANNA)
    assert await expect(documents, size=99) is True
    assert await documents.of_user(ANNA) == before


@pytest.mark.parametrize("how", ["its owner", "an event"])
async def test_a_deleted_document_is_expected_again_and_late_events_do_not_pass_for_it(documents, how):
    document = await upload(documents, "0A", key=CHAT_KEY)
    (old,) = await documents.of_user(ANNA)
    if how == "its owner":
        await documents.remove(ANNA, document, run=old.run, now=AT)
    else:
        await delete(documents, "0B", key=CHAT_KEY)

    assert await expect(documents, size=7) is True
    (expected,) = await documents.of_user(ANNA)
    assert (expected.id, expected.state, expected.size) == (document, DocumentState.PENDING, 7)
    assert (expected.live_version, expected.sha256, expected.counter) == (0, "", 1)

    with pytest.raises(StaleRunError):
        await documents.remove(ANNA, document, run=old.run, now=AT)
    assert await upload(documents, "0A", key=CHAT_KEY) is None
    assert await documents.of_user(ANNA) == [expected]

    await upload(documents, "0C", key=CHAT_KEY)
    (record,) = await documents.of_user(ANNA)
    assert (record.counter, record.run != expected.run) == (2, True)


async def test_a_deletion_that_came_first_does_not_hide_what_is_expected_now(documents):
    await delete(documents, "0B", key=CHAT_KEY)
    assert await expect(documents) is True
    assert await delete(documents, "0B", key=CHAT_KEY) is None
    (expected,) = await documents.of_user(ANNA)
    assert (expected.state, expected.counter) == (DocumentState.PENDING, 0)


async def test_an_upload_by_its_owner_is_no_file_of_a_message(documents):
    await upload(documents, "0A")
    (record,) = await documents.of_user(ANNA)
    assert record.origin is RunOrigin.UPLOAD
