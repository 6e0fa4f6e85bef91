"""Requests as API Gateway records them, through Mangum and the app, with the ingestion's fakes behind it."""

import asyncio
import copy
import json
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import pytest
from mangum import Mangum

from functions.memory_api.app import app_of
from shared.adapters.routes import ROUTES
from shared.domain.errors import ModelRefusedError, StoreError
from shared.domain.kb.states import DocumentState
from shared.domain.spans import Span, SpanKind, SpanStatus
from tests.fakes.knowledge import KnowledgeBase

RECORDED = json.loads((Path(__file__).parents[2] / "events" / "rest_api_request.json").read_text())
USER = RECORDED["requestContext"]["authorizer"]["claims"]["sub"]
STRANGER = "9c858901-8a57-4791-81fe-4c455b099bc9"
FOLDERS = "/api/kb/folders"
NO_FOLDER = "f-00000000-0000-4000-8000-000000000000"
MISSING = "d-00000000-0000-4000-8000-000000000000"
PATH = "/api/kb/documents"
TEXT = "\n\n".join(f"# Heron {n}\n\n" + f"The heron number {n} stands in the water. " * 30 for n in range(4)).encode()
FILE = {"name": "c++ notes über 100%.md", "size": 7, "mediaType": "text/markdown"}
SECRET = "my-secret-is-blue-cheese"


class World(KnowledgeBase):
    def __init__(self, run):
        super().__init__()
        self.run = run
        self.handler = Mangum(
            app_of(SimpleNamespace(), SimpleNamespace(), SimpleNamespace(), self.manage, self.manage_folders),
            lifespan="off",
        )

    def ask(self, method, path, body=None, *, user=USER):
        event = copy.deepcopy(RECORDED)
        path, _, query = path.partition("?")
        event |= {"httpMethod": method, "path": path, "pathParameters": None}
        event["multiValueQueryStringParameters"] = {name: list(given) for name, given in parse_qs(query).items()}
        event["requestContext"] |= {"httpMethod": method, "path": f"/dev{path}"}
        event["body"] = body if body is None or isinstance(body, str) else json.dumps(body)
        event["headers"] = {**event["headers"], "Content-Type": "application/json"}
        if user is None:
            del event["requestContext"]["authorizer"]
        else:
            event["requestContext"]["authorizer"]["claims"]["sub"] = user
        reply = self.handler(event, None)
        return reply["statusCode"], json.loads(reply["body"]) if reply["body"] else None

    def uploaded(self, name="notes.md", data=TEXT, *, user=USER):
        return self.run(self.upload(name, data, user=user))

    def step(self):
        return self.run(self.next_step())

    def folder(self, name="Tax", *, user=USER):
        status, body = self.ask("POST", FOLDERS, {"name": name}, user=user)
        assert status == 201
        return body["id"]

    def put_into(self, folder, name="notes.md", data=TEXT):
        """Upload as a client does: to where the offer says."""
        offer = self.ask("POST", PATH, {**FILE, "name": name, "folderId": folder})[1]
        key = offer["upload"]["url"].removeprefix("https://uploads/")
        record = self.uploaded(key.removeprefix(f"users/{USER}/uploads/"), data)
        assert record.id == offer["documentId"]
        return record.id

    def folders_of(self, user=USER):
        return {body["name"]: body for body in self.ask("GET", FOLDERS, user=user)[1]["folders"]}

    def listed(self, query=""):
        return [body["name"] for body in self.ask("GET", f"{PATH}{query}")[1]["documents"]]


@pytest.fixture
def world():
    # Mangum runs requests on the loop it finds, so these tests are no coroutines.
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield World(runner.run)
    asyncio.set_event_loop(None)


