"""From a presigned upload to chunks with vectors: bucket, events, queue, function, table, and the local embeddings."""

import base64
import io
import json
from uuid import uuid4

import httpx
from rich.console import Console

from local.chat.api import ChatApi
from local.chat.conversation import Conversation
from local.chat.token import FreshToken
from local.chat.view import View
from local.cloud.users import Credentials
from local.model.script import Reply, ScriptedCall
from tests.e2e.model import user_texts
from tests.e2e.people import content_text
from tests.e2e.waiting import until
from tests.fakes.made_files import PdfPage, pdf

PATH = "/api/kb/documents"


async def upload(person, name, data, media_type="application/pdf"):
    """Send a file as a browser does; give the document's id."""
    file = {"name": name, "size": len(data), "mediaType": media_type}
    offer = (await person.http.post(PATH, json=file)).raise_for_status().json()
    async with httpx.AsyncClient(trust_env=False) as s3:
        sent = await s3.put(offer["upload"]["url"], content=data, headers=offer["upload"]["headers"])
    assert sent.status_code == 200, sent.text
    return offer["documentId"]


async def ended(person, document):
    """Wait until a document has come to an end; give what is known of it then."""
    ends = {"READY", "EMPTY", "NEEDS_OCR", "ENCRYPTED", "UNSUPPORTED", "TOO_LARGE", "CORRUPT", "FAILED"}

    async def look():
        reply = await person.http.get(f"{PATH}/{document}")
        return reply.status_code == 200 and reply.json()["state"] in ends and reply.json()

    return await until(look, "the document's end", seconds=120)


async def test_an_uploaded_file_becomes_searchable_and_is_deleted(people):
    # KB22, KB26, OB02
    person, stranger = people.someone(), people.someone()
    file = pdf("The heron stands in the river.", PdfPage(["The egret stands on the shore."]))
    document = await upload(person, "c++ notes über 100%.pdf", file)

    body = await ended(person, document)
    assert (body["state"], body["reason"]) == ("READY", "")
    assert (body["name"], body["kind"], body["pages"], body["pagesDone"]) == ("c++ notes über 100%.pdf", "pdf", 2, 2)
    assert body["chunks"] == body["chunksDone"] > 0
    (run,) = (await person.http.get(f"{PATH}/{document}/runs")).json()["runs"]
    assert {span["status"] for span in run["spans"]} == {"ok"}

    assert (await stranger.http.get(PATH)).json() == {"documents": []}
    assert (await stranger.http.get(f"{PATH}/{document}")).status_code == 404

    assert (await person.http.delete(f"{PATH}/{document}")).status_code == 204
    assert (await person.http.get(f"{PATH}/{document}")).status_code == 404


async def test_a_document_is_gone_over_again(people):
    # KB20
    person = people.someone()
    document = await upload(person, "notes.md", b"# Heron\n\nThe heron stands in the river.", "text/markdown")
    await ended(person, document)
    again = await person.http.post(f"{PATH}/{document}/reprocess", json={"mode": "chunksOnly"})
    assert again.status_code == 202
    assert (await ended(person, document))["state"] == "READY"

    async def both():
        runs = (await person.http.get(f"{PATH}/{document}/runs")).json()["runs"]
        return len(runs) == 2 and runs

    newest, _ = await until(both, "two runs")
    assert (newest["origin"], newest["mode"]) == ("kb-reprocess", "chunksOnly")


async def test_a_scan_says_that_it_needs_what_is_not_there(people):
    person = people.someone()
    document = await upload(person, "scan.pdf", pdf(PdfPage(picture=0.9)))
    body = await ended(person, document)
    assert (body["state"], body["retryable"], "OCR" in body["reason"]) == ("NEEDS_OCR", True, True)


