"""Several writers on one thread: branches, leases, and a purge beside a run that is dying."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from shared.adapters.dynamodb.checkpointer import DynamoCheckpoints, DynamoDBSaver
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.domain.errors import ConflictError, LeaseLostError, StoreError
from shared.domain.ids import ThreadId, UserId
from tests.fakes.checkpointers import (
    OWNER,
    THREAD,
    DyingClient,
    checkpoint_of,
    config_of,
    items_of,
    put,
    saver_on,
    texts,
    values_of,
)
from tests.fakes.dynamodb import mocked_dynamodb, tapped


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


def said(*lines: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(line, id=line) for line in lines]}


class TestBranches:
    def test_two_writers_from_one_parent_both_survive(self, client):
        parent = put(saver_on(client), said("hello"))
        left = put(saver_on(client), said("hello", "left"), parent, 1)
        right = put(saver_on(client), said("hello", "right"), parent, 1)
        reader = saver_on(client)
        assert texts(values_of(reader, left)["messages"]) == ["hello", "left"]
        assert texts(values_of(reader, right)["messages"]) == ["hello", "right"]
        assert values_of(reader) == values_of(reader, right)
        parents = [each.parent_config for each in reader.list(config_of())]
        assert parents == [parent, parent, None]

    def test_many_writers_at_once_lose_nothing(self, client):
        parent = put(saver_on(client), said("hello"))
        savers = [saver_on(client) for _ in range(8)]
        stored: list[Any] = []

        def write(number: int) -> None:
            config = parent
            for step in range(3):
                config = put(savers[number], said("hello", f"{number} {step}"), config, step + 1)
                stored.append((config, f"{number} {step}"))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        reader = saver_on(client)
        assert len(stored) == 24
        for config, line in stored:
            assert texts(values_of(reader, config)["messages"]) == ["hello", line]
        newest = max(stored, key=lambda each: each[0]["configurable"]["checkpoint_id"])
        assert texts(values_of(reader)["messages"])[-1] == newest[1]

    def test_both_branches_may_write_segments(self, client):
        parent = None
        for number in range(16):
            lines = [f"{each} " + "x" * 3_000 for each in range(number + 1)]
            parent = put(saver_on(client), said(*lines), parent, number)
        ends = []
        for name in ("left", "right"):
            config = parent
            for number in range(16, 34):
                more = [f"{name} {each} " + "y" * 3_000 for each in range(16, number + 1)]
                config = put(saver_on(client), said(*lines, *more), config, number)
            ends.append((config, [*lines, *more]))
        for config, expected in ends:
            assert texts(values_of(saver_on(client), config)["messages"]) == expected

    def test_a_checkpoint_with_a_lower_id_becomes_a_branch_and_not_the_head(self, client):
        early = checkpoint_of(said("early"), {"messages": 1})
        late = put(saver_on(client), said("late"))
        saver_on(client).put(config_of(), early, {"source": "loop"}, {"messages": 1})
        reader = saver_on(client)
        assert values_of(reader) == values_of(reader, late)
        assert texts(values_of(reader, config_of(checkpoint=early["id"]))["messages"]) == ["early"]

    def test_a_clock_that_runs_behind_loses_no_turn(self, client):
        # Ids are made of the time, and the machines that take turns on a thread do not have quite the same.
        config, kept = None, []
        for number in range(35):
            kept.append(HumanMessage(f"{number} " + "x" * 3_000, id=f"m{number}"))
            checkpoint = checkpoint_of({"messages": kept}, {"messages": number + 1})
            moment = number - 3 if number % 5 == 3 else number
            checkpoint["id"] = f"1f000001-{moment:04}-6000-8000-{number:012}"
            config = saver_on(client).put(
                config or config_of(), checkpoint, {"source": "loop"}, {"messages": number + 1}
            )
            assert values_of(saver_on(client)) == {"messages": kept}
        assert len(list(saver_on(client).list(config_of()))) == 35

    def test_the_same_checkpoint_put_again_is_the_same_checkpoint(self, client):
        saver = saver_on(client)
        checkpoint = checkpoint_of(said("hello"), {"messages": 1})
        for _ in range(2):
            saver.put(config_of(), checkpoint, {"source": "loop"}, {"messages": 1})
        assert len(list(saver_on(client).list(config_of()))) == 1


class TestLeases:
    def test_a_run_that_was_taken_over_cannot_move_the_head(self, client):
        stale, fresh = saver_on(client), saver_on(client)
        parent = put(saver_on(client), said("hello"), lease_number=1)
        values_of(stale)
        put(fresh, said("hello", "fresh"), parent, 1, lease_number=3)
        before = items_of(client)
        with pytest.raises(LeaseLostError):
            put(stale, said("hello", "stale"), parent, 1, lease_number=2)
        assert texts(values_of(saver_on(client))["messages"]) == ["hello", "fresh"]
        # Nothing of it is left behind.
        assert items_of(client) == before

    def test_nor_can_it_do_so_when_it_dies_before_it_has_tidied_up(self, client):
        parent = put(saver_on(client), said("hello"), lease_number=1)
        put(saver_on(client), said("hello", "fresh"), parent, 1, lease_number=3)
        dying = saver_on(DyingClient(client, batch_write_item=1))
        with pytest.raises(LeaseLostError):
            put(dying, said("hello", "stale"), parent, 1, lease_number=2)

    def test_a_write_of_a_run_that_was_taken_over_is_refused(self, client):
        saver = saver_on(client)
        parent = put(saver, said("hello"), lease_number=2)
        put(saver_on(client), said("hello", "fresh"), parent, 1, lease_number=3)
        before = items_of(client)
        config = config_of(checkpoint=parent["configurable"]["checkpoint_id"], lease_number=2)
        with pytest.raises(LeaseLostError):
            saver.put_writes(config, [("messages", "late"), ("large", "x" * 20_000)], "task")
        assert items_of(client) == before

    def test_a_refused_write_leaves_what_others_wrote_for_the_same_task(self, client):
        saver = saver_on(client)
        parent = put(saver, said("hello"), lease_number=3)
        checkpoint = parent["configurable"]["checkpoint_id"]
        saver.put_writes(config_of(checkpoint=checkpoint, lease_number=3), [("a", 1)], "task")
        with pytest.raises(LeaseLostError):
            saver_on(client).put_writes(
                config_of(checkpoint=checkpoint, lease_number=2), [("a", "late"), ("b", "late")], "task"
            )
        assert saver_on(client).get_tuple(config_of()).pending_writes == [("task", "a", 1)]

    def test_a_lease_is_seen_from_its_first_write_whatever_was_written(self, client):
        parent = put(saver_on(client), said("hello"), lease_number=1)
        checkpoint = parent["configurable"]["checkpoint_id"]
        saver_on(client).put_writes(config_of(checkpoint=checkpoint, lease_number=5), [("a", 1)], "task")
        with pytest.raises(LeaseLostError):
            put(saver_on(client), said("hello", "stale"), parent, 1, lease_number=4)
        inner = saver_on(client)
        put(inner, {"inner": [1]}, None, 0, checkpoint_ns="inner:1", lease_number=7)
        with pytest.raises(LeaseLostError):
            put(saver_on(client), said("hello", "stale"), parent, 1, lease_number=6)
        with pytest.raises(LeaseLostError):
            put(saver_on(client), {"inner": [2]}, None, 1, checkpoint_ns="inner:1", lease_number=6)
        assert saver_on(client).get_tuple(config_of(namespace="inner:1")).checkpoint["channel_values"] == {"inner": [1]}

    def test_the_same_lease_goes_on_and_a_higher_one_takes_over(self, client):
        config = None
        for step, lease in enumerate([1, 1, 4, 4, 9]):
            config = put(saver_on(client), said(f"step {step}"), config, step, lease_number=lease)
        assert texts(values_of(saver_on(client))["messages"]) == ["step 4"]

    def test_without_a_lease_nothing_is_fenced(self, client):
        parent = put(saver_on(client), said("hello"), lease_number=5)
        put(saver_on(client), said("hello", "by hand"), parent, 1)
        assert texts(values_of(saver_on(client))["messages"]) == ["hello", "by hand"]

    def test_a_checkpoint_that_was_accepted_before_is_not_taken_back_with_a_late_retry(self, client):
        # The first attempt's answer was lost; by the time of the second, others follow it.
        saver = saver_on(client)
        checkpoint = checkpoint_of(said("hello"), {"messages": 1})
        stored = saver.put(config_of(lease_number=1), checkpoint, {}, {"messages": 1})
        put(saver_on(client), said("hello", "fresh"), stored, 1, lease_number=2)
        with pytest.raises(LeaseLostError):
            saver.put(config_of(lease_number=1), checkpoint, {}, {"messages": 1})
        reader = saver_on(client)
        assert texts(values_of(reader)["messages"]) == ["hello", "fresh"]
        assert texts(values_of(reader, stored)["messages"]) == ["hello"]


class Interposed:
    """A client that lets something happen before its n-th request.

    Attributes
    ----------
    sent
        Set when that request has been answered.
    """

    def __init__(self, client: Any, at: int, happening: Callable[[], None]) -> None:
        self._client, self._at, self._happening = client, at, happening
        self._lock = threading.Lock()
        self._requests = 0
        self.sent = threading.Event()

    def __getattr__(self, name: str) -> Any:
        def call(**request: Any) -> Any:
            with self._lock:
                mine = self._requests == self._at
                self._requests += 1
            if mine:
                self._happening()
            try:
                return getattr(self._client, name)(**request)
            finally:
                if mine:
                    self.sent.set()

        return call


async def purge(client: Any) -> None:
    await DynamoCheckpoints(client, "checkpoints", cache=Cache()).purge(UserId(OWNER), ThreadId(THREAD))


def grown(client: Any):
    saver, config = saver_on(client), None
    for number in range(4):
        config = put(saver, said(*map(str, range(number + 1))), config, number, lease_number=1, run_id="first")
    return config


def last_words(client: Any, parent: Any) -> None:
    """What a run does that is told to stop: it stores what it has."""
    saver = saver_on(client)
    large = {"messages": [HumanMessage("x" * 20_000, id="last")], "document": "y" * 20_000}
    stored = put(saver, large, parent, 9, lease_number=2, run_id="last")
    saver.put_writes(
        {"configurable": {**stored["configurable"], "lease_number": 2}}, [("messages", "z" * 20_000)], "task"
    )


def only_the_guard_is_left(client: Any) -> bool:
    return [item["sk"]["S"] for item in items_of(client)] == ['!entry!"#!\U0010ffff']


class TestPurge:
    @pytest.mark.parametrize("at", range(12))
    async def test_a_run_that_writes_in_the_middle_of_a_purge_leaves_nothing(self, client, at):
        parent = grown(client)

        def write() -> None:
            # Before the thread is marked, it is accepted, and then swept.
            try:
                last_words(client, parent)
            except LeaseLostError:
                assert at > 0

        purging = Interposed(client, at, write)
        await purge(purging)
        if not purging.sent.is_set():
            with pytest.raises(LeaseLostError):
                last_words(client, parent)
        assert only_the_guard_is_left(client)
        assert saver_on(client).get_tuple(config_of()) is None

    @pytest.mark.parametrize("at", range(10))
    def test_a_purge_in_the_middle_of_a_runs_writes_leaves_nothing(self, client, at):
        parent = grown(client)
        go_on = threading.Event()

        def sweep() -> None:
            saver = DynamoDBSaver(client, "checkpoints", OWNER, cache=Cache(), pause=wait_for_the_run)
            saver.delete_thread(THREAD)
            go_on.set()

        def wait_for_the_run(tries: int) -> None:
            go_on.set()
            assert writing.sent.wait(10)

        sweeping = threading.Thread(target=sweep)

        def sweep_to_its_end_or_until_it_waits() -> None:
            sweeping.start()
            assert go_on.wait(10)

        writing = Interposed(client, at, sweep_to_its_end_or_until_it_waits)
        try:
            last_words(writing, parent)
        except LeaseLostError:
            assert writing.sent.is_set()
        else:
            assert not writing.sent.is_set()
            sweeping.start()
        sweeping.join(10)
        assert only_the_guard_is_left(client)

    def test_a_purge_does_not_wait_for_ever_for_a_run_that_died(self, client):
        parent = grown(client)
        with pytest.raises(StoreError):
            put(saver_on(DyingClient(client, batch_write_item=0)), said("last"), parent, 9)
        pauses: list[int] = []
        saver = DynamoDBSaver(client, "checkpoints", OWNER, cache=Cache(), pause=pauses.append)
        saver.delete_thread(THREAD)
        assert 10 < len(pauses) < 50
        assert only_the_guard_is_left(client)
        saver.delete_thread(THREAD)
        assert len(pauses) < 50

    def test_a_purge_waits_for_nothing_when_no_run_is_writing(self, client):
        for removed in ([], ["first"]):
            grown(client)
            pauses: list[int] = []
            saver = DynamoDBSaver(client, "checkpoints", OWNER, cache=Cache(), pause=pauses.append)
            saver.delete_for_runs(removed)
            saver.prune([THREAD])
            saver.delete_thread(THREAD)
            assert pauses == []
            assert only_the_guard_is_left(client)
            client.delete_item(TableName="checkpoints", Key={name: items_of(client)[0][name] for name in ("pk", "sk")})

    async def test_a_deleted_thread_is_empty_before_it_is_swept(self, client):
        grown(client)
        with tapped(client) as wire:
            wire.fail("Query", "ProvisionedThroughputExceededException")
            with pytest.raises(Exception, match="ProvisionedThroughput"):
                await purge(client)
        reader = saver_on(client)
        assert len(items_of(client)) > 5
        assert reader.get_tuple(config_of()) is None
        assert list(reader.list(config_of())) == []

    @pytest.mark.parametrize("lease", [None, 1, 99])
    def test_a_write_to_a_deleted_thread_is_refused(self, client, lease):
        parent = grown(client)
        saver_on(client).delete_thread(THREAD)
        more = {} if lease is None else {"lease_number": lease}
        with pytest.raises(LeaseLostError):
            put(saver_on(client), said("late"), parent, 9, **more)
        with pytest.raises(LeaseLostError):
            put(saver_on(client), {"inner": [1]}, None, 0, checkpoint_ns="inner:1", **more)
        config = config_of(checkpoint=parent["configurable"]["checkpoint_id"], **more)
        with pytest.raises(LeaseLostError):
            saver_on(client).put_writes(config, [("messages", "late")], "task")
        assert only_the_guard_is_left(client)

    def test_a_deleted_thread_is_no_target_of_a_copy(self, client):
        grown(client)
        saver_on(client).copy_thread(THREAD, "copy")
        saver_on(client).delete_thread("copy")
        with pytest.raises(ConflictError):
            saver_on(client).copy_thread(THREAD, "copy")

    def test_a_copy_is_not_made_over_another_thread(self, client):
        grown(client)
        put(saver_on(client), said("mine"), thread_id="taken")
        with pytest.raises(ConflictError):
            saver_on(client).copy_thread(THREAD, "taken")
        assert texts(values_of(saver_on(client), config_of("taken"))["messages"]) == ["mine"]
