"""The chat's commands, against a product that is played by a small server."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from rich.console import Console

from local.chat.api import ChatApi
from local.chat.conversation import HELP, Conversation
from local.chat.view import View

OLD = "11111111-0000-4000-8000-000000000000"


def document(state: str, *, name: str = "herons.md", **facts) -> dict:
    figures = {"pages": 0, "pagesDone": 0, "chunks": 0, "chunksDone": 0, "reason": ""}
    return {"id": "d-1", "name": name, "state": state, **figures, **facts}


class Product:
    """Answers like the product and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[dict] = []
        self.summaries = [0, 1, 2]
        self.sent: httpx.Request | None = None
        self.steps: list[dict | None] = []

    def offer(self, file: dict) -> httpx.Response:
        if file["size"] > 1000:
            return httpx.Response(413, json={"message": "A document may have up to 1000 bytes."})
        if file["name"] == "known.md":
            known = {"documentId": "d-0", "upload": None, "document": document("READY", name="known.md")}
            return httpx.Response(200, json=known)
        ticket = {"url": "http://127.0.0.1/bucket/key?signed", "method": "PUT", "headers": {"Content-Type": "t/x"}}
        return httpx.Response(202, json={"documentId": "d-1", "upload": ticket, "document": None})

    def respond(self, request: httpx.Request) -> httpx.Response:
        place = (request.method, request.url.raw_path.decode())
        self.asked.append(place)
        body = json.loads(request.content) if request.content and request.method != "PUT" else {}
        self.sent = request if request.method == "PUT" else self.sent
        self.bodies.append(body)
        match place:
            case ("POST", path) if path.endswith("/runs/stream"):
                text = body["input"]["messages"][0]["content"]
                if text == "break":
                    return httpx.Response(409, json={"detail": "The thread is busy."})
                answer = [{"type": "AIMessageChunk", "content": f"You said {text}."}, {}]
                stream = f"event: messages\ndata: {json.dumps(answer)}\n\nevent: end\ndata: null\n\n"
                return httpx.Response(200, text=stream, headers={"content-type": "text/event-stream"})
            case ("POST", "/threads/search"):
                thread = {"thread_id": OLD, "metadata": {"title": "Old talk"}, "updated_at": "2026-01-02T03:04:05Z"}
                return httpx.Response(200, json=[thread])
            case ("GET", path) if path == f"/threads/{OLD}/state":
                said = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": [{"type": "text", "text": "Ho"}]}]
                return httpx.Response(200, json={"values": {"messages": said}})
            case ("GET", "/api/memory/profile"):
                memory = {"email": "a@b.c", "tea": "green"}
                return httpx.Response(
                    200, json={"memory": memory, "store": {"tea": "green"}, "auth": {"email": "a@b.c"}, "threads": []}
                )
            case ("GET", "/api/memory/threads"):
                rows = [{"text": "#1\nQ: q\nA: a"}]
                return httpx.Response(
                    200, json={"threads": [{"threadId": OLD, "threadTitle": "Old talk", "summaries": rows}]}
                )
            case ("GET", "/api/kb/documents"):
                return httpx.Response(200, json={"documents": [document("READY", name="old.md")]})
            case ("POST", "/api/kb/documents"):
                return self.offer(body)
            case ("PUT", _):
                return httpx.Response(200)
            case ("GET", "/api/kb/documents/d-1"):
                step = self.steps.pop(0)
                return httpx.Response(404, json={"message": "no"}) if step is None else httpx.Response(200, json=step)
            case ("DELETE", "/api/memory/profile/tea" | "/api/memory/profile/gr%C3%BC%C3%9Fe"):
                return httpx.Response(200, json={"ok": True})
            case ("DELETE", path) if path.startswith("/api/memory/threads/"):
                return httpx.Response(200, json={"ok": True, "deletedCount": self.summaries.pop()})
            case ("DELETE", path) if path.startswith("/threads/"):
                return httpx.Response(204)
            case _:
                return httpx.Response(404, json={"code": "NOT_FOUND", "message": "There is no such memory."})


@asynccontextmanager
async def api(product: Product) -> AsyncIterator[ChatApi]:
    transport = httpx.MockTransport(product.respond)
    async with httpx.AsyncClient(base_url="http://127.0.0.1", transport=transport) as http:
        yield ChatApi(http, look_every=0, bucket=transport)


async def hold(*lines: str, product: Product | None = None) -> str:
    async def given():
        for line in lines:
            yield line

    console = Console(file=io.StringIO(), width=200)
    async with api(product or Product()) as client:
        await Conversation(client, View(console)).hold(given())
    return console.file.getvalue()


async def test_what_is_no_command_is_said_in_the_present_thread():
    product = Product()
    assert await hold("Hello", "  ", "again", product=product) == "You said Hello.\nYou said again.\n"
    (first, second) = product.asked
    assert first == second
    assert product.bodies[0]["if_not_exists"] == "create"


async def test_new_thread_is_another_one():
    product = Product()
    await hold("Hello", "/new", "Hello", product=product)
    assert product.asked[0] != product.asked[1]