def test_a_file_is_uploaded_where_its_user_and_nobody_else_may(world):
    # KB22, AWS18
    status, body = world.ask("POST", PATH, FILE)
    assert status == 202
    upload = body["upload"]
    assert upload["url"].startswith(f"https://uploads/users/{USER}/uploads/")
    assert upload["url"].endswith("/c++ notes über 100%.md")
    assert upload["method"] == "PUT"
    assert upload["headers"] == {"Content-Type": "text/markdown", "Content-Length": "7"}
    key = upload["url"].removeprefix("https://uploads/")
    name = key.removeprefix(f"users/{USER}/uploads/")
    world.uploaded(name, b"# Heron")
    assert world.ask("GET", f"{PATH}/{body['documentId']}")[1]["name"] == FILE["name"]


def test_two_files_of_one_name_are_two_documents(world):
    first, second = (world.ask("POST", PATH, FILE)[1]["documentId"] for _ in range(2))
    assert first != second


def test_bytes_that_are_there_need_not_be_sent_again(world):
    # KB22, KB04
    record = world.uploaded()
    digest = sha256(TEXT).hexdigest()
    status, body = world.ask("POST", PATH, {**FILE, "sha256": digest.upper()})
    assert (status, body["documentId"], body["upload"], body["document"]["id"]) == (200, record.id, None, record.id)
    assert world.ask("POST", PATH, {**FILE, "sha256": digest}, user=STRANGER)[0] == 202
    assert world.ask("POST", PATH, {**FILE, "sha256": sha256(b"other").hexdigest()})[0] == 202


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"name": ""}, 400, "BAD_REQUEST"),
        ({"name": "a/b.md"}, 400, "BAD_REQUEST"),
        ({"name": "a\\b.md"}, 400, "BAD_REQUEST"),
        ({"name": ".."}, 400, "BAD_REQUEST"),
        ({"name": "a\nb"}, 400, "BAD_REQUEST"),
        ({"name": "\ud800"}, 400, "BAD_REQUEST"),
        ({"name": "ü" * 256}, 400, "BAD_REQUEST"),
        ({"name": "語" * 255 + "x" * 0}, 202, None),
        ({"name": "😀" * 255}, 400, "BAD_REQUEST"),
        ({"size": 0}, 400, "BAD_REQUEST"),
        ({"size": -1}, 400, "BAD_REQUEST"),
        ({"size": 10_000_001}, 413, "TOO_LARGE"),
        ({"size": None}, 400, "BAD_REQUEST"),
        ({"size": "5"}, 400, "BAD_REQUEST"),
        ({"size": True}, 400, "BAD_REQUEST"),
        ({"folder": "f-1"}, 400, "BAD_REQUEST"),
        ({"mediaType": "text/markdown; charset=utf-8"}, 400, "BAD_REQUEST"),
        ({"mediaType": "text/markdown\r\nX-A: 1"}, 400, "BAD_REQUEST"),
        ({"mediaType": ""}, 400, "BAD_REQUEST"),
        ({"sha256": "5a"}, 400, "BAD_REQUEST"),
    ],
)
def test_what_is_no_file_is_refused(world, change, status, code):
    answered, body = world.ask("POST", PATH, {**FILE, **change})
    assert (answered, body.get("code")) == (status, code)
    assert world.objects.calls["offer"] == (1 if status == 202 else 0)


@pytest.mark.parametrize("body", [None, "", "{", "[]", "null", '"text"'])
def test_what_is_no_request_is_refused(world, body):
    assert world.ask("POST", PATH, body)[0] == 400


def test_documents_are_listed_with_how_far_they_have_come(world):
    # KB26
    world.uploaded("old.md")
    world.clock.advance(timedelta(minutes=1))
    world.embedder.failures["embed"] = StoreError("down")
    with pytest.raises(StoreError):
        world.uploaded("new.md", b"The egret.")
    world.uploaded(user=STRANGER, data=b"")
    status, body = world.ask("GET", PATH)
    assert status == 200
    new, old = body["documents"]
    assert (new["name"], new["state"], new["searchable"], new["chunks"], new["chunksDone"]) == (
        "new.md",
        "EMBEDDING",
        False,
        1,
        0,
    )
    assert (old["state"], old["searchable"], old["kind"], old["size"]) == ("READY", True, "markdown", len(TEXT))
    assert (old["pages"], old["pagesDone"], old["chunks"]) == (1, 1, old["chunksDone"])
    assert old["duplicateOf"] is None
    assert old["createdAt"] < new["createdAt"]


