"""What every implementation of ``DocumentRecords`` and ``LiveDocuments`` keeps: the fake and the one on DynamoDB."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.domain.documents import document_id_for
from shared.domain.ids import UserId
from shared.domain.kb.hits import LiveDocument
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.records import DocumentNotFoundError, RunOrigin, StaleRunError
from shared.domain.kb.reprocess import Reprocess, ReprocessMode
from shared.domain.kb.states import DocumentState, IllegalTransitionError
from tests.fakes.documents import InMemoryDocuments
from tests.fakes.dynamodb import mocked_dynamodb, no_pause

ANNA, BEN = UserId("anna"), UserId("ben")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
KEY = "users/anna/uploads/7/c++ notes.pdf"
DOCUMENT = document_id_for(ANNA, KEY)


@pytest.fixture(params=["fake", "dynamodb"])
def documents(request):
    if request.param == "fake":
        yield InMemoryDocuments()
        return
    with mocked_dynamodb() as client:
        yield DynamoDocuments(client, "memory", pause=no_pause)


async def uploaded(documents, sequencer="0A", *, user=ANNA, key=KEY, at=AT):
    document = await documents.record_upload(user, key, version_id="v1", sequencer=sequencer, size=5, now=at)
    return await documents.get(user, document)


async def ready(documents, **which):
    """A document that went all the way, with two chunks."""
    record = (await uploaded(documents, **which)).read_anew("5a")
    user = which.get("user", ANNA)
    for state in ("PREPARED", "MARKDOWN", "EMBEDDING", "READY"):
        record = replace(record, state=DocumentState(state), chunks=2, reading=1, text_reading=1)
        if state == "READY":
            record = replace(record, live_version=record.version, embedded=frozenset({0, 1}))
        await documents.save(user, record, now=AT)
    return await documents.get(user, record.id)


async def test_an_uploaded_document_is_known_and_pending(documents):
    record = await uploaded(documents)
    assert (record.id, record.key, record.name) == (DOCUMENT, KEY, "c++ notes.pdf")
    assert (record.object_version, record.size, record.state) == ("v1", 5, DocumentState.PENDING)
    assert (record.counter, record.version, record.live_version) == (1, 0, 0)
    assert record.created_at == record.updated_at == AT


async def test_what_is_missing_deleted_or_another_s_is_one_and_the_same(documents):
    with pytest.raises(DocumentNotFoundError) as missing:
        await documents.get(ANNA, DOCUMENT)
    await uploaded(documents)
    with pytest.raises(DocumentNotFoundError) as theirs:
        await documents.get(BEN, DOCUMENT)
    await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)
    with pytest.raises(DocumentNotFoundError) as deleted:
        await documents.get(ANNA, DOCUMENT)
    assert str(missing.value) == str(theirs.value) == str(deleted.value)
    assert await documents.of_user(ANNA) == []


async def test_everything_comes_back_as_it_was_saved(documents):
    record = replace(
        (await uploaded(documents)).read_anew("5a" * 32),
        state=DocumentState.PREPARED,
        origin=RunOrigin.REPROCESS,
        mode=ReprocessMode.RETRY_FAILED,
        kind=DocumentKind.PDF,
        reason="3 of 9 pages could not be read.",
        reading=1,
        pages=9,
        pages_done=6,
        text_reading=1,
        chunks=4000,
        embedded=frozenset({0, 7, 8, 3999}),
        refused=frozenset({12}),
        live_version=1,
        duplicate_of=document_id_for(ANNA, "other"),
    )
    await documents.save(ANNA, record, now=LATER)
    assert await documents.get(ANNA, DOCUMENT) == replace(record, updated_at=LATER)


async def test_what_a_save_leaves_out_is_gone(documents):
    record = await ready(documents)
    again = replace(record, chunks=0, embedded=frozenset(), duplicate_of=None, state=DocumentState.PENDING)
    await documents.save(ANNA, again, now=AT)
    assert await documents.get(ANNA, DOCUMENT) == again


async def test_a_run_that_was_taken_over_writes_nothing(documents):
    # AWS11
    old = await uploaded(documents)
    new = await uploaded(documents, "0B", at=LATER)
    assert (old.run != new.run, new.counter, new.created_at) == (True, 2, AT)
    with pytest.raises(StaleRunError):
        await documents.save(ANNA, replace(old, state=DocumentState.PREPARED), now=LATER)
    assert await documents.get(ANNA, DOCUMENT) == new


async def test_a_run_of_a_deleted_or_unknown_document_writes_nothing(documents):
    record = await uploaded(documents)
    with pytest.raises(StaleRunError):
        await documents.save(BEN, replace(record, state=DocumentState.PREPARED), now=AT)
    await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)
    with pytest.raises(StaleRunError):
        await documents.save(ANNA, replace(record, state=DocumentState.PREPARED), now=AT)
    with pytest.raises(DocumentNotFoundError):
        await documents.get(ANNA, DOCUMENT)


async def test_a_state_that_cannot_follow_is_refused(documents):
    # KB19, HID-33: nothing becomes READY that was not embedded.
    record = await uploaded(documents)
    with pytest.raises(IllegalTransitionError):
        await documents.save(ANNA, replace(record, state=DocumentState.READY), now=AT)
    assert (await documents.get(ANNA, DOCUMENT)).state is DocumentState.PENDING


async def test_the_same_event_again_is_the_same_run(documents):
    first = await uploaded(documents)
    await documents.save(ANNA, replace(first, state=DocumentState.PREPARED), now=AT)
    again = await uploaded(documents, at=LATER)
    assert (again.run, again.counter, again.state) == (first.run, 1, DocumentState.PREPARED)


async def test_a_new_upload_starts_over_and_readers_keep_what_they_have(documents):
    before = await ready(documents)
    after = await uploaded(documents, "0B")
    assert (after.state, after.reading, after.counter) == (DocumentState.PENDING, 0, 2)
    assert (after.live_version, after.version, after.chunks) == (1, 1, before.chunks)
    assert await documents.live(ANNA, [DOCUMENT]) == {DOCUMENT: LiveDocument("c++ notes.pdf", 1)}


async def test_a_request_takes_a_document_over_from_the_run_it_saw(documents):
    before = await ready(documents)
    again = before.restarted(ReprocessMode.CHUNKS_ONLY, Reprocess.FROM_MARKDOWN, "again")
    await documents.save(ANNA, again, now=LATER, run=before.run)
    lost = before.restarted(ReprocessMode.FULL, Reprocess.FROM_OBJECT, "lost")
    with pytest.raises(StaleRunError):
        await documents.save(ANNA, lost, now=LATER, run=before.run)
    assert (await documents.get(ANNA, DOCUMENT)).run == "again"
    assert (await uploaded(documents, "0B")).counter == 3


async def test_only_live_documents_of_the_user_are_live(documents):
    await ready(documents)
    pending = await uploaded(documents, key="users/anna/uploads/other.pdf")
    asked = [DOCUMENT, pending.id, document_id_for(ANNA, "missing")]
    assert set(await documents.live(ANNA, asked)) == {DOCUMENT}
    assert await documents.live(BEN, asked) == {}
    await documents.record_delete(ANNA, KEY, sequencer="0B", now=AT)
    assert await documents.live(ANNA, asked) == {}


async def test_documents_are_listed_newest_first(documents):
    for minute, name in enumerate(["a", "b", "c"]):
        await uploaded(documents, key=f"users/anna/uploads/{name}", at=AT + timedelta(minutes=minute))
    await uploaded(documents, user=BEN, key="users/ben/uploads/z")
    assert [record.name for record in await documents.of_user(ANNA)] == ["c", "b", "a"]


async def test_a_removed_document_leaves_a_marker_that_late_events_do_not_bring_back(documents):
    record = await uploaded(documents)
    assert await documents.remove(ANNA, DOCUMENT, run=record.run, now=AT) == 1
    assert await documents.remove(ANNA, DOCUMENT, run=record.run, now=AT) == 1
    assert await documents.record_upload(ANNA, KEY, version_id="v1", sequencer="0A", size=5, now=AT) is None
    assert await documents.of_user(ANNA) == []
    # Its chunks may still be on their way out: the next version is not called as they were.
    assert (await uploaded(documents, "0B")).counter == 2


async def test_a_document_that_was_uploaded_again_is_not_removed(documents):
    old = await uploaded(documents)
    await uploaded(documents, "0B")
    with pytest.raises(StaleRunError):
        await documents.remove(ANNA, DOCUMENT, run=old.run, now=AT)
    assert (await documents.get(ANNA, DOCUMENT)).counter == 2


async def test_removing_what_never_was_does_nothing(documents):
    assert await documents.remove(ANNA, DOCUMENT, run="r", now=AT) == 0
    assert await documents.of_user(ANNA) == []


async def test_the_first_to_claim_bytes_has_them(documents):
    # KB05
    other = document_id_for(ANNA, "other")
    assert await documents.claim_bytes(ANNA, "5a", DOCUMENT) == DOCUMENT
    assert await documents.claim_bytes(ANNA, "5a", DOCUMENT) == DOCUMENT
    assert await documents.claim_bytes(ANNA, "5a", other) == DOCUMENT
    assert await documents.claim_bytes(BEN, "5a", other) == other, "unique per user"
    await documents.release_bytes(ANNA, "5a", other)
    assert await documents.claim_bytes(ANNA, "5a", other) == DOCUMENT
    await documents.release_bytes(ANNA, "5a", DOCUMENT)
    assert await documents.claim_bytes(ANNA, "5a", other) == other


async def test_a_purge_leaves_nothing_of_the_user_and_everything_of_others(documents):
    await ready(documents)
    await documents.claim_bytes(ANNA, "5a", DOCUMENT)
    theirs = await uploaded(documents, user=BEN, key="users/ben/uploads/z")
    await documents.purge(ANNA)
    assert await documents.of_user(ANNA) == []
    assert await documents.claim_bytes(ANNA, "5a", theirs.id) == theirs.id
    assert (await uploaded(documents)).counter == 1
    assert await documents.of_user(BEN) == [theirs]
