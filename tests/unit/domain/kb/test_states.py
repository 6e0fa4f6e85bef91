import itertools

import pytest

from shared.domain.kb.failures import IngestionFailedError, document_error
from shared.domain.kb.states import (
    DocumentState,
    IllegalTransitionError,
    may_become,
    require_transition,
    states_before,
)

S = DocumentState
WAY = [S.PENDING, S.PREPARED, S.OCR, S.MARKDOWN, S.EMBEDDING, S.READY]
FAILURES = [document_error(state, "") for state in S if state.is_failure]


def test_the_way_of_a_document():
    # KB19
    for current, following in itertools.pairwise(WAY):
        require_transition(current, following)


def test_ready_follows_embedding_only():
    # HID-33
    assert {state for state in S if may_become(state, S.READY)} == {S.EMBEDDING, S.READY}


def test_no_step_back_while_it_is_being_processed():
    for later, earlier in itertools.combinations(reversed(WAY), 2):
        if earlier is not S.PENDING and later is not S.READY:
            with pytest.raises(IllegalTransitionError):
                require_transition(later, earlier)


def test_a_document_without_scans_needs_no_ocr():
    require_transition(S.PREPARED, S.MARKDOWN)


def test_a_step_delivered_twice_changes_nothing():
    for state in S:
        require_transition(state, state)


def test_a_new_version_of_the_object_starts_over_from_anywhere():
    assert states_before(S.PENDING) == frozenset(S)


def test_a_document_that_has_ended_moves_only_to_where_a_request_begins():
    for state in S:
        if state.is_final:
            assert {wanted for wanted in S if may_become(state, wanted)} == {state, S.PENDING, S.MARKDOWN, S.EMBEDDING}


def test_every_failure_can_be_reached_from_the_beginning():
    for failure in FAILURES:
        assert any(failure.state in _after(state) for state in WAY[:-1])
        assert failure.state.is_final
        assert failure.state.is_failure


def test_there_is_an_error_with_a_reason_for_every_state_that_is_a_failure():
    assert [failure.state for failure in FAILURES] == [
        S.EMPTY,
        S.NEEDS_OCR,
        S.ENCRYPTED,
        S.UNSUPPORTED,
        S.TOO_LARGE,
        S.CORRUPT,
        S.FAILED,
    ]
    for failure in FAILURES:
        assert failure.code == failure.state
        assert failure.reason.endswith(".")
        assert len(failure.reason.split()) > 3


def test_a_reason_of_its_own():
    assert document_error(S.TOO_LARGE, "It has 9,000 pages.").reason == "It has 9,000 pages."
    with pytest.raises(KeyError):
        document_error(S.READY, "")


def test_only_what_may_go_better_may_be_retried():
    assert {state for state in S if state.may_be_retried} == {S.FAILED, S.NEEDS_OCR}
    assert {type(failure) for failure in FAILURES if failure.retryable} == {IngestionFailedError}


def test_a_chat_may_use_a_document_from_its_markdown_on():
    assert {state for state in S if state.has_text} == {S.MARKDOWN, S.EMBEDDING, S.READY}


def _after(state: S) -> set[S]:
    return {wanted for wanted in S if may_become(state, wanted)}