def test_a_failure_says_why_and_whether_to_try_again(world):
    record = world.uploaded("blank.txt", b"  ")
    body = world.ask("GET", f"{PATH}/{record.id}")[1]
    assert (body["state"], body["retryable"], bool(body["reason"])) == ("EMPTY", False, True)


def test_a_deleted_document_is_gone_at_once_and_the_rest_is_queued(world):
    # DL10
    record = world.uploaded()
    assert world.ask("DELETE", f"{PATH}/{record.id}") == (204, None)
    assert world.ask("GET", f"{PATH}/{record.id}")[0] == 404
    assert world.ask("DELETE", f"{PATH}/{record.id}")[0] == 404
    assert world.ask("GET", PATH)[1] == {"documents": []}
    assert world.run(world.found("heron", user=USER)) == []

    (removal,) = world.queue.removals
    world.run(world.removal.remove(removal))
    assert (world.objects.kept, world.index.kept[USER], world.pages.kept, world.spans.kept) == ({}, {}, {}, {})
    assert world.documents.bytes == {}


def test_a_deletion_whose_queue_fails_changed_nothing(world):
    record = world.uploaded()
    world.queue.failure = StoreError("down")
    assert world.ask("DELETE", f"{PATH}/{record.id}")[0] == 503
    world.queue.failure = None
    assert world.ask("DELETE", f"{PATH}/{record.id}")[0] == 204


OF_A_DOCUMENT = [route for route in ROUTES if route.path.startswith(f"{PATH}/{{document_id}}")]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        (route.method, route.path.partition("{document_id}")[2], None if route.method != "POST" else {"mode": "full"})
        for route in OF_A_DOCUMENT
    ],
)
def test_somebody_else_s_document_is_answered_as_a_missing_one(world, method, path, body):
    # SE07
    record = world.uploaded()
    theirs = world.ask(method, f"{PATH}/{record.id}{path}", body, user=STRANGER)
    assert theirs[0] == 404
    for missing in (MISSING, "nonsense", "d-", "%00", record.id[2:]):
        assert world.ask(method, f"{PATH}/{missing}{path}", body) == theirs
    assert world.ask(method, f"{PATH}/{record.id}{path}", body, user=None)[0] == 401
    assert world.ask("GET", f"{PATH}/{record.id}")[0] == 200


@pytest.mark.parametrize(("mode", "reads"), [("full", 2), ("chunksOnly", 1)])
def test_a_document_is_gone_over_again(world, mode, reads):
    # KB20
    record = world.uploaded()
    status, body = world.ask("POST", f"{PATH}/{record.id}/reprocess", {"mode": mode})
    assert (status, body["searchable"]) == (202, True)
    assert world.step() == "ended"
    after = world.run(world.record("notes.md", user=USER))
    assert (after.state, after.live_version, world.objects.calls["read"]) == (DocumentState.READY, 2, reads)


def test_without_a_mode_everything_is_done_again(world):
    record = world.uploaded()
    assert world.ask("POST", f"{PATH}/{record.id}/reprocess")[0] == 202
    assert world.run(world.record("notes.md", user=USER)).mode == "full"


def test_chunks_that_failed_are_tried_again(world):
    # KB20
    world.embedder.failures["embed"] = ModelRefusedError("no")
    record = world.uploaded()
    assert record.state is DocumentState.FAILED
    world.embedder.failures.clear()
    assert world.ask("POST", f"{PATH}/{record.id}/reprocess", {"mode": "retryFailedChunks"})[0] == 202
    world.step()
    assert world.ask("GET", f"{PATH}/{record.id}")[1]["state"] == "READY"