async def test_thread_is_opened_by_its_number_and_gone_on_with():
    product = Product()
    text = await hold("/threads", "/open 1", "more", product=product)
    assert text.splitlines() == [
        f"   1  Old talk  2026-01-02 03:04  {OLD}",
        "you: Hi",
        "assistant: Ho",
        "You said more.",
    ]
    assert product.asked[-1] == ("POST", f"/threads/{OLD}/runs/stream")


async def test_profile_shows_where_each_thing_comes_from():
    assert (await hold("/profile")).splitlines() == [
        "  email: a@b.c  from your account",
        "  tea: green  saved by the assistant",
    ]


async def test_summaries_are_shown_as_the_model_reads_them():
    assert (await hold("/summaries")).splitlines() == ["Old talk", "Summary 1", "#1", "Q: q", "A: a"]


async def test_forgetting():
    product = Product()
    text = await hold("/forget tea", "/forget grüße", *["/forget --summaries"] * 3, product=product)
    assert text.splitlines() == [
        "Forgotten: tea.",
        "Forgotten: grüße.",
        "Forgotten: 2 summaries of this thread.",
        "Forgotten: 1 summary of this thread.",
        "This thread has no summaries.",
    ]
    assert [method for method, _ in product.asked] == ["DELETE"] * 5


async def test_a_deleted_thread_is_followed_by_a_new_one():
    product = Product()
    text = await hold("Hello", "/forget --thread", "again", product=product)
    assert text.splitlines() == [
        "You said Hello.",
        "This thread is deleted, with everything it had. What you say next begins a new one.",
        "You said again.",
    ]
    said, deleted, again = (path for _, path in product.asked)
    assert said.startswith(deleted)
    assert not again.startswith(deleted)


async def test_refusals_are_told_and_the_chat_goes_on():
    text = await hold("/forget nothing", "break", "/open 7", "/open", "/forget", "/bogus", "still there")
    assert text.splitlines() == [
        "There is no such memory.",
        "The thread is busy.",
        "Which thread? /threads numbers them.",
        "Which thread? /threads numbers them.",
        "Forget what? /profile shows the keys.",
        "There is no /bogus; /help tells what there is.",
        "You said still there.",
    ]


async def test_quit_ends_it():
    assert await hold("/help", "/quit", "never") == HELP + "\n"


async def test_an_upload_is_followed_to_its_end(tmp_path):
    file = tmp_path / "my herons.md"
    file.write_bytes(b"The heron nests in March.")
    product = Product()
    read = document("MARKDOWN", pages=2, pagesDone=2)
    product.steps = [None, document("PENDING"), document("PENDING"), read, document("READY", chunks=3, chunksDone=3)]
    text = await hold(f"/upload '{file}'", product=product)
    assert text.splitlines() == [
        "Uploading my herons.md …",
        "  herons.md: PENDING",
        "  herons.md: MARKDOWN, 2 of 2 pages",
        "  herons.md: READY, 3 of 3 chunks",
        "It can be searched now: ask about it.",
    ]
    (asked,) = [body for body in product.bodies if body]
    assert (asked["name"], asked["size"], len(asked["sha256"])) == ("my herons.md", 25, 64)
    assert product.sent.content == b"The heron nests in March."
    assert (product.sent.headers["content-type"], "authorization" in product.sent.headers) == ("t/x", False)


async def test_an_upload_that_fails_says_why(tmp_path):
    file = tmp_path / "scan.pdf"
    file.write_bytes(b"%PDF")
    product = Product()
    product.steps = [document("NEEDS_OCR", name="scan.pdf", reason="OCR is not there.")]
    text = await hold(f"/upload {file}", product=product)
    assert text.splitlines() == ["Uploading scan.pdf …", "  scan.pdf: NEEDS_OCR  OCR is not there."]


async def test_bytes_that_are_there_are_not_sent_again(tmp_path):
    file = tmp_path / "known.md"
    file.write_bytes(b"known")
    product = Product()
    text = await hold(f"/upload {file}", product=product)
    assert text.splitlines() == ["Uploading known.md …", "  known.md: READY", "It can be searched now: ask about it."]
    assert product.sent is None


async def test_what_cannot_be_uploaded_is_told_and_the_chat_goes_on(tmp_path):
    large = tmp_path / "large.bin"
    large.write_bytes(b"x" * 1001)
    text = await hold("/upload", f"/upload {tmp_path}/none.pdf", f"/upload {tmp_path}", f"/upload {large}", "hi")
    assert text.splitlines() == [
        "Upload which file? /upload PATH",
        "Uploading none.pdf …",
        f"There is no file {tmp_path}/none.pdf.",
        f"Uploading {tmp_path.name} …",
        f"{tmp_path} is not a file; /upload takes one file at a time.",
        "Uploading large.bin …",
        "A document may have up to 1000 bytes.",
        "You said hi.",
    ]


async def test_documents_are_listed():
    assert await hold("/documents") == "  old.md: READY\n"
