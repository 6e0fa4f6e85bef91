"""Files in messages over HTTP: no bytes stay in rows or checkpoints, and what clients get they can send again."""

import base64
import json

import pytest

from shared.domain.errors import StoreError
from tests.fakes.agent_turns import Turns
from tests.fakes.chat_api import OTHER, USER, ChatApi
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.chat_model import ScriptedChatModel

BYTES = b"# Herons\n\nThe heron nests in March."
DATA = base64.b64encode(BYTES).decode()
THREAD = "7c9f8f3e-5d0f-4a53-8a39-0d6d7c0c9b12"


def chat_that_says(*script):
    library = ChatKnowledge()
    api = ChatApi(
        ScriptedChatModel(*script),
        make=lambda model: Turns(chat=model, library=library).graph,
        take_in=library.files.take_in,
    )
    return api, library


@pytest.fixture
def chat():
    return chat_that_says(*["In March."] * 4)


async def say(api, *parts, user=USER, ident="h1", thread=THREAD):
    message = {"role": "user", "id": ident, "content": list(parts)}
    body = {"assistant_id": "agent", "input": {"messages": [message]}, "if_not_exists": "create"}
    return await api.client(user).post(f"/threads/{thread}/runs/wait", json=body)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "base64": DATA, "mime_type": "text/markdown", "filename": "herons.md"},
        {"type": "file", "mimeType": "text/markdown", "data": DATA, "metadata": {"filename": "herons.md"}},
        {
            "type": "file",
            "source_type": "base64",
            "mime_type": "text/markdown",
            "data": DATA,
            "metadata": {"name": "herons.md"},
        },
        {"type": "file", "file": {"filename": "herons.md", "file_data": f"data:text/markdown;base64,{DATA}"}},
        {"type": "file", "url": f"data:text/markdown;base64,{DATA}", "filename": "herons.md"},
    ],
    ids=["langchain", "agent-chat-ui", "langchain 0.3", "openai", "data url"],
)
async def test_each_shape_of_a_file_is_answered_in_the_same_turn(chat, part):
    api, library = chat
    reply = await say(api, {"type": "text", "text": "When?"}, part)

    assert reply.status_code == 200, reply.text
    (record,) = await library.base.documents.of_user(USER)
    assert record.name == "herons.md"
    assert "The heron nests in March." in str(api.model.requests[0].messages)
    asked = reply.json()["messages"][0]["content"]
    assert asked[1]["filename"] == f"[kb:{record.id}] herons.md"
    assert DATA not in reply.text


async def test_no_bytes_reach_the_threads_row_or_a_checkpoint(chat):
    api, _ = chat
    kept = []
    acquire = api.runs.threads.acquire

    async def noting(*args, **options):
        kept.append(options["pending"])
        return await acquire(*args, **options)

    api.runs.threads.acquire = noting
    await say(api, {"type": "text", "text": "When?"}, {"type": "file", "base64": DATA, "filename": "herons.md"})

    assert "herons.md" in json.dumps(kept)
    saver = api.runs.savers[USER]
    assert DATA not in json.dumps(kept) + str(saver.storage) + str(saver.blobs) + str(saver.writes)


async def test_a_client_can_send_back_what_it_was_given(chat):
    api, library = chat
    first = (
        await say(api, {"type": "text", "text": "When?"}, {"type": "file", "base64": DATA, "filename": "a.md"})
    ).json()

    again = await say(api, *first["messages"][0]["content"], ident="h1")
    more = await say(api, {"type": "text", "text": "And?"}, *first["messages"][0]["content"][1:], ident="h2")

    assert (again.status_code, more.status_code) == (200, 200)
    assert more.json()["messages"][0] == first["messages"][0]
    assert library.base.objects.calls["write"] == 1


async def test_a_file_that_another_has_cannot_be_named(chat):
    api, library = chat
    theirs = await library.upload("secret.md", BYTES.decode(), user=OTHER)

    parts = [{"type": "file", "file_id": theirs.id, "filename": "x.md"}, {"type": "kb_ref", "docId": theirs.id}]
    reply = await say(api, {"type": "text", "text": "What is in it?"}, *parts)

    assert reply.status_code == 200
    assert "March" not in str(api.model.requests[0].messages)


