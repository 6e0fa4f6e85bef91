"""AG-UI over HTTP: every event is read with the protocol's own models."""

import asyncio
import json
from uuid import uuid4

import pytest
from ag_ui.core import Event, EventType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from shared.domain.errors import ModelThrottledError
from tests.fakes.asking_agent import ask, asking_agent
from tests.fakes.chat_api import USER, ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.images import png

EVENTS = TypeAdapter(Event)


def user(text, ident=None):
    return {"role": "user", "id": ident or f"id of {text}", "content": text}


class Client:
    """Keeps the conversation itself and sends all of it, as AG-UI clients do."""

    def __init__(self, *script, make=None):
        self.model = ScriptedChatModel(*script)
        self.api = ChatApi(self.model) if make is None else ChatApi(self.model, make=make)
        self.http = self.api.client()
        self.thread = str(uuid4())
        self.messages = []

    async def post(self, **body):
        body = {"threadId": self.thread, "runId": "run-of-the-client", "messages": self.messages, **body}
        return await self.http.post("/agui", json=body)

    async def run(self, *new, **body):
        self.messages += new
        answer = await self.post(**body)
        assert answer.status_code == 200, answer.text
        lines = [line for line in answer.text.split("\n") if line.startswith("data: ")]
        events = [EVENTS.validate_json(line.removeprefix("data: ")) for line in lines]
        assert not [extra for event in events for extra in event.model_extra or ()]
        self.messages += self._said(events)
        return events

    @staticmethod
    def _said(events):
        texts, calls = {}, {}
        for event in events:
            match event.type:
                case EventType.TEXT_MESSAGE_START:
                    texts[event.message_id] = ""
                case EventType.TEXT_MESSAGE_CONTENT:
                    texts[event.message_id] += event.delta
                case EventType.TOOL_CALL_START:
                    texts.setdefault(event.parent_message_id, "")
                    calls[event.tool_call_id] = [event.parent_message_id, event.tool_call_name, ""]
                case EventType.TOOL_CALL_ARGS:
                    calls[event.tool_call_id][2] += event.delta
        said = []
        for ident, text in texts.items():
            made = [
                {"id": call, "type": "function", "function": {"name": name, "arguments": args}}
                for call, (parent, name, args) in calls.items()
                if parent == ident
            ]
            said.append({"role": "assistant", "id": ident, "content": text, **({"toolCalls": made} if made else {})})
        said += [
            {"role": "tool", "id": event.message_id, "toolCallId": event.tool_call_id, "content": event.content}
            for event in events
            if event.type == EventType.TOOL_CALL_RESULT
        ]
        return said

    async def stored(self):
        state = (await self.http.get(f"/threads/{self.thread}/state")).json()
        return [(message["type"], message["content"], message["id"]) for message in state["values"]["messages"]]


def kinds(events):
    return [event.type.value for event in events]


