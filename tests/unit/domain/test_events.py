from typing import Any

import pytest
from pydantic import ValidationError

from shared.domain.events import DETAIL_TYPE, SOURCE, TurnEnded

DETAIL = {
    "version": 1,
    "user_id": "u-1",
    "thread_id": "0c0d7a51-2f9d-4f0e-9a3b-5a3a7a0f8d10",
    "run_id": "5a3a7a0f-2f9d-4f0e-9a3b-0c0d7a518d10",
    "human_message_id": "m0",
    "human_count": 1,
    "ended_at": "2026-05-04T12:00:00Z",
    "outcome": "completed",
}


def test_the_rule_matches_on_these_names() -> None:
    assert (SOURCE, DETAIL_TYPE) == ("everthread.chat", "TurnEnded")


def test_an_event_is_read_as_it_was_published() -> None:
    event = TurnEnded.model_validate(DETAIL)
    assert TurnEnded.model_validate_json(event.model_dump_json()) == event
    assert event.model_dump(mode="json") == DETAIL


def test_an_event_of_a_newer_publisher_is_read() -> None:
    assert TurnEnded.model_validate(DETAIL | {"trace_id": "x"}) == TurnEnded.model_validate(DETAIL)


@pytest.mark.parametrize("outcome", ["completed", "cancelled", "failed"])
def test_every_outcome_that_stored_something_is_published(outcome: str) -> None:
    # decision 9a
    assert TurnEnded.model_validate(DETAIL | {"outcome": outcome}).outcome == outcome


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"human_message_id": ""},
        {"human_count": 0},
        {"ended_at": "2026-05-04T12:00:00"},
        {"ended_at": None},
        {"outcome": "interrupted"},
        {"user_id": None},
    ],
)
def test_what_is_no_event_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TurnEnded.model_validate(DETAIL | change)


@pytest.mark.parametrize("missing", ["user_id", "thread_id", "run_id", "human_message_id", "human_count", "ended_at"])
def test_nothing_that_identifies_a_turn_may_be_missing(missing: str) -> None:
    with pytest.raises(ValidationError):
        TurnEnded.model_validate({name: value for name, value in DETAIL.items() if name != missing})


def test_an_event_carries_nothing_that_was_said() -> None:
    # AWS09: an entry of the bus takes 256 KB; ids only.
    assert set(TurnEnded.model_fields) == set(DETAIL)
