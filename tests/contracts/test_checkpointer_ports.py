"""The two ports that the checkpoint table serves beside LangGraph: a thread's messages, and its purge."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.adapters.dynamodb.checkpointer import DynamoCheckpoints, DynamoThreadMessages
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.domain.errors import CorruptItemError, StoreError
from shared.domain.ids import ThreadId, UserId
from tests.fakes.checkpointers import config_of, items_of, put, saver_on
from tests.fakes.dynamodb import mocked_dynamodb, tapped

USER = UserId("owner")
THREAD = ThreadId("0e1f2a34-5b6c-4d8e-9fa0-b1c2d3e4f506")
SAID = [
    HumanMessage("what is the weather?", id="1"),
    AIMessage("", id="2", tool_calls=[{"name": "weather", "args": {"place": "Ulm"}, "id": "c"}]),
    ToolMessage("sunny", id="3", tool_call_id="c"),
    AIMessage([{"type": "text", "text": "It is sunny."}], id="4"),
]


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


async def load(client, user=USER, thread=THREAD):
    return await DynamoThreadMessages(client, "checkpoints", cache=Cache()).load(user, thread)


async def test_the_messages_are_those_of_the_newest_checkpoint(client):
    saver = saver_on(client)
    config = put(saver, {"messages": SAID[:2]}, thread_id=THREAD)
    put(saver, {"messages": SAID, "title": "Weather"}, config, 1)
    put(saver, {"messages": [HumanMessage("of a subgraph")]}, thread_id=THREAD, checkpoint_ns="inner:1")
    assert await load(client) == SAID


async def test_a_thread_that_was_never_written_has_none(client):
    assert list(await load(client)) == []
    put(saver_on(client), {"title": "no messages yet"}, thread_id=THREAD)
    assert list(await load(client)) == []


async def test_anothers_messages_are_none(client):
    put(saver_on(client), {"messages": SAID}, thread_id=THREAD)
    assert list(await load(client, user=UserId("bob"))) == []


async def test_they_are_read_consistently_and_as_they_are_now(client):
    reader = DynamoThreadMessages(client, "checkpoints", cache=Cache())
    config = put(saver_on(client), {"messages": SAID[:1]}, thread_id=THREAD)
    assert await reader.load(USER, THREAD) == SAID[:1]
    put(saver_on(client), {"messages": SAID}, config, 1)
    with tapped(client) as wire:
        assert await reader.load(USER, THREAD) == SAID
    assert wire.counts == {"Query": 1}
    assert wire.bodies("Query")[0]["ConsistentRead"]


async def test_a_failure_is_not_an_absence(client):
    put(saver_on(client), {"messages": SAID}, thread_id=THREAD)
    with tapped(client) as wire:
        wire.fail("Query", "ProvisionedThroughputExceededException")
        with pytest.raises(StoreError):
            await load(client)
    head = next(item for item in items_of(client) if "body" in item)
    client.put_item(TableName="checkpoints", Item=head | {"body": {"B": b"\x01"}})
    with pytest.raises(CorruptItemError):
        await load(client)


async def test_a_purge_leaves_only_what_refuses_late_writes(client):
    saver = saver_on(client)
    config = put(saver, {"messages": SAID, "document": "x" * 500_000}, thread_id=THREAD, run_id="r")
    saver.put_writes(config, [("messages", "y" * 20_000)], "task")
    put(saver, {"inner": [1]}, thread_id=THREAD, checkpoint_ns="inner:1", run_id="r")
    put(saver, {"messages": SAID}, thread_id="another", run_id="r")
    purge = DynamoCheckpoints(client, "checkpoints", cache=Cache())
    for _ in range(2):
        await purge.purge(USER, THREAD)
        left = [item for item in items_of(client) if THREAD in item["pk"]["S"] or THREAD in item["sk"]["S"]]
        assert [item["state"]["S"] for item in left] == ["deleted"]
        assert "ttl" in left[0]
    assert list(await load(client)) == []
    assert await load(client, thread=ThreadId("another")) == SAID


async def test_a_purge_of_a_thread_that_never_was_is_no_error(client):
    await DynamoCheckpoints(client, "checkpoints", cache=Cache()).purge(USER, THREAD)
    assert saver_on(client).get_tuple(config_of(THREAD)) is None


async def test_a_purge_says_when_it_could_not_finish(client):
    put(saver_on(client), {"messages": SAID}, thread_id=THREAD)
    with tapped(client) as wire:
        wire.fail("BatchWriteItem", "InternalServerError")
        with pytest.raises(StoreError):
            await DynamoCheckpoints(client, "checkpoints", cache=Cache()).purge(USER, THREAD)
