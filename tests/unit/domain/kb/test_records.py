from dataclasses import replace
from datetime import UTC, datetime

import pytest

from shared.domain.documents import document_id_for
from shared.domain.errors import MalformedEventError
from shared.domain.ids import UserId
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep, message_of
from shared.domain.kb.records import DocumentRecord
from shared.domain.kb.reprocess import Reprocess, ReprocessMode
from shared.domain.kb.states import DocumentState

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANNA = UserId("anna")
KEY = "users/anna/uploads/a/b.pdf"
READY = DocumentRecord(
    id=document_id_for(ANNA, KEY),
    key=KEY,
    object_version="v1",
    size=5,
    run="r1",
    counter=3,
    created_at=AT,
    updated_at=AT,
    state=DocumentState.READY,
    version=2,
    sha256="5a",
    reading=2,
    pages=4,
    pages_done=4,
    text_reading=2,
    chunks=5,
    embedded=frozenset({0, 1, 3}),
    refused=frozenset({2}),
    live_version=2,
)


def test_the_name_is_the_last_part_of_the_key() -> None:
    assert READY.name == "b.pdf"


def test_what_is_pending_was_neither_embedded_nor_refused() -> None:
    assert READY.pending_chunks == (4,)


def test_a_reading_has_its_markdown_once_all_its_pages_have_their_text() -> None:
    assert READY.has_markdown
    assert not replace(READY, reading=3).has_markdown
    assert not replace(READY, reading=0, text_reading=0).has_markdown


def test_reading_anew_takes_the_version_of_the_run_and_keeps_what_readers_see() -> None:
    anew = READY.read_anew("5b")
    assert (anew.version, anew.sha256, anew.reading, anew.chunks, anew.embedded) == (3, "5b", 0, 0, frozenset())
    assert (anew.live_version, anew.text_reading, anew.pending_chunks) == (2, 2, ())


@pytest.mark.parametrize(
    ("begin", "version", "reading", "chunks"),
    [
        (Reprocess.FROM_OBJECT, (4, 2), 0, 5),
        (Reprocess.FROM_PAGES, (4, 2), 2, 5),
        (Reprocess.FROM_MARKDOWN, (4, 4), 2, 0),
        (Reprocess.FROM_CHUNKS, (3, 2), 2, 5),
    ],
)
def test_a_restart_keeps_what_its_mode_keeps(
    begin: Reprocess, version: tuple[int, int], reading: int, chunks: int
) -> None:
    # KB20
    again = READY.restarted(ReprocessMode.FULL, begin, "r2")
    assert (again.run, again.state, again.live_version) == ("r2", begin.enters, 2)
    assert (again.counter, again.version) == version
    assert (again.reading, again.chunks) == (reading, chunks)


def test_a_restart_from_chunks_tries_those_again_that_the_model_refused() -> None:
    # KB20
    assert READY.restarted(ReprocessMode.RETRY_FAILED_CHUNKS, Reprocess.FROM_CHUNKS, "r2").pending_chunks == (2, 4)


MESSAGES = [
    IngestionStep(user_id=ANNA, document_id=READY.id, run="r1", stalls=2),
    DocumentRemoval(user_id=ANNA, document_id=READY.id, run="r1", key=KEY),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_comes_back_as_it_was_sent(message: IngestionStep | DocumentRemoval) -> None:
    assert message_of(message.model_dump(by_alias=True)) == message


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"kind": "other"}, {"userId": "a b"}, {"documentId": READY.id.upper()}, {"run": None}]
)
def test_what_is_no_message_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(MalformedEventError):
        message_of(MESSAGES[0].model_dump(by_alias=True) | change)