async def test_an_answer_comes_word_by_word_under_the_id_it_has_in_the_thread():
    client = Client("Hello there")

    events = await client.run(user("Hi"))

    assert kinds(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert {(event.thread_id, event.run_id) for event in (events[0], events[-1])} == {
        (client.thread, "run-of-the-client")
    }
    assert events[-1].outcome.type == "success"
    assert "".join(event.delta for event in events if event.type == EventType.TEXT_MESSAGE_CONTENT) == "Hello there"
    assert await client.stored() == [("human", "Hi", "id of Hi"), ("ai", "Hello there", events[1].message_id)]


async def test_the_turn_is_one_like_every_other():
    """A lease that is given back, one turn end, and memory that is recalled for the user of the token."""
    client = Client("Hello")

    await client.run(user("Hi"))
    await client.run(user("And?"))

    row = await client.api.runs.threads.get(USER, client.thread)
    assert row.status == "idle"
    published = client.api.runs.events.published
    assert [(event.user_id, event.human_message_id, event.outcome) for event in published] == [
        (USER, "id of Hi", "completed"),
        (USER, "id of And?", "completed"),
    ]
    assert [message.type for message in client.model.requests[1].history] == ["human", "ai", "human"]


async def test_a_conversation_that_is_sent_again_is_not_stored_again():
    client = Client("one", "two")

    await client.run(user("Hi"))
    await client.run(user("And?"))

    assert [text for _, text, _ in await client.stored()] == ["Hi", "one", "And?", "two"]


async def test_a_client_without_the_threads_past_is_given_it():
    client = Client("one", "two")
    await client.run(user("Hi"))
    client.messages = []

    events = await client.run(user("And?"))

    (snapshot,) = [event for event in events if event.type == EventType.MESSAGES_SNAPSHOT]
    assert [message.content for message in snapshot.messages] == ["Hi", "one", "And?", "two"]
    assert [message.id for message in snapshot.messages] == [ident for _, _, ident in await client.stored()]


async def test_an_answered_question_that_is_sent_again_is_answered_again_in_its_place():
    client = Client("one", "two", "three")
    await client.run(user("Hi"))
    await client.run(user("And?"))
    client.messages = client.messages[:3]

    events = await client.run()

    assert "".join(event.delta for event in events if event.type == EventType.TEXT_MESSAGE_CONTENT) == "three"
    assert [text for _, text, _ in await client.stored()] == ["Hi", "one", "And?", "three"]
    assert [message.text for message in client.model.requests[2].history] == ["Hi", "one", "And?"]


async def test_the_first_question_that_is_sent_again_gets_another_answer():
    client = Client("one", "two")
    await client.run(user("Hi"))
    client.messages = client.messages[:1]

    events = await client.run()

    assert "".join(event.delta for event in events if event.type == EventType.TEXT_MESSAGE_CONTENT) == "two"
    assert [text for _, text, _ in await client.stored()] == ["Hi", "two"]
    assert [message.text for message in client.model.requests[1].history] == ["Hi"]


async def test_a_message_said_instead_of_an_answer_is_answered_again_without_going_on_with_the_open_call():
    client = Client(ask("Which day?"), "All right.", "As you like.", make=asking_agent)
    await client.run(user("Book"))
    await client.run(user("Forget it"))

    events = await client.run(messages=[*client.messages[:2], user("Forget it")])

    assert events[-1].outcome.type == "success"
    assert [text for _, text, _ in await client.stored()] == ["Book", "Forget it", "As you like."]


async def test_questions_that_came_together_are_answered_again_together():
    client = Client("one", "two", "three")
    await client.run(user("Hi"))
    await client.run(user("And?"), user("Well?"))

    await client.run(messages=client.messages[:4])

    assert [text for _, text, _ in await client.stored()] == ["Hi", "one", "And?", "Well?", "three"]


async def test_an_answered_question_that_comes_with_other_words_is_answered_again_in_these():
    client = Client("one", "two")
    await client.run(user("Hi"))

    await client.run(messages=[user("Good day", "id of Hi")])

    assert [text for _, text, _ in await client.stored()] == ["Good day", "two"]


async def test_tool_calls_and_their_results_are_told():
    client = Client(ask("Which day?"), "Booked.", make=asking_agent)

    asked = await client.run(user("Book"))
    (question,) = asked[-1].outcome.interrupts
    resumed = await client.run(resume=[{"interruptId": question.id, "status": "resolved", "payload": "Monday"}])

    start = next(event for event in asked if event.type == EventType.TOOL_CALL_START)
    assert start.tool_call_name == "ask_the_user"
    args = "".join(event.delta for event in asked if event.type == EventType.TOOL_CALL_ARGS)
    assert json.loads(args) == {"question": "Which day?"}
    assert kinds(asked).count("TOOL_CALL_END") == 1
    assert question.metadata["langgraph"]["raw"] == {"question": "Which day?"}
    result = next(event for event in resumed if event.type == EventType.TOOL_CALL_RESULT)
    assert (result.tool_call_id, result.content) == (start.tool_call_id, "The user says: Monday")
    assert resumed[-1].outcome.type == "success"
    assert [event.outcome for event in client.api.runs.events.published] == ["completed"]


async def test_a_question_that_is_turned_away_goes_on_with_the_mark_of_that():
    client = Client(ask("Which day?"), "Then not.", make=asking_agent)
    asked = await client.run(user("Book"))
    (question,) = asked[-1].outcome.interrupts

    resumed = await client.run(resume=[{"interruptId": question.id, "status": "cancelled"}])

    result = next(event for event in resumed if event.type == EventType.TOOL_CALL_RESULT)
    assert "__agui_cancelled__" in result.content


async def test_a_new_message_instead_of_an_answer_begins_a_turn_without_the_open_call():
    client = Client(ask("Which day?"), "All right.", make=asking_agent)
    await client.run(user("Book"))

    events = await client.run(user("Forget it"))

    assert events[-1].outcome.type == "success"
    assert [text for _, text, _ in await client.stored()] == ["Book", "Forget it", "All right."]


async def test_an_answer_and_a_new_message_exclude_each_other():
    client = Client(ask("Which day?"), make=asking_agent)
    asked = await client.run(user("Book"))
    answer = {"interruptId": asked[-1].outcome.interrupts[0].id, "status": "resolved", "payload": "Monday"}

    refused = await client.post(messages=[*client.messages, user("And more")], resume=[answer])

    assert (refused.status_code, refused.json()["detail"].split(":")[0]) == (422, "resume")


async def test_an_answer_to_a_question_that_is_not_open_is_an_error():
    client = Client(ask("Which day?"), make=asking_agent)
    await client.run(user("Book"))

    events = await client.run(resume=[{"interruptId": "0" * 32, "status": "resolved", "payload": "Monday"}])

    assert (events[-1].type.value, events[-1].code) == ("RUN_ERROR", "UNKNOWN_INTERRUPT")


async def test_a_model_that_fails_is_told_as_the_last_event_and_by_a_code_only():
    client = Client(ModelThrottledError("secret"), "fine")

    events = await client.run(user("Hi"))

    assert kinds(events) == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1].code == "MODEL_THROTTLED"
    assert "secret" not in events[-1].model_dump_json()
    again = await client.run()
    assert again[-1].outcome.type == "success"


