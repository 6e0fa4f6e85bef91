"""States changed from outside a run, states at a checkpoint, and copies of threads."""

import asyncio
import uuid

import pytest

from shared.domain.errors import StoreError
from tests.fakes.asking_agent import ask, asking_agent
from tests.fakes.chat_api import OTHER, USER, ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel

MISSING = "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"


class Conversation:
    def __init__(self, *script, **options):
        self.api = ChatApi(ScriptedChatModel(*script), **options)
        self.client = self.api.client()
        self.thread = None

    async def begin(self):
        self.thread = (await self.client.post("/threads", json={"metadata": {"title": "T", "a": 1}})).json()[
            "thread_id"
        ]
        return self

    async def say(self, text, **body):
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": text, "id": text}]}, **body}
        return events_in((await self.client.post(f"/threads/{self.thread}/runs/stream", json=body)).text)

    async def state(self, thread=None):
        return (await self.client.get(f"/threads/{thread or self.thread}/state")).json()

    async def said(self, thread=None):
        return [message["content"] for message in (await self.state(thread))["values"].get("messages", [])]

    async def change(self, **body):
        return await self.client.post(f"/threads/{self.thread}/state", json=body)

    async def state_at(self, **body):
        return await self.client.post(f"/threads/{self.thread}/state/checkpoint", json=body)

    async def copy(self):
        return await self.client.post(f"/threads/{self.thread}/copy")


# Changes


async def test_a_message_is_changed_added_and_removed():
    """Decision 12: update_state."""
    conversation = await Conversation("One.", "Two.", "Three.").begin()
    await conversation.say("a")
    first, answer = (await conversation.state())["values"]["messages"]
    before = await conversation.state()
    changed = await conversation.change(
        values={
            "messages": [
                {"type": "human", "content": "A", "id": first["id"]},
                {"type": "remove", "id": answer["id"]},
                {"type": "ai", "content": "Better.", "id": "b1"},
            ]
        }
    )
    after = await conversation.state()
    await conversation.say("b")

    assert changed.status_code == 200
    assert changed.json()["checkpoint"] == changed.json()["configurable"] == after["checkpoint"]
    assert after["parent_checkpoint"] == before["checkpoint"]
    assert [message["content"] for message in after["values"]["messages"]] == ["A", "Better."]
    assert (after["next"], after["metadata"]["source"]) == ([], "update")
    assert [message.text for message in conversation.api.model.requests[-1].messages] == ["A", "Better.", "b"]


async def test_a_run_may_change_messages_before_it_goes_on():
    conversation = await Conversation("One.", "Two.").begin()
    await conversation.say("a")
    answer = (await conversation.state())["values"]["messages"][1]["id"]
    update = {"messages": [{"type": "remove", "id": answer}, {"type": "human", "content": "b", "id": "b"}]}
    await conversation.say("", input=None, command={"update": update, "goto": "chat_agent"})
    body = {"assistant_id": "agent", "command": {"update": {"messages": [{"type": "remove", "id": "x"}]}}}
    refused = await conversation.client.post(f"/threads/{conversation.thread}/runs/stream", json=body)

    assert await conversation.said() == ["a", "b", "Two."]
    assert (refused.status_code, "command.update.messages" in refused.text) == (422, True)


async def test_a_change_is_no_turn():
    conversation = await Conversation().begin()
    await conversation.change(values={"messages": [{"type": "human", "content": "Hi"}]})
    row = await conversation.api.runs.threads.get(USER, conversation.thread)

    assert conversation.api.runs.events.published == []
    assert await conversation.said() == ["Hi"]
    assert (row.lease.until, row.run) == (conversation.api.runs.clock.now(), None)


async def test_a_change_as_an_earlier_node_leaves_the_next_ones_to_be_run():
    conversation = await Conversation("Answer.").begin()
    question = {"messages": [{"type": "human", "content": "Hi", "id": "h"}]}
    await conversation.change(values=question, as_node="confirm")
    waiting, thread = (
        await conversation.state(),
        (await conversation.client.get(f"/threads/{conversation.thread}")).json(),
    )
    await conversation.say("", input=None)

    assert (waiting["next"], thread["status"]) == (["chat_agent"], "interrupted")
    assert await conversation.said() == ["Hi", "Answer."]
    assert (await conversation.state())["next"] == []