async def test_an_upload_can_be_named_by_its_id(chat):
    api, library = chat
    mine = await library.upload("mine.md", BYTES.decode(), user=USER)

    await say(api, {"type": "text", "text": "When?"}, {"type": "file", "file_id": mine.id, "filename": "mine.md"})

    assert "The heron nests in March." in str(api.model.requests[0].messages)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"type": "file", "url": "https://example.org/a.pdf", "filename": "a.pdf"}, "nothing is fetched"),
        ({"type": "file", "filename": "a.pdf"}, "base64"),
        ({"type": "file", "base64": "%%%", "filename": "a.pdf"}, "base64"),
        ({"type": "file", "file_id": "../x", "filename": "a.pdf"}, "document"),
        ({"type": "kb_ref", "docId": "users/x"}, "document"),
    ],
)
async def test_what_is_no_file_is_refused_by_its_place(chat, part, why):
    api, _ = chat
    reply = await say(api, {"type": "text", "text": "?"}, part)

    assert reply.status_code in (400, 422)
    assert why in reply.text
    assert "input.messages.0.content.1" in reply.text


async def test_a_state_that_is_changed_keeps_no_bytes_either(chat):
    api, library = chat
    thread = (await api.client().post("/threads", json={})).json()["thread_id"]
    message = {"role": "user", "content": [{"type": "file", "base64": DATA, "filename": "herons.md"}]}

    changed = await api.client().post(f"/threads/{thread}/state", json={"values": {"messages": [message]}})

    assert changed.status_code == 200, changed.text
    state = (await api.client().get(f"/threads/{thread}/state")).text
    assert DATA not in state
    assert len(await library.base.documents.of_user(USER)) == 1


@pytest.mark.parametrize("path", ["/runs/wait", "/runs/stream"])
async def test_a_file_that_cannot_be_stored_is_told_by_a_status_that_is_documented(chat, path):
    api, library = chat
    library.base.objects.failures["write"] = StoreError("s3")
    message = {"role": "user", "content": [{"type": "file", "base64": DATA, "filename": "herons.md"}]}

    reply = await api.client().post(path, json={"assistant_id": "agent", "input": {"messages": [message]}})

    assert reply.status_code == 503
    assert "503" in api.app.openapi()["paths"][path]["post"]["responses"]


async def test_a_run_without_a_thread_reads_files_too(chat):
    api, _ = chat
    message = {"role": "user", "content": [{"type": "file", "base64": DATA, "filename": "herons.md"}]}

    reply = await api.client().post("/runs/wait", json={"assistant_id": "agent", "input": {"messages": [message]}})

    assert reply.status_code == 200, reply.text
    assert "The heron nests in March." in str(api.model.requests[0].messages)