def test_each_mode_has_its_gate(world):
    # KB20: and nothing was changed.
    ready = world.uploaded()
    gate = f"{PATH}/{ready.id}/reprocess"
    for mode in ("retryFailed", "retryFailedChunks"):
        assert world.ask("POST", gate, {"mode": mode})[1]["code"] == "NOT_READY"
    world.objects.kept.clear()
    assert world.ask("POST", gate, {"mode": "full"})[1]["code"] == "ATTACHMENT_MISSING"
    assert world.ask("POST", gate, {"mode": "everything"})[0] == 400
    assert world.run(world.record("notes.md", user=USER)) == ready
    assert world.ask("POST", gate, {"mode": "chunksOnly"})[0] == 202
    status, body = world.ask("POST", gate, {"mode": "chunksOnly"})
    assert (status, body["code"]) == (409, "PROCESSING")
    assert len(world.queue.steps) == 1


def test_what_nobody_works_on_any_more_can_be_gone_over_again(world):
    world.index.failures["upsert"] = StoreError("down")
    with pytest.raises(StoreError):
        world.uploaded()
    document = world.id_of("notes.md", user=USER)
    gate = f"{PATH}/{document}/reprocess"
    assert world.ask("POST", gate, {"mode": "full"})[1]["code"] == "PROCESSING"
    world.clock.advance(timedelta(hours=4))
    assert world.ask("POST", gate, {"mode": "full"})[0] == 202


def test_a_request_that_could_not_be_queued_can_be_made_again(world):
    record = world.uploaded()
    world.queue.failure = StoreError("down")
    gate = f"{PATH}/{record.id}/reprocess"
    assert world.ask("POST", gate, {"mode": "full"})[0] == 503
    body = world.ask("GET", f"{PATH}/{record.id}")[1]
    assert (body["state"], body["searchable"]) == ("FAILED", True)
    world.queue.failure = None
    assert world.ask("POST", gate, {"mode": "full"})[0] == 202


def test_what_happened_is_shown_run_by_run(world):
    # OB05, OB07
    record = world.uploaded()
    world.clock.advance(timedelta(minutes=1))
    world.ask("POST", f"{PATH}/{record.id}/reprocess", {"mode": "chunksOnly"})
    world.step()
    status, body = world.ask("GET", f"{PATH}/{record.id}/runs")
    assert status == 200
    again, first = body["runs"]
    assert (first["origin"], first["mode"]) == ("kb-upload", "full")
    assert (again["origin"], again["mode"]) == ("kb-reprocess", "chunksOnly")
    names = [span["name"] for span in first["spans"] if span["kind"] == "node"]
    assert names == ["prepareKBDataNode", "ocrNode", "pageToMarkdownNode", "generateChunkEmbedNode"]
    assert {span["status"] for span in first["spans"]} == {"ok"}


def test_what_nobody_ended_is_shown_as_failed(world):
    # OB04
    record = world.uploaded()
    open_span = Span(
        id="1",
        run="again",
        name="ocrNode",
        kind=SpanKind.NODE,
        status=SpanStatus.RUNNING,
        started_at=world.clock.now(),
    )
    world.run(world.spans.save(USER, record.id, [open_span]))

    def shown():
        (span,) = world.ask("GET", f"{PATH}/{record.id}/runs")[1]["runs"][0]["spans"]
        return span["status"], span["error"]

    assert shown() == ("running", "")
    world.clock.advance(timedelta(minutes=16))
    assert shown() == ("failed", "CRASHED")


