from pathlib import Path
from typing import Any

import pytest

import shared.graphs.agent
from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay
from shared.graphs.agent.envelope import Envelope, TurnMark
from shared.services.turn_memory import TurnMemory
from tests.fakes.agent_turns import USER, Turns

THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed793")


def whole(turns: Turns) -> Envelope:
    return Envelope(
        user=USER,
        thread=THREAD,
        account=AccountOverlay(name="Lin"),
        title="A title",
        memory=TurnMemory(turns.recall, USER, THREAD, AccountOverlay()),
        mark=TurnMark(),
    )


def test_what_is_put_in_is_read_back() -> None:
    """ID01."""
    envelope = whole(Turns())

    assert Envelope.of({"configurable": envelope.configurable()}) == envelope
    assert Envelope.of(Envelope().into({})) == Envelope()


def test_ids_ride_under_the_seeds_names() -> None:
    """ID01."""
    configurable = whole(Turns()).configurable()

    assert (configurable["userId"], configurable["thread_id"]) == (USER, THREAD)


@pytest.mark.parametrize("value", [None, "", 42, {"id": "x"}, ["x"], b"x"])
@pytest.mark.parametrize("key", ["userId", "thread_id", "account", "thread_title", "turn_memory", "turn_mark"])
def test_what_has_another_type_counts_as_not_there(key: str, value: Any) -> None:
    """ID03, ID05."""
    envelope = Envelope.of({"configurable": {key: value}})

    assert envelope == (Envelope(title="") if (key, value) == ("thread_title", "") else Envelope())


def test_a_configuration_without_an_envelope_has_none_of_it() -> None:
    assert Envelope.of({}) == Envelope()


@pytest.mark.parametrize("user", ["a.b", "langgraph", "a b", "x" * 129])
def test_user_ids_that_are_no_labels_count_as_not_there(user: str) -> None:
    """HID-27."""
    assert Envelope.of({"configurable": {"userId": user}}).user is None


def test_putting_it_into_a_configuration_keeps_the_rest() -> None:
    config = Envelope(user=UserId("u")).into({"tags": ["t"], "configurable": {"checkpoint_id": "c"}})

    assert config == {"tags": ["t"], "configurable": {"checkpoint_id": "c", "userId": "u", "account": AccountOverlay()}}


def test_nobody_else_reads_the_configuration() -> None:
    """ID05: a node that looked for itself could take a client's word for who the user is."""
    package = Path(shared.graphs.agent.__file__).parent

    readers = {path.name for path in package.rglob("*.py") if 'configurable"' in path.read_text()}

    assert readers == {"envelope.py"}