async def test_a_stopped_run_is_told_as_cancelled_with_what_was_said():
    async def stop(place):
        if place == 1:
            (run,) = (await client.http.get(f"/threads/{client.thread}/runs")).json()
            await client.http.post(f"/threads/{client.thread}/runs/{run['run_id']}/cancel")
            await asyncio.Event().wait()

    client = Client(Say("one two three", before_token=stop))

    events = await client.run(user("Count"))

    assert events[-1].outcome.type == "cancelled"
    assert [text for _, text, _ in await client.stored()] == ["Count", "one"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"tools": [{"name": "t", "description": "", "parameters": {}}]}, "tools"),
        ({"context": [{"description": "d", "value": "v"}]}, "context"),
        ({"state": {"a": 1}}, "state"),
        ({"surprise": 1}, "surprise"),
        ({"threadId": "no uuid"}, "UUID"),
        ({"threadId": 1}, "threadId"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "id": "s", "content": "You are"}]}, "system"),
        ({"messages": [{"role": "user", "id": "u", "content": " "}]}, "messages"),
        ({"messages": [{"role": "assistant", "id": "a", "content": "Hi"}]}, "answer already"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "id": "u",
                        "content": [{"type": "image", "source": {"type": "url", "value": "https://a.test/b.png"}}],
                    }
                ]
            },
            "images",
        ),
        ({"messages": [{"role": "tool", "id": "t", "content": "4"}]}, "messages.0.tool.toolCallId"),
        *(
            ({"messages": [{"role": "user", "id": "u", "content": [part]}]}, named)
            for part, named in (
                (
                    {"type": "document", "source": {"type": "url", "value": "https://a.test/b", "mimeType": "a/b"}},
                    "texts",
                ),
                ({"type": "binary", "mimeType": "application/pdf", "url": "https://a.test/b.pdf"}, "texts"),
                ({"type": "binary", "mimeType": "application/pdf", "data": "no base64"}, "base64"),
                ({"type": "binary", "mimeType": "image/png", "url": "https://a.test/b.png"}, "images"),
                ({"type": "binary", "mimeType": "image/png"}, "messages.0.user.content"),
                ({"type": "binary", "mimeType": "image/tiff", "data": "aGk="}, "image/png"),
                ({"type": "binary", "mimeType": "image/png", "data": "no base64"}, "base64"),
                ({"type": "audio", "source": {"type": "data", "value": "aGk=", "mimeType": "audio/mp3"}}, "texts"),
            )
        ),
        ({"messages": [], "resume": [{"interruptId": "x", "status": "resolved"}]}, "resume.0.interruptId"),
        (
            {
                "messages": [],
                "resume": [
                    {"interruptId": "0" * 32, "status": "resolved", "payload": {"type": "file", "base64": "aGk="}}
                ],
            },
            "file_id",
        ),
    ],
)
async def test_what_is_not_supported_is_refused_by_name(body, named):
    client = Client()

    answer = await client.post(**{"messages": [user("Hi")], **body})

    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert client.model.requests == []


