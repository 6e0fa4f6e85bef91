"""Threads that end by themselves: hidden on time, and never cut while they live."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from tests.fakes.checkpointers import config_of, items_of, put, saver_on, values_of
from tests.fakes.dynamodb import mocked_dynamodb, tapped

KEEP_FOR = timedelta(days=10)


class MovingClock:
    def __init__(self) -> None:
        self.at = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


@pytest.fixture
def clock():
    return MovingClock()


def reap(client: Any, clock: MovingClock) -> int:
    """Remove what has expired, as DynamoDB does some day."""
    expired = [each for each in items_of(client) if "ttl" in each and int(each["ttl"]["N"]) <= clock.at.timestamp()]
    for each in expired:
        client.delete_item(TableName="checkpoints", Key={"pk": each["pk"], "sk": each["sk"]})
    return len(expired)


def messages(count: int) -> dict[str, Any]:
    return {
        "messages": [HumanMessage(f"{number} " + "x" * 3_000, id=f"m{number}") for number in range(count)],
        "document": "y" * 20_000,
    }


def test_what_has_expired_is_hidden_before_it_is_gone(client, clock):
    saver = saver_on(client, keep_for=KEEP_FOR, clock=clock)
    config = put(saver, messages(1), run_id="r")
    saver.put_writes(config, [("messages", "x")], "task")
    clock.at += 1.4 * KEEP_FOR
    assert values_of(saver_on(client, clock=clock)) == messages(1)
    clock.at += 0.2 * KEEP_FOR
    for reader in (saver, saver_on(client, clock=clock)):
        assert reader.get_tuple(config_of()) is None
        assert reader.get_tuple(config) is None
        assert list(reader.list(config_of())) == []
    assert len(items_of(client)) >= 4


def test_every_item_has_an_end(client, clock):
    saver, config = saver_on(client, keep_for=KEEP_FOR, clock=clock), None
    for number in range(20):
        config = put(saver, messages(number + 1), config, number, run_id="r")
    saver.put_writes(config, [("messages", "x" * 20_000)], "task")
    assert all("ttl" in each for each in items_of(client))


@pytest.mark.parametrize("days", [3, 9])
@pytest.mark.parametrize("process", ["same", "new"])
def test_a_living_thread_is_never_cut(client, clock, days, process):
    saver, config = saver_on(client, keep_for=KEEP_FOR, clock=clock), None
    reaped = 0
    for number in range(24):
        if process == "new":
            saver = saver_on(client, keep_for=KEEP_FOR, clock=clock)
        config = put(saver, messages(number + 1), config, number)
        clock.at += timedelta(days=days)
        if number % 8 == 7:
            reaped += reap(client, clock)
            assert values_of(saver_on(client, clock=clock)) == messages(number + 1)
            # Those that are listed can be read.
            for each in saver_on(client, clock=clock).list(config_of()):
                assert each.checkpoint["channel_values"]["document"] == "y" * 20_000
    assert reaped > 0
    clock.at += 2 * KEEP_FOR
    assert saver_on(client, clock=clock).get_tuple(config_of()) is None
    reap(client, clock)
    assert items_of(client) == []


def test_a_thread_that_lives_is_renewed_once_in_half_its_time(client, clock):
    saver, config = saver_on(client, keep_for=KEEP_FOR, clock=clock), None
    updates = []
    for number in range(32):
        with tapped(client) as wire:
            config = put(saver, messages(min(number + 1, 30)), config, number)
        updates.append(wire.counts["UpdateItem"])
        clock.at += timedelta(days=1)
    renewals = [number for number, count in enumerate(updates) if count > 1]
    assert [later - earlier for earlier, later in pairwise(renewals)] == [6] * (len(renewals) - 1)
    assert len(renewals) == 5


def test_a_thread_begun_without_an_end_stays_without(client, clock):
    config = put(saver_on(client, clock=clock), messages(1))
    config = put(saver_on(client, keep_for=KEEP_FOR, clock=clock), messages(2), config, 1)
    clock.at += 10 * KEEP_FOR
    assert values_of(saver_on(client, clock=clock)) == messages(2)
    assert not [each for each in items_of(client) if "ttl" in each]


def test_one_begun_with_an_end_keeps_it(client, clock):
    config = put(saver_on(client, keep_for=KEEP_FOR, clock=clock), messages(1))
    put(saver_on(client, clock=clock), messages(2), config, 1)
    clock.at += 2 * KEEP_FOR
    assert saver_on(client, clock=clock).get_tuple(config_of()) is None
    assert list(saver_on(client, clock=clock).list(config_of())) == []