async def test_a_change_at_an_earlier_checkpoint_is_a_branch():
    conversation = await Conversation("One.", "Two.", "Three.").begin()
    await conversation.say("a")
    early = (await conversation.state())["checkpoint"]
    await conversation.say("b")
    changed = await conversation.change(values={"messages": [{"type": "human", "content": "c"}]}, checkpoint=early)
    state = await conversation.state()

    assert state["checkpoint"] == changed.json()["checkpoint"]
    assert state["parent_checkpoint"] == early
    assert await conversation.said() == ["a", "One.", "c"]


async def test_what_is_open_can_be_let_go():
    conversation = await Conversation("Done.").begin()
    await conversation.say("please confirm")
    changed = await conversation.change(values=None, as_node="__end__")
    state = await conversation.state()

    assert changed.status_code == 200
    assert (state["next"], state["tasks"]) == ([], [])
    assert (await conversation.client.get(f"/threads/{conversation.thread}")).json()["status"] == "idle"


async def test_a_thread_that_a_run_holds_is_a_conflict():
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(_place):
        reached.set()
        await opened.wait()

    conversation = await Conversation(Say("Slow", before_token=wait)).begin()
    saying = asyncio.create_task(conversation.say("a"))
    await reached.wait()
    refused = await conversation.change(values={"messages": [{"type": "human", "content": "b"}]})
    opened.set()
    await saying

    assert (refused.status_code, refused.headers["retry-after"]) == (409, "30")
    assert await conversation.said() == ["a", "Slow"]


async def test_a_change_that_fails_leaves_the_thread_free():
    conversation = await Conversation("One.").begin()
    await conversation.say("a")
    conversation.api.runs.saver().failures["put"] = StoreError("down")
    refused = await conversation.change(values={"messages": [{"type": "human", "content": "b"}]})
    row = await conversation.api.runs.threads.get(USER, conversation.thread)

    assert refused.status_code == 503
    assert row.status == "idle"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"values": {"routing": {}}}, "values.routing"),
        ({"values": {"messages": [{"type": "remove"}]}}, "values.messages.0.id"),
        ({"values": {"messages": [{"type": "remove", "id": "nobody"}]}}, "values.messages"),
        ({"values": {"messages": [{"type": "odd"}]}}, "values.messages.0"),
        ({"values": {"messages": [{"type": "human", "content": "b"}]}, "as_node": "nowhere"}, "as_node"),
        ({"values": {"messages": [{"type": "human", "content": "b"}]}, "as_node": "__end__"}, "as_node"),
        ({"values": {"messages": []}, "checkpoint": {"checkpoint_ns": "a:1"}}, "checkpoint.checkpoint_ns"),
        ({"values": {"messages": []}, "checkpoint": {"thread_id": MISSING}}, "checkpoint.thread_id"),
        ({"values": {"messages": []}, "checkpoint_id": "latest"}, "checkpoint_id"),
        ({"surprise": 1}, "surprise"),
    ],
)
async def test_a_change_that_does_not_fit_is_refused_and_told_why(body, named):
    conversation = await Conversation("One.").begin()
    await conversation.say("a")
    before = await conversation.state()
    refused = await conversation.change(**body)

    assert refused.status_code == 422
    assert named in refused.json()["detail"]
    assert await conversation.state() == before


