"""A graph that asks a person and goes on with the answer, through HTTP."""

import pytest

from tests.fakes.asking_agent import ask, asking_agent
from tests.fakes.chat_api import USER, ChatApi, events_in
from tests.fakes.chat_model import ScriptedChatModel

BOOK = {"messages": [{"role": "user", "content": "Book the trip", "id": "h1"}]}


class Conversation:
    """One thread of an agent that asks back."""

    def __init__(self, *script):
        self.model = ScriptedChatModel(*script)
        self.api = ChatApi(self.model, make=asking_agent)
        self.client = self.api.client()
        self.thread = None

    async def run(self, **body):
        if self.thread is None:
            self.thread = (await self.client.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "stream_mode": ["values", "updates"], **body}
        return events_in((await self.client.post(f"/threads/{self.thread}/runs/stream", json=body)).text)

    async def state(self):
        return (await self.client.get(f"/threads/{self.thread}/state")).json()

    async def row(self):
        return (await self.client.get(f"/threads/{self.thread}")).json()

    async def said(self):
        return [message["content"] for message in (await self.state())["values"]["messages"]]


async def test_a_tool_asks_the_turn_waits_and_goes_on_with_the_answer():
    """G31: an interrupted turn has not ended; it ends once, when it was resumed."""
    conversation = Conversation(ask("Which day?"), "Booked.")

    asked = await conversation.run(input=BOOK)
    row, state = await conversation.row(), await conversation.state()
    ended_before = list(conversation.api.runs.events.published)
    resumed = await conversation.run(command={"resume": "Monday"})

    values = [event.data for event in asked if event.name == "values"][-1]
    assert [question["value"] for question in values["__interrupt__"]] == [{"question": "Which day?"}]
    assert asked[-1].data["status"] == "interrupted"
    assert row["status"] == "interrupted"
    assert row["interrupts"] == {state["tasks"][0]["id"]: state["tasks"][0]["interrupts"]}
    assert [each["value"] for each in state["tasks"][0]["interrupts"]] == [{"question": "Which day?"}]
    assert ended_before == []
    assert resumed[-1].data["status"] == "success"
    assert await conversation.said() == ["Book the trip", "Let me ask.", "The user says: Monday", "Booked."]
    assert (await conversation.row())["status"] == "idle"
    assert [event.outcome for event in conversation.api.runs.events.published] == ["completed"]


async def test_the_model_is_not_asked_again_what_it_had_said_already():
    conversation = Conversation(ask("Which day?"), "Booked.")

    await conversation.run(input=BOOK)
    await conversation.run(command={"resume": "Monday"})

    assert len(conversation.model.requests) == 2
    assert [message.type for message in conversation.model.requests[1].history] == ["human", "ai", "tool"]


async def test_what_an_agent_keeps_while_it_waits_is_only_what_it_added():
    """G28: and the next turn begins with the thread's messages."""
    conversation = Conversation(ask("Which day?"), "Booked.", "You are welcome.")

    await conversation.run(input=BOOK)
    kept = [each for each in conversation.api.runs.saver().list(None) if each.config["configurable"]["checkpoint_ns"]]
    await conversation.run(command={"resume": "Monday"})
    await conversation.run(input={"messages": [{"role": "user", "content": "Thanks"}]})

    (agents_own,) = kept
    assert [message.text for message in agents_own.checkpoint["channel_values"]["messages"]] == ["Let me ask."]
    last = conversation.model.requests[-1].history
    assert [message.type for message in last] == ["human", "ai", "tool", "ai", "human"]


async def test_several_questions_are_answered_by_their_ids():
    conversation = Conversation(ask("Which day?", "Which town?"), "Booked.")

    asked = await conversation.run(input=BOOK)
    values = [event.data for event in asked if event.name == "values"][-1]
    questions = (await conversation.state())["tasks"][0]["interrupts"]
    answers = {
        each["id"]: {"Which day?": "Monday", "Which town?": "Turku"}[each["value"]["question"]] for each in questions
    }
    resumed = await conversation.run(command={"resume": answers})

    assert "__interrupt__" in values
    assert len(answers) == 2
    assert resumed[-1].data["status"] == "success"
    assert (await conversation.said())[2:] == ["The user says: Monday", "The user says: Turku", "Booked."]


async def test_one_answer_to_one_of_several_questions_leaves_the_other_open():
    conversation = Conversation(ask("Which day?", "Which town?"), "Booked.")

    await conversation.run(input=BOOK)
    first, second = (await conversation.state())["tasks"][0]["interrupts"]
    halfway = await conversation.run(command={"resume": {first["id"]: "Monday"}})
    still_open = (await conversation.state())["tasks"][0]["interrupts"]
    resumed = await conversation.run(command={"resume": {second["id"]: "Turku"}})

    assert halfway[-1].data["status"] == "interrupted"
    assert second["id"] in [each["id"] for each in still_open]
    assert resumed[-1].data["status"] == "success"
    assert len(conversation.model.requests) == 2


async def test_one_answer_to_several_questions_at_once_is_an_error_and_no_hang():
    conversation = Conversation(ask("Which day?", "Which town?"), "Booked.")

    await conversation.run(input=BOOK)
    refused = await conversation.run(command={"resume": "Monday"})
    row = await conversation.row()
    questions = (await conversation.state())["tasks"][0]["interrupts"]
    resumed = await conversation.run(command={"resume": {each["id"]: "Monday" for each in questions}})

    assert (refused[-1].name, refused[-1].data["error"]) == ("error", "AMBIGUOUS_RESUME")
    assert row["status"] == "interrupted"
    assert resumed[-1].data["status"] == "success"
    assert [event.outcome for event in conversation.api.runs.events.published] == ["completed"]


@pytest.mark.parametrize(("strict", "status"), [(False, "interrupted"), (True, "error")])
async def test_an_answer_to_a_question_that_nobody_asked(strict, status):
    conversation = Conversation(ask("Which day?"), "Booked.")

    await conversation.run(input=BOOK)
    events = await conversation.run(command={"resume": {"0" * 32: "Monday"}}, strict_resume=strict)
    resumed = await conversation.run(command={"resume": "Monday"})

    assert events[-1].data.get("status", events[-1].name) == status
    assert resumed[-1].data["status"] == "success"
    assert (await conversation.api.runs.threads.get(USER, conversation.thread)).status == "idle"


async def test_a_new_question_instead_of_an_answer_lets_the_old_one_go():
    conversation = Conversation(ask("Which day?"), "Something else, then.")

    await conversation.run(input=BOOK)
    events = await conversation.run(input={"messages": [{"role": "user", "content": "Never mind", "id": "h2"}]})

    assert events[-1].data["status"] == "success"
    assert await conversation.said() == ["Book the trip", "Never mind", "Something else, then."]