@pytest.mark.parametrize(
    "part",
    [
        {
            "type": "document",
            "source": {"type": "data", "value": DATA, "mimeType": "text/markdown"},
            "metadata": {"filename": "herons.md"},
        },
        {"type": "binary", "mimeType": "text/markdown", "data": DATA, "filename": "herons.md"},
    ],
    ids=["document", "as before version 1"],
)
async def test_an_agui_client_sends_a_document_and_resends_the_conversation(chat, part):
    api, library = chat
    asked = {"id": "h1", "role": "user", "content": [{"type": "text", "text": "When?"}, part]}
    body = {"threadId": THREAD, "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}

    first = await api.client().post("/agui", json={**body, "messages": [asked]})
    more = {"id": "h2", "role": "user", "content": "And where?"}
    await api.client().post("/agui", json={**body, "messages": [asked, more]})

    assert "RUN_FINISHED" in first.text
    assert [record.name for record in await library.base.documents.of_user(USER)] == ["herons.md"]
    assert library.base.objects.calls["write"] == 1
    assert "The heron nests in March." in str(api.model.requests[-1].messages)


async def test_another_file_under_an_id_that_is_answered_is_refused_and_the_same_is_not(chat):
    api, _ = chat
    asked = {"type": "text", "text": "When?"}
    first = {"type": "file", "base64": DATA, "filename": "a.md"}
    other = {**first, "base64": base64.b64encode(b"The egret.").decode()}
    await say(api, asked, first)

    same, different = await say(api, asked, first), await say(api, asked, other)

    assert (same.status_code, different.status_code) == (200, 422)
    assert len(api.model.requests) == 1


FILES = [
    {"type": "file", "base64": DATA, "mime_type": "text/markdown", "filename": "herons.md"},
    {"type": "file", "file": {"filename": "herons.md", "file_data": f"data:text/markdown;base64,{DATA}"}},
]


@pytest.mark.parametrize("part", FILES, ids=["langchain", "openai"])
@pytest.mark.parametrize("where", ["command.resume", "command.goto.1.input"])
async def test_bytes_that_would_go_into_a_checkpoint_as_they_are_are_refused_by_their_place(chat, part, where):
    api, _ = chat
    await say(api, {"type": "text", "text": "When?"})
    given = {"messages": [{"role": "user", "content": [{"type": "text", "text": "And?"}, part]}]}
    goto = [{"node": "chat_agent", "input": {}}, {"node": "chat_agent", "input": given}]
    command = {"resume": given} if where == "command.resume" else {"goto": goto}

    body = {"assistant_id": "agent", "command": command}
    reply = await api.client().post(f"/threads/{THREAD}/runs/wait", json=body)

    assert reply.status_code == 422, reply.text
    assert where in reply.text
    assert DATA not in reply.text


async def test_a_file_of_an_update_that_goes_past_its_agent_is_shown_and_not_sent(chat):
    api, library = chat
    await say(api, {"type": "text", "text": "When?"})
    message = {"role": "user", "id": "h2", "content": [{"type": "text", "text": "And?"}, FILES[0]]}
    await library.upload("herons.md", BYTES.decode(), user=USER)

    command = {"update": {"messages": [message]}, "goto": "chat_agent"}
    body = {"assistant_id": "agent", "command": command}
    reply = await api.client().post(f"/threads/{THREAD}/runs/wait", json=body)

    assert reply.status_code == 200, reply.text
    asked = api.model.requests[-1].history[-1].content
    assert {part["type"] for part in asked} == {"text"}
    assert "The heron nests in March." in str(asked)


AGUI_BODY = {"threadId": THREAD, "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
AGUI_FILE = {
    "type": "document",
    "source": {"type": "data", "value": DATA, "mimeType": "text/markdown"},
    "metadata": {"filename": "herons.md"},
}
WORDS = {"type": "text", "text": "When?"}
NAMED = {"type": "text", "text": "[file: herons.md]"}


class Reloaded:
    """An AG-UI client that has only what the thread's snapshot showed it, as after its page was loaded anew."""

    def __init__(self, *script):
        self.api, _ = chat_that_says(*script)
        self.messages = []

    async def run(self, *messages):
        answer = await self.api.client().post("/agui", json={**AGUI_BODY, "messages": messages})
        assert answer.status_code == 200, answer.text
        lines = [line for line in answer.text.split("\n") if line.startswith("data: ")]
        for event in (json.loads(line.removeprefix("data: ")) for line in lines):
            self.messages = event.get("messages", self.messages)

    async def stored(self):
        state = (await self.api.client().get(f"/threads/{THREAD}/state")).json()
        return [(message["type"], message["content"]) for message in state["values"]["messages"]]

    async def asked(self):
        return [content for kind, content in await self.stored() if kind == "human"]


def asking(*parts):
    return {"id": "h1", "role": "user", "content": list(parts)}


async def test_a_question_that_is_answered_again_from_a_snapshot_keeps_its_file():
    client = Reloaded("Hello.", "In March.", "In April.")
    await client.run({"id": "h0", "role": "user", "content": "Hi"})
    await client.run(asking(WORDS, AGUI_FILE))
    asked = await client.asked()
    shown = client.messages[2]

    await client.run(*client.messages[:3])

    assert [part["text"] for part in shown["content"]] == ["When?", "[file: herons.md]"]
    assert [part["type"] for part in asked[1]] == ["text", "file", "kb_ref"]
    assert await client.asked() == asked
    assert (await client.stored())[-1] == ("ai", "In April.")
    assert "The heron nests in March." in str(client.api.model.requests[-1].messages)


async def test_a_question_without_an_answer_that_comes_from_a_snapshot_keeps_its_file():
    client = Reloaded(RuntimeError("x"), "In March.")
    await client.run(asking(WORDS, AGUI_FILE))
    asked = await client.asked()

    await client.run(asking(WORDS, NAMED))

    assert await client.asked() == asked
    assert "The heron nests in March." in str(client.api.model.requests[-1].messages)


@pytest.mark.parametrize("first", ["In March.", RuntimeError("x")], ids=["answered", "not answered"])
async def test_a_question_that_is_put_otherwise_keeps_the_file_whose_name_it_still_has(first):
    client = Reloaded(first, "In a reed bed.")
    await client.run(asking(WORDS, AGUI_FILE))
    ((_, *file),) = await client.asked()

    where = {"type": "text", "text": "Where?"}
    await client.run(asking(where, NAMED))

    assert await client.asked() == [[where, *file]]


async def test_a_question_without_an_answer_of_which_only_the_words_come_again_keeps_its_file():
    api, _ = chat_that_says(RuntimeError("x"), "In March.")
    await say(api, WORDS, {"type": "file", "base64": DATA, "filename": "herons.md"})

    reply = await say(api, WORDS)

    assert [part["type"] for part in reply.json()["messages"][0]["content"]] == ["text", "file", "kb_ref"]
