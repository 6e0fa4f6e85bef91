"""The first message of a thread is edited and regenerated as every other one: from the place before it."""

import pytest

from shared.domain.root_checkpoint import root_checkpoint_id
from tests.fakes.chat_api import ChatApi
from tests.fakes.chat_model import ScriptedChatModel


def first_seen(history, message_id):
    """The state that a message came with, as the stock JS client finds it: the oldest that has it."""
    having = [state for state in history if message_id in [each["id"] for each in state["values"]["messages"]]]
    return having[-1]


async def said_in(sdk, thread):
    return [message["content"] for message in (await sdk.threads.get_state(thread))["values"]["messages"]]


async def say(sdk, thread, text, **options):
    given = None if text is None else {"messages": [{"role": "user", "content": text}]}
    return [part async for part in sdk.runs.stream(thread, "agent", input=given, **options)]


async def a_talk(sdk, *texts):
    thread = (await sdk.threads.create())["thread_id"]
    for text in texts:
        await say(sdk, thread, text)
    return thread


@pytest.mark.parametrize("durability", ["exit", "async"])
async def test_the_first_question_is_edited(durability):
    sdk = ChatApi(ScriptedChatModel("One.", "Two.", "Other.", "More.")).sdk()
    thread = await a_talk(sdk, "a", "b")
    history = await sdk.threads.get_history(thread)
    question = history[0]["values"]["messages"][0]
    parent = first_seen(history, question["id"])["parent_checkpoint"]

    await say(sdk, thread, "A", checkpoint=parent, durability=durability)
    edited = await said_in(sdk, thread)
    await say(sdk, thread, "B")

    assert parent["checkpoint_id"] == root_checkpoint_id(thread)
    assert edited == ["A", "Other."]
    assert await said_in(sdk, thread) == ["A", "Other.", "B", "More."]


async def test_the_first_answer_is_made_again():
    api = ChatApi(ScriptedChatModel("One.", "Two.", "Better."))
    sdk = api.sdk()
    thread = await a_talk(sdk, "a", "b")
    history = await sdk.threads.get_history(thread)
    answer = history[0]["values"]["messages"][1]
    await say(sdk, thread, None, checkpoint=first_seen(history, answer["id"])["parent_checkpoint"])

    assert await said_in(sdk, thread) == ["a", "Better."]
    assert [message.text for message in api.model.requests[-1].messages] == ["a"]


async def test_both_firsts_are_branches_of_one_place_and_the_chain_is_unbroken():
    sdk = ChatApi(ScriptedChatModel("One.", "Two.", "Three.")).sdk()
    thread = await a_talk(sdk, "a", "b")
    root = {"checkpoint_id": root_checkpoint_id(thread), "thread_id": thread, "checkpoint_ns": ""}
    await say(sdk, thread, "A", checkpoint=root)
    history = await sdk.threads.get_history(thread)
    ids = [state["checkpoint"]["checkpoint_id"] for state in history]
    parents = [state["parent_checkpoint"] and state["parent_checkpoint"]["checkpoint_id"] for state in history]

    assert ids == sorted(ids, reverse=True)
    assert parents == [ids[3], ids[2], ids[3], None]
    assert history[-1]["checkpoint"] == root
    assert history[-1]["values"] == {"messages": []}
    assert await sdk.threads.get_state(thread, checkpoint_id=ids[3]) == history[-1]
    assert await sdk.threads.get_state(thread, checkpoint=root) == history[-1]


async def test_the_state_is_changed_before_the_first_turn():
    sdk = ChatApi(ScriptedChatModel("One.", "Two.")).sdk()
    thread = await a_talk(sdk, "a")
    root = (await sdk.threads.get_state(thread))["parent_checkpoint"]
    change = {"messages": [{"role": "user", "content": "Once", "id": "x"}, {"role": "assistant", "content": "upon"}]}
    await sdk.threads.update_state(thread, change, as_node="trigger_background_agent", checkpoint=root)
    changed = await sdk.threads.get_state(thread)
    await say(sdk, thread, "b")

    assert changed["parent_checkpoint"] == root
    assert await said_in(sdk, thread) == ["Once", "upon", "b", "Two."]


async def test_every_checkpoint_that_is_streamed_has_a_parent():
    sdk = ChatApi().sdk()
    thread = (await sdk.threads.create())["thread_id"]
    parts = await say(sdk, thread, "a", stream_mode="checkpoints")
    told = [part.data for part in parts if part.event == "checkpoints"]

    assert told[0]["parent_checkpoint"]["checkpoint_id"] == root_checkpoint_id(thread)
    assert [each["parent_checkpoint"] for each in told[1:]] == [each["checkpoint"] for each in told[:-1]]


async def test_metadata_of_the_place_before_all_is_filtered_as_every_states():
    api = ChatApi()
    sdk = api.sdk()
    thread = await a_talk(sdk, "a")

    assert [state["metadata"]["step"] for state in await sdk.threads.get_history(thread, metadata={"step": -1})] == [-1]
    assert [state["next"] for state in await sdk.threads.get_history(thread, metadata={"run_id": "x"})] == []


async def test_nothing_is_open_and_nothing_follows_where_nothing_was_said():
    api = ChatApi()
    sdk = api.sdk()
    thread = (await sdk.threads.create())["thread_id"]
    body = {"assistant_id": "agent", "checkpoint_id": root_checkpoint_id(thread)}
    async with api.client() as client:
        again = await client.post(f"/threads/{thread}/runs/stream", json=body)
        resumed = await client.post(f"/threads/{thread}/runs/stream", json={**body, "command": {"resume": 1}})
        begun = await client.post(
            f"/threads/{thread}/runs/stream", json={**body, "input": {"messages": [{"role": "user", "content": "a"}]}}
        )

    assert (again.status_code, resumed.status_code, begun.status_code) == (422, 422, 200)
    assert await said_in(sdk, thread) == ["a", "ok"]
