"""Items of 400 KB, pages of 1 MB, batches that DynamoDB leaves half done."""

import random

import pytest
from langchain_core.messages import HumanMessage

from shared.adapters.dynamodb.checkpointer import DynamoDBSaver
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.adapters.dynamodb.checkpointer.table import jittered_pause
from shared.adapters.dynamodb.items import bytes_of
from shared.adapters.dynamodb.schema import ITEM_MAX_BYTES
from shared.domain.errors import LeaseLostError, StoreError
from tests.fakes.checkpointers import OWNER, THREAD, config_of, items_of, put, saver_on, values_of
from tests.fakes.dynamodb import mocked_dynamodb, tapped


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


def noise(size: int, seed: int = 1) -> str:
    """Text that does not compress."""
    return random.Random(seed).randbytes(size // 2).hex()  # noqa: S311 - no secret


def largest_item(client) -> int:
    def size(item):
        binary = sum(len(value["B"]) for value in item.values() if "B" in value)
        return binary + bytes_of({name: value for name, value in item.items() if "B" not in value})

    return max(map(size, items_of(client)))


def test_a_checkpoint_over_the_item_limit_is_split(client):
    saver = saver_on(client)
    messages = [HumanMessage(noise(300_000, seed), id=f"m{seed}") for seed in range(6)]
    config = put(saver, {"messages": messages})
    assert values_of(saver_on(client)) == {"messages": messages}
    assert values_of(saver_on(client), config) == {"messages": messages}
    assert largest_item(client) <= ITEM_MAX_BYTES


def test_large_values_of_other_channels_are_written_once(client):
    saver = saver_on(client)
    values = {"document": noise(900_000), "table": {"rows": [noise(60_000)]}, "title": "small"}
    config = put(saver, values)
    with tapped(client) as wire:
        for step in range(1, 20):
            config = put(saver, values | {"title": f"step {step}"}, config, step)
        sent = sum(len(str(body)) for _, body in wire.requests)
    assert sent < 60_000
    assert values_of(saver_on(client)) == values | {"title": "step 19"}
    assert largest_item(client) <= ITEM_MAX_BYTES


def test_large_pending_writes_are_split_and_keep_their_order(client):
    saver = saver_on(client)
    config = put(saver, {"messages": []})
    large = [noise(500_000, seed) for seed in range(3)]
    saver.put_writes(config, [("messages", large[0]), ("title", "small"), ("messages", large[1])], "task b", "~1")
    saver.put_writes(config, [("messages", large[2])], "task a", "~0")
    found = saver_on(client).get_tuple(config_of())
    assert found.pending_writes == [
        ("task a", "messages", large[2]),
        ("task b", "messages", large[0]),
        ("task b", "title", "small"),
        ("task b", "messages", large[1]),
    ]
    assert largest_item(client) <= ITEM_MAX_BYTES


def test_a_task_may_write_any_number_of_times(client):
    saver = saver_on(client)
    config = put(saver, {"messages": []})
    writes = [("messages", noise(9_000, n)) for n in range(200)]
    saver.put_writes(config, writes, "task")
    found = saver_on(client).get_tuple(config_of())
    assert found.pending_writes == [("task", *write) for write in writes]
    assert largest_item(client) <= ITEM_MAX_BYTES


def test_segments_of_large_messages_are_split(client):
    saver, config, messages = saver_on(client), None, []
    for number in range(12):
        messages = [*messages, HumanMessage(noise(450_000 if number == 3 else 40_000, number), id=f"m{number}")]
        config = put(saver, {"messages": messages}, config, number)
    assert values_of(saver_on(client)) == {"messages": messages}
    assert largest_item(client) <= ITEM_MAX_BYTES


def test_a_history_longer_than_a_page_is_followed(client):
    saver, config, messages = saver_on(client), None, []
    for number in range(30):
        messages = [*messages, HumanMessage(noise(100_000, number), id=f"m{number}")]
        config = put(saver, {"messages": messages}, config, number)
        saver.put_writes(config, [("messages", noise(9_000, number))], "task")
    with tapped(client) as wire:
        assert values_of(saver_on(client)) == {"messages": messages}
    assert wire.counts["Query"] > 2
    with tapped(client) as wire:
        listed = list(saver_on(client).list(config_of()))
    assert [len(each.checkpoint["channel_values"]["messages"]) for each in listed] == list(range(30, 0, -1))
    assert all(len(each.pending_writes) == 1 for each in listed)
    middle = listed[20].config
    assert [each.config for each in saver_on(client).list(config_of(), before=middle, limit=3)] == [
        each.config for each in listed[21:24]
    ]


def test_more_writes_than_a_page_has_room_for_stay_with_their_checkpoint(client):
    saver = saver_on(client)
    config = put(saver, {"messages": []})
    for number in range(60):
        saver.put_writes(config, [("messages", number)], f"task {number}", f"~{number:03}")
    found = saver_on(client).get_tuple(config_of())
    assert [value for _, _, value in found.pending_writes] == list(range(60))


class LeavingUndone:
    """A client whose batches do one write each, for so many times."""

    def __init__(self, client, times: int) -> None:
        self._client, self.times = client, times

    def __getattr__(self, name: str):
        return getattr(self._client, name)

    def batch_write_item(self, *, RequestItems):  # noqa: N803 - boto3's name
        ((table, writes),) = RequestItems.items()
        if not self.times:
            return self._client.batch_write_item(RequestItems=RequestItems)
        self.times -= 1
        self._client.batch_write_item(RequestItems={table: writes[:1]})
        return {"UnprocessedItems": {table: writes[1:]} if writes[1:] else {}}


def test_what_dynamodb_leaves_unprocessed_is_written_after_a_pause(client):
    pauses: list[int] = []
    text = noise(2_400_000)
    saver = DynamoDBSaver(LeavingUndone(client, 3), "checkpoints", OWNER, cache=Cache(), pause=pauses.append)
    put(saver, {"document": text})
    # Of four parts, three went one by one.
    assert pauses == [1, 2, 3]
    assert values_of(saver_on(client)) == {"document": text}


def test_pauses_grow_and_are_never_the_same(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    for tries in [*range(1, 9)] * 20:
        jittered_pause(tries)
    assert len(set(slept)) > 100
    assert sum(slept[0::8]) < sum(slept[4::8])
    assert max(slept) <= 1


def test_a_checkpoint_that_came_late_is_taken_back_if_the_thread_is_gone_by_then(client):
    parent = put(saver_on(client), {"messages": []}, run_id="r")
    saver = DynamoDBSaver(
        LeavingUndone(client, 1),
        "checkpoints",
        OWNER,
        cache=Cache(),
        pause=lambda _: saver_on(client).delete_thread(THREAD),
    )
    with pytest.raises(LeaseLostError):
        put(saver, {"messages": [1]}, parent, 1, run_id="r")
    assert len(items_of(client)) == 1


def test_a_write_that_is_put_off_for_ever_is_an_error(client):
    saver = saver_on(client)
    with tapped(client) as wire:
        unprocessed = {"checkpoints": [{"DeleteRequest": {"Key": {"pk": {"S": "p"}, "sk": {"S": "s"}}}}]}
        wire.answer("BatchWriteItem", *[{"UnprocessedItems": unprocessed}] * 50)
        with pytest.raises(StoreError, match="put off BatchWriteItem"):
            put(saver, {"messages": []})
    assert saver_on(client).get_tuple(config_of()) is None
    assert wire.counts["BatchWriteItem"] < 20


def test_blobs_that_are_not_read_at_once_are_asked_for_again(client):
    text = noise(900_000)
    put(saver_on(client), {"document": text})
    with tapped(client) as wire:
        nothing = {"Responses": {"checkpoints": []}}
        keys = [item for item in items_of(client) if item["sk"]["S"].startswith("!blob")]
        unread = {"checkpoints": {"Keys": [{"pk": item["pk"], "sk": item["sk"]} for item in keys]}}
        wire.answer("BatchGetItem", nothing | {"UnprocessedKeys": unread})
        assert values_of(saver_on(client)) == {"document": text}
    assert wire.counts["BatchGetItem"] == 2


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "InternalServerError", "ThrottlingException"]
)
def test_a_database_that_does_not_answer_is_not_an_empty_one(client, code):
    put(saver_on(client), {"messages": []})
    saver = saver_on(client)
    with tapped(client) as wire:
        wire.fail("Query", code, message="with something that was said in it")
        with pytest.raises(StoreError) as caught:
            saver.get_tuple(config_of())
    assert "said" not in str(caught.value)
    assert code in str(caught.value)


def test_every_read_is_consistent(client):
    saver = saver_on(client)
    with tapped(client) as wire:
        config = put(saver, {"document": noise(500_000), "inner": []}, run_id="r1")
        put(saver, {"inner": [1]}, checkpoint_ns="inner:1")
        saver.put_writes(config, [("messages", "x")], "task", "")
        for reader in (saver, saver_on(client)):
            reader.get_tuple(config_of())
            reader.get_tuple(config)
            reader.get_tuple(config_of(namespace="inner:1"))
            list(reader.list(config_of()))
            reader.get_delta_channel_history(config=config, channels=["messages"])
        saver.prune(["thread"])
        saver.copy_thread("thread", "copy")
        saver.delete_for_runs(["r1"])
        saver.delete_thread("thread")
    for operation in ("Query", "GetItem"):
        assert wire.bodies(operation)
        assert all(body["ConsistentRead"] for body in wire.bodies(operation))
    assert all(body["RequestItems"]["checkpoints"]["ConsistentRead"] for body in wire.bodies("BatchGetItem"))
    assert wire.counts["Scan"] == 0