@pytest.mark.parametrize("content", [b"", b"[", b"[]", b"null", b'{"threadId": NaN}'])
async def test_what_is_no_request_is_refused(content):
    api = ChatApi()
    async with api.client() as http:
        assert (await http.post("/agui", content=content)).status_code == 422


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ANY_MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "reasoning", "activity"]), "id": st.text()},
    optional={
        "content": st.text() | ANYTHING,
        "toolCallId": st.text() | ANYTHING,
        "toolCalls": st.lists(
            st.fixed_dictionaries(
                {"id": st.text(), "function": st.fixed_dictionaries({"name": st.text(), "arguments": st.text()})}
            ),
            max_size=2,
        ),
        "error": ANYTHING,
    },
)


def test_any_body_is_taken_or_refused():
    api, statuses = ChatApi(), set()

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(ANY_MESSAGE, max_size=3),
        st.sampled_from([[], [user("Hi")]]),
        st.fixed_dictionaries(
            {}, optional={"resume": ANYTHING, "state": ANYTHING, "forwardedProps": ANYTHING, "runId": ANYTHING}
        ),
    )
    def send(before, last, more):
        async def once():
            async with api.client() as http:
                thread = str(uuid4())
                body = {"threadId": thread, "runId": "r", "messages": [*before, *last], **more}
                content, headers = json.dumps(body), {"content-type": "application/json"}
                answer = await http.post("/agui", content=content, headers=headers)
                assert answer.status_code in {200, 422}, (answer.status_code, answer.text)
                statuses.add(answer.status_code)
                if answer.status_code == 200:
                    assert '"RUN_FINISHED"' in answer.text
                    assert (await api.runs.threads.get(USER, thread)).status == "idle"

        asyncio.run(once())

    send()
    assert statuses == {200, 422}


async def test_nobody_is_answered():
    api = ChatApi()
    async with api.client(user=None) as http:
        assert (await http.post("/agui", json={})).status_code == 401


async def test_who_comes_back_finds_the_run_and_follows_it_as_every_other():
    client = Client("Hello there.")
    client.messages.append(user("Hi"))
    answer = await client.post(runId="run 1 of the client")
    place = answer.headers["location"]
    (run,) = (await client.http.get(f"/threads/{client.thread}/runs")).json()

    joined = events_in((await client.http.get(place)).text)

    assert place == f"/threads/{client.thread}/runs/{run['run_id']}/stream"
    assert run["metadata"] == {"agui_run_id": "run 1 of the client"}
    tokens = [event.data[0]["content"] for event in joined if event.name == "messages"]
    assert "".join(tokens) == "Hello there."
    assert (joined[0].data["run_id"], joined[-1].data["status"]) == (run["run_id"], "success")


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "source": {"type": "data", "value": png(), "mimeType": "image/png"}},
        {"type": "binary", "mimeType": "image/png", "data": png(), "filename": "dot.png"},
    ],
    ids=["image", "as before version 1"],
)
async def test_an_image_in_the_message_reaches_the_model_and_comes_back(image):
    client = Client("A dot.", "Still a dot.")
    await client.run({"role": "user", "id": "u1", "content": [{"type": "text", "text": "What is it?"}, image]})
    client.messages = []

    events = await client.run(user("Sure?"))

    (snapshot,) = [event for event in events if event.type == EventType.MESSAGES_SNAPSHOT]
    first = snapshot.messages[0]
    assert [part.type for part in first.content] == ["text", "image"]
    assert first.content[1].source.value == png()
    assert client.model.requests[0].history[0].content[1]["base64"] == png()