async def test_nobody_changes_another_users_thread():
    conversation = await Conversation("One.").begin()
    path = f"/threads/{conversation.thread}"
    async with conversation.api.client(OTHER) as other:
        answers = [
            await other.post(f"{path}/state", json={"values": {"messages": []}}),
            await other.post(f"{path}/state/checkpoint", json={"checkpoint": {}}),
            await other.post(f"{path}/copy"),
        ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


async def test_a_checkpoint_that_is_not_there_is_a_404():
    conversation = await Conversation("One.").begin()
    await conversation.say("a")
    somewhere = str(uuid.uuid4())

    assert (await conversation.change(values={"messages": []}, checkpoint_id=somewhere)).status_code == 404
    assert (await conversation.state_at(checkpoint={"checkpoint_id": somewhere})).status_code == 404
    assert (await conversation.state_at(checkpoint={"checkpoint_ns": "nobody:1"})).status_code == 404


# States at a checkpoint


async def test_a_state_is_found_by_its_checkpoint():
    conversation = await Conversation("One.", "Two.").begin()
    empty = (await conversation.state_at(checkpoint={"checkpoint_ns": ""})).json()
    await conversation.say("a")
    early = await conversation.state()
    await conversation.say("b")

    assert (await conversation.state_at(checkpoint=early["checkpoint"])).json() == early
    assert (await conversation.state_at(checkpoint={})).json() == await conversation.state()
    assert empty["values"] == {}


async def test_the_state_of_an_agent_that_waits_is_found_by_its_namespace():
    conversation = await Conversation(ask("Which day?"), make=asking_agent).begin()
    await conversation.say("Book")
    (task,) = (await conversation.state())["tasks"]
    inner = (await conversation.state_at(checkpoint=task["checkpoint"])).json()
    deep = (await conversation.state_at(checkpoint={}, subgraphs=True)).json()

    assert [message["content"] for message in inner["values"]["messages"]] == ["Let me ask."]
    assert inner["next"] == ["tools"]
    assert deep["tasks"][0]["state"]["values"] == inner["values"]


async def test_a_map_of_checkpoints_is_refused_by_its_name():
    conversation = await Conversation().begin()
    refused = await conversation.state_at(checkpoint={"checkpoint_map": {"": "x"}})

    assert refused.status_code == 422
    assert "checkpoint.checkpoint_map" in refused.json()["detail"]


# Copies


async def test_a_copy_has_all_that_was_said_and_goes_its_own_way():
    conversation = await Conversation("One.", "Two.", "Three.").begin()
    await conversation.say("a")
    copied = (await conversation.copy()).json()
    await conversation.say("b")
    copy = copied["thread_id"]
    body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "c"}]}}
    await conversation.client.post(f"/threads/{copy}/runs/stream", json=body)
    history = (await conversation.client.get(f"/threads/{copy}/history")).json()

    assert copy != conversation.thread
    assert (copied["metadata"]["title"], copied["metadata"]["a"]) == ("T", 1)
    assert copied["values"]["messages"][0]["content"] == "a"
    assert await conversation.said() == ["a", "One.", "b", "Two."]
    assert await conversation.said(copy) == ["a", "One.", "c", "Three."]
    assert {state["checkpoint"]["thread_id"] for state in history} == {copy}
    assert len(history) == 3
    assert (await conversation.client.get(f"/threads/{copy}/runs")).json() != []


async def test_a_copy_of_a_thread_that_waits_waits_too():
    conversation = await Conversation(ask("Which day?"), "Booked.", make=asking_agent).begin()
    await conversation.say("Book")
    copy = (await conversation.copy()).json()
    body = {"assistant_id": "agent", "command": {"resume": "Monday"}}
    await conversation.client.post(f"/threads/{copy['thread_id']}/runs/stream", json=body)

    assert copy["status"] == "interrupted"
    assert await conversation.said(copy["thread_id"]) == ["Book", "Let me ask.", "The user says: Monday", "Booked."]
    assert (await conversation.state())["next"] != []


async def test_an_empty_thread_can_be_copied():
    conversation = await Conversation().begin()
    copy = (await conversation.copy()).json()["thread_id"]

    assert (await conversation.state(copy))["values"] == {}


async def test_a_copy_that_fails_is_not_there():
    conversation = await Conversation("One.").begin()
    await conversation.say("a")
    conversation.api.runs.saver().failures["copy"] = StoreError("down")
    failed = await conversation.copy()
    listed = (await conversation.client.post("/threads/search", json={})).json()

    assert failed.status_code == 503
    assert [thread["thread_id"] for thread in listed] == [conversation.thread]
    assert len(conversation.api.queue.queued) == 1