@pytest.mark.parametrize("fault", [None, "store", "bug"])
def test_no_file_name_gets_into_the_logs(world, deployed, fault):
    # Habit 14
    if fault:
        world.documents.failure = StoreError(SECRET) if fault == "store" else ZeroDivisionError(SECRET)
    event = copy.deepcopy(RECORDED)
    event |= {"httpMethod": "POST", "path": PATH, "pathParameters": None}
    event["headers"] = {**event["headers"], "Content-Type": "application/json"}
    event["body"] = json.dumps({**FILE, "name": f"{SECRET}.md", "sha256": sha256(b"a").hexdigest()})
    reply = deployed.invoke(world.handler, event)
    assert reply["statusCode"] == {None: 202, "store": 503, "bug": 500}[fault]
    assert SECRET not in deployed.printed()


def test_everybody_has_one_folder_for_what_is_in_no_other(world):
    # KB06
    world.uploaded()
    (default,) = world.folders_of().values()
    assert (default["name"], default["isDefault"], default["createdAt"]) == ("Attachments", True, None)
    assert (default["documents"], default["ready"], default["inProgress"], default["failed"]) == (1, 1, 0, 0)
    assert world.ask("GET", PATH)[1]["documents"][0]["folderId"] == default["id"]
    (theirs,) = world.folders_of(STRANGER).values()
    assert theirs["id"] != default["id"]
    assert world.folders.kept == {}


def test_documents_are_uploaded_into_a_folder_and_listed_by_it(world):
    # KB22, KB26
    tax = world.folder(" Tax ")
    inside = world.put_into(tax, "inside.md")
    world.put_into(tax, "blank.md", b" ")
    world.embedder.failures["embed"] = StoreError("down")
    with pytest.raises(StoreError):
        world.put_into(tax, "late.md", b"The egret.")
    world.embedder.failures.clear()
    world.uploaded("outside.md", b"Another.")

    assert world.ask("GET", f"{PATH}/{inside}")[1]["folderId"] == tax
    assert sorted(world.listed(f"?folderId={tax}")) == ["blank.md", "inside.md", "late.md"]
    folders = world.folders_of()
    assert world.listed(f"?folderId={folders['Attachments']['id']}") == ["outside.md"]
    assert len(world.listed()) == 4
    counts = {key: folders["Tax"][key] for key in ("documents", "ready", "inProgress", "failed")}
    assert counts == {"documents": 3, "ready": 1, "inProgress": 1, "failed": 1}


def test_a_folder_that_is_not_there_takes_no_upload_and_has_no_list(world):
    # KB22
    theirs = world.folder(user=STRANGER)
    for folder in (NO_FOLDER, theirs, "", "nonsense", NO_FOLDER.upper(), "../x"):
        status, body = world.ask("POST", PATH, {**FILE, "folderId": folder})
        assert (status, body["code"]) == (404, "FOLDER_NOT_FOUND")
    assert world.ask("GET", f"{PATH}?folderId={theirs}")[0] == 404
    assert world.objects.calls["offer"] == 0


def test_a_folder_is_renamed(world):
    tax = world.folder()
    world.put_into(tax)
    status, body = world.ask("PATCH", f"{FOLDERS}/{tax}", {"name": "Taxes"})
    assert (status, body["id"], body["name"], body["documents"]) == (200, tax, "Taxes", 1)
    assert list(world.folders_of()) == ["Attachments", "Taxes"]
    # Its own name in another case is no other folder's.
    assert world.ask("PATCH", f"{FOLDERS}/{tax}", {"name": "TAXES"})[0] == 200


@pytest.mark.parametrize("name", ["tax", "TAX", "  Tax", "\uff34ax", "attachments"])
def test_no_two_folders_have_one_name(world, name):
    # KB26
    world.folder()
    other = world.folder("Other")
    for method, path in (("POST", FOLDERS), ("PATCH", f"{FOLDERS}/{other}")):
        status, body = world.ask(method, path, {"name": name})
        assert (status, body["code"]) == (409, "FOLDER_EXISTS")
    assert world.ask("POST", FOLDERS, {"name": "Tax"}, user=STRANGER)[0] == 201


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("a", 201),
        ("😀" * 64, 201),
        ("ü" * 65, 400),
        ("", 400),
        ("  ", 400),
        ("a\nb", 400),
        ("\ud800", 400),
        (None, 400),
    ],
)
def test_a_folder_s_name_has_1_to_64_characters(world, name, status):
    # KB26
    assert world.ask("POST", FOLDERS, {"name": name})[0] == status
    other = world.folder("Other")
    assert world.ask("PATCH", f"{FOLDERS}/{other}", {"name": name})[0] == (409 if status == 201 else 400)


