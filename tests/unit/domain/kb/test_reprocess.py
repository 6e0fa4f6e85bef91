from dataclasses import replace

import pytest

from shared.domain.kb.reprocess import (
    AttachmentMissingError,
    DocumentStanding,
    NotReadyError,
    ProcessingError,
    Reprocess,
    ReprocessMode,
    reprocess,
)
from shared.domain.kb.states import DocumentState, may_become

READY = DocumentStanding(state=DocumentState.READY, has_object=True, has_markdown=True, chunks=12, chunks_embedded=12)
HALF = replace(READY, state=DocumentState.FAILED, chunks_embedded=7)
UNREAD = DocumentStanding(state=DocumentState.FAILED, has_object=True, has_markdown=False)


@pytest.mark.parametrize("mode", ReprocessMode)
@pytest.mark.parametrize("state", [state for state in DocumentState if not state.is_final])
def test_not_while_it_is_being_processed(mode: ReprocessMode, state: DocumentState):
    with pytest.raises(ProcessingError) as caught:
        reprocess(mode, replace(READY, state=state))

    assert caught.value.code == "PROCESSING"


class TestFull:
    @pytest.mark.parametrize("state", [state for state in DocumentState if state.is_final])
    def test_begins_with_the_object_whatever_became_of_it(self, state: DocumentState):
        assert reprocess(ReprocessMode.FULL, replace(READY, state=state)) == Reprocess.FROM_OBJECT

    def test_needs_the_object(self):
        with pytest.raises(AttachmentMissingError) as caught:
            reprocess(ReprocessMode.FULL, replace(READY, has_object=False))

        assert caught.value.code == "ATTACHMENT_MISSING"


class TestChunksOnly:
    def test_begins_with_the_markdown_and_needs_no_object(self):
        assert reprocess(ReprocessMode.CHUNKS_ONLY, replace(READY, has_object=False)) == Reprocess.FROM_MARKDOWN

    def test_needs_the_markdown(self):
        with pytest.raises(NotReadyError) as caught:
            reprocess(ReprocessMode.CHUNKS_ONLY, UNREAD)

        assert caught.value.code == "NOT_READY"


class TestRetryFailed:
    def test_reads_the_pages_that_have_no_text(self):
        assert reprocess(ReprocessMode.RETRY_FAILED, UNREAD) == Reprocess.FROM_PAGES

    def test_reads_scans_once_ocr_is_there(self):
        standing = replace(UNREAD, state=DocumentState.NEEDS_OCR)

        assert reprocess(ReprocessMode.RETRY_FAILED, standing) == Reprocess.FROM_PAGES

    def test_needs_the_object_for_that(self):
        with pytest.raises(AttachmentMissingError):
            reprocess(ReprocessMode.RETRY_FAILED, replace(UNREAD, has_object=False))

    def test_takes_up_the_embedding_where_it_stopped(self):
        assert reprocess(ReprocessMode.RETRY_FAILED, replace(HALF, has_object=False)) == Reprocess.FROM_CHUNKS

    def test_cuts_a_text_that_was_never_cut(self):
        standing = replace(HALF, chunks=0, chunks_embedded=0)

        assert reprocess(ReprocessMode.RETRY_FAILED, standing) == Reprocess.FROM_MARKDOWN

    @pytest.mark.parametrize("state", [DocumentState.READY, DocumentState.ENCRYPTED, DocumentState.CORRUPT])
    def test_not_when_it_would_end_the_same_way(self, state: DocumentState):
        with pytest.raises(NotReadyError):
            reprocess(ReprocessMode.RETRY_FAILED, replace(READY, state=state))


class TestRetryFailedChunks:
    def test_embeds_what_has_no_vector_and_keeps_the_rest(self):
        assert reprocess(ReprocessMode.RETRY_FAILED_CHUNKS, HALF) == Reprocess.FROM_CHUNKS

    @pytest.mark.parametrize("standing", [READY, UNREAD])
    def test_not_without_a_failed_chunk(self, standing: DocumentStanding):
        with pytest.raises(NotReadyError):
            reprocess(ReprocessMode.RETRY_FAILED_CHUNKS, standing)


def test_every_beginning_is_a_legal_step_from_every_end():
    for begin in (Reprocess.FROM_OBJECT, Reprocess.FROM_PAGES, Reprocess.FROM_MARKDOWN, Reprocess.FROM_CHUNKS):
        assert all(may_become(state, begin.enters) for state in DocumentState if state.is_final)


def test_the_modes_are_named_as_clients_name_them():
    assert [mode.value for mode in ReprocessMode] == ["full", "chunksOnly", "retryFailed", "retryFailedChunks"]