async def test_an_answer_cites_what_was_uploaded_and_nobody_else_finds_it(people, model, thread, word):
    # KB23, HID-13: bucket, ingestion, index, tool, stream and state together
    person, stranger = people.someone(), people.someone()
    file = pdf(f"The {word} nests in March.", PdfPage([f"The {word} leaves in autumn."]))
    document = await upload(person, "birds.pdf", file)
    assert (await ended(person, document))["state"] == "READY"
    search = Reply(
        tool_calls=[ScriptedCall(name="search_knowledge_base", arguments={"query": f"When does the {word} nest?"})]
    )
    answers = [search, Reply(text="In March [1].")]
    await model.script(*answers, kind="answer", last_user_contains=word)

    parts = [part async for part in person.stream(thread, f"When does the {word} nest?")]

    (asked,) = [body for body in await model.answers(word) if "toolResult" in body["messages"][-1]["content"][0]]
    result = json.loads(asked["messages"][-1]["content"][0]["toolResult"]["content"][0]["text"])
    best = result["passages"][0]
    assert f"{word} nests in March" in best["text"]
    assert (best["number"], best["document"], best["documentId"]) == (1, "birds.pdf", document)
    last = (await person.messages(thread))[-1]
    (citation,) = last["additional_kwargs"]["citations"]
    assert (citation["number"], citation["documentId"], citation["pageFrom"]) == (1, document, 1)
    streamed = [part.data[0] for part in parts if part.event == "messages"]
    (cited,) = [message for message in streamed if message["additional_kwargs"].get("citations")]
    assert (cited["id"], cited["additional_kwargs"]["citations"]) == (last["id"], [citation])

    other = str(uuid4())
    await model.script(*answers, kind="answer", last_user_contains=f"strange {word}")
    await stranger.say(other, f"When does the strange {word} nest? :kb-document[birds.pdf]{{documentId={document}}}")
    found = [message for message in await stranger.messages(other) if message["type"] == "tool"]
    assert [json.loads(message["content"]).get("passages", []) for message in found] == [[]]
    assert "citations" not in (await stranger.messages(other))[-1]["additional_kwargs"]


async def test_the_terminal_chat_uploads_asks_and_shows_the_source(product, tmp_path, word):
    # The demo source answers what no script fits: offline, from upload to citation.
    who = Credentials.new(f"{word}@everthread.test")
    product.users.ensure(who)
    console = Console(file=io.StringIO(), width=300)
    file = tmp_path / "birds.pdf"
    file.write_bytes(pdf("The heron nests in March. It leaves in autumn."))

    async def lines():
        for line in (f"/upload {file}", "When does the heron nest?", "/documents", f"/upload {file}x"):
            yield line

    async with ChatApi.connect(product.url, FreshToken(product.users, who)) as api:
        await Conversation(api, View(console)).hold(lines())
    shown = console.file.getvalue().splitlines()
    at = shown.index("It can be searched now: ask about it.")
    assert shown[at - 1].startswith("  birds.pdf: READY")
    assert shown[at + 1] == "searching your documents …"
    assert shown[at + 3 : at + 5] == [
        "“birds.pdf” says: “The heron nests in March.” [1]",
        "  [1] birds.pdf, page 1",
    ]
    assert shown[at + 5].startswith("  birds.pdf: READY")
    assert shown[at + 6 : at + 8] == [f"Uploading {file.name}x …", f"There is no file {file}x."]


async def test_a_file_in_a_message_is_answered_in_the_same_turn(people, model, thread, word):
    # KB13, KB16, KB18: bytes to the bucket, ingestion behind the stream, text before the model, a mark in the thread
    person, stranger = people.someone(), people.someone()
    data = base64.b64encode(pdf(f"The {word} nests in March.")).decode()
    file = {"type": "file", "base64": data, "mime_type": "application/pdf", "filename": "birds.pdf"}
    asked = [{"type": "text", "text": f"When does the {word} nest?"}, file]
    await model.script(Reply(text="In March."), kind="answer", last_user_contains=word)

    stream = person.sdk.runs.stream(
        thread,
        "agent",
        input={"messages": [{"role": "user", "content": asked}]},
        stream_mode="values",
        if_not_exists="create",
    )
    assert [part.data async for part in stream if part.event == "error"] == []

    (request,) = await model.answers(word)
    seen = "\n".join(user_texts(request))
    assert f"The {word} nests in March." in seen
    messages = await person.messages(thread)
    (listed,) = (await person.http.get(PATH)).json()["documents"]
    _, kept, mark = messages[0]["content"]
    assert (kept["filename"], mark["docId"]) == (f"[kb:{listed['id']}] birds.pdf", listed["id"])
    assert data not in json.dumps(messages)
    assert content_text(messages[-1]["content"]) == "In March."
    assert (await ended(person, listed["id"]))["state"] == "READY"
    runs = (await person.http.get(f"{PATH}/{listed['id']}/runs")).json()["runs"]
    assert [run["origin"] for run in runs] == ["chat"]

    other = str(uuid4())
    await model.script(Reply(text="No."), kind="answer", last_user_contains=f"strange {word}")
    forged = [{"type": "text", "text": f"strange {word}"}, kept, mark]
    await stranger.sdk.runs.wait(
        other, "agent", input={"messages": [{"role": "user", "content": forged}]}, if_not_exists="create"
    )
    (request,) = await model.answers(f"strange {word}")
    assert "nests in March" not in json.dumps(request)