def test_a_folder_with_documents_is_deleted_only_with_them(world):
    # DL11
    tax = world.folder()
    world.put_into(tax, "one.md")
    world.put_into(tax, "two.md", b"The egret.")
    world.uploaded("outside.md", b"The heron.")
    status, body = world.ask("DELETE", f"{FOLDERS}/{tax}")
    assert (status, body["code"], body["docCount"]) == (409, "NON_EMPTY", 2)
    assert len(world.listed(f"?folderId={tax}")) == 2

    assert world.ask("DELETE", f"{FOLDERS}/{tax}?deleteAll=true") == (204, None)
    assert (list(world.folders_of()), world.listed()) == (["Attachments"], ["outside.md"])
    for removal in world.queue.removals:
        world.run(world.removal.remove(removal))
    assert len(world.objects.kept) == 1
    assert world.ask("DELETE", f"{FOLDERS}/{tax}")[0] == 404


def test_an_empty_folder_is_deleted_and_what_comes_later_is_in_the_default_one(world):
    tax = world.folder()
    offer = world.ask("POST", PATH, {**FILE, "folderId": tax})[1]
    assert world.ask("DELETE", f"{FOLDERS}/{tax}")[0] == 204
    world.uploaded(offer["upload"]["url"].removeprefix(f"https://uploads/users/{USER}/uploads/"))
    assert world.folders_of()["Attachments"]["documents"] == 1


def test_a_folder_whose_documents_cannot_be_deleted_stays(world):
    tax = world.folder()
    world.put_into(tax)
    world.queue.failure = StoreError("down")
    assert world.ask("DELETE", f"{FOLDERS}/{tax}?deleteAll=true")[0] == 503
    assert world.folders_of()["Tax"]["documents"] == 1


def test_the_default_folder_stays_as_it_is(world):
    world.uploaded()
    default = world.folders_of()["Attachments"]["id"]
    for method, path, body in (("PATCH", "", {"name": "Mine"}), ("DELETE", "?deleteAll=true", None)):
        status, answer = world.ask(method, f"{FOLDERS}/{default}{path}", body)
        assert (status, answer["code"]) == (409, "DEFAULT_FOLDER")
    assert world.listed() == ["notes.md"]


@pytest.mark.parametrize(("method", "body"), [("PATCH", {"name": "Mine"}), ("DELETE", None)])
def test_somebody_else_s_folder_is_answered_as_a_missing_one(world, method, body):
    # SE07
    tax = world.folder()
    theirs = world.ask(method, f"{FOLDERS}/{tax}", body, user=STRANGER)
    assert theirs[0] == 404
    for missing in (NO_FOLDER, "nonsense", "%00"):
        assert world.ask(method, f"{FOLDERS}/{missing}", body) == theirs
    assert world.ask(method, f"{FOLDERS}/{tax}", body, user=None)[0] == 401
    assert list(world.folders_of()) == ["Attachments", "Tax"]
    assert list(world.folders_of(STRANGER)) == ["Attachments"]


def test_every_route_of_a_document_is_asked_for_somebody_else_s():
    assert {(route.method, route.path.partition("{document_id}")[2]) for route in OF_A_DOCUMENT} == {
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/reprocess"),
        ("GET", "/runs"),
    }


def test_there_may_be_so_many_folders_and_no_more(world):
    for n in range(200):
        world.folder(str(n))
    assert world.ask("POST", FOLDERS, {"name": "one more"})[1]["code"] == "TOO_MANY_FOLDERS"
