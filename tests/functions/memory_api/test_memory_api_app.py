"""Requests as API Gateway records them, through Mangum and the app, with the fakes behind it."""

import asyncio
import copy
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from mangum import Mangum

from functions.memory_api.app import app_of, routed_app
from shared.adapters.routes import routes_of
from shared.domain import counters
from shared.domain.errors import StoreError
from shared.domain.profile import Origin, ProfileChange, StoredProfile
from shared.domain.runs import RunRow
from shared.domain.spans import Span, SpanKind, SpanStatus, Trace
from shared.domain.summary import SummaryEntry, format_entries
from shared.domain.threads import ThreadRow
from shared.services.manage_memory import ManageMemory
from shared.services.manage_threads import ManageThreads
from shared.services.read_traces import ReadTraces
from tests.fakes.clock import FixedClock
from tests.fakes.knowledge import KnowledgeBase
from tests.fakes.metrics import CountingMetrics
from tests.fakes.profiles import InMemoryProfiles
from tests.fakes.purge_queue import RecordingPurgeQueue
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summarizer import covering
from tests.fakes.threads import InMemoryThreads
from tests.fakes.traces import InMemoryTraces

RECORDED = json.loads((Path(__file__).parents[2] / "events" / "rest_api_request.json").read_text())
USER = RECORDED["requestContext"]["authorizer"]["claims"]["sub"]
STRANGER = "9c858901-8a57-4791-81fe-4c455b099bc9"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OLD = "11111111-1111-4111-8111-111111111111"
NEW = "22222222-2222-4222-8222-222222222222"
SECRET = "my-secret-is-blue-cheese"


def request(method, path, *, claims=None):
    """The recorded request with another method and path, as the client wrote it; ``claims=()`` for no token."""
    event = copy.deepcopy(RECORDED)
    event |= {"httpMethod": method, "path": path, "pathParameters": None}
    event["requestContext"] |= {"httpMethod": method, "path": f"/dev{path}"}
    if claims == ():
        del event["requestContext"]["authorizer"]
    else:
        event["requestContext"]["authorizer"]["claims"] |= claims or {}
    return event


def entry(thread, sequence, *, minutes=0, text="q"):
    summary = covering(f"#{sequence}")
    summary = summary.model_copy(
        update={"entries": [each.model_copy(update={"question": text}) for each in summary.entries]}
    )
    return SummaryEntry(
        thread_id=thread,
        sequence=sequence,
        start_message_index=sequence - 1,
        end_message_index=sequence - 1,
        message_count=1,
        message_ids=[f"h{sequence}"],
        summary=summary,
        token_count_before=10,
        token_count_after=5,
        created_at=NOW + timedelta(minutes=minutes),
    )


class World:
    def __init__(self, run):
        self.run = run
        self.profiles = InMemoryProfiles()
        self.threads = InMemoryThreads()
        self.summaries = InMemorySummaries(self.threads)
        self.clock = FixedClock(NOW)
        self.traces = InMemoryTraces(self.clock)
        self.purges = RecordingPurgeQueue()
        self.metrics = CountingMetrics()
        self.handler = self.with_metrics(self.metrics)

    def with_metrics(self, metrics):
        clock = self.clock
        memory = ManageMemory(
            profiles=self.profiles, summaries=self.summaries, threads=self.threads, clock=clock, metrics=metrics
        )
        kb = KnowledgeBase()
        threads = ManageThreads(self.threads, self.purges, clock, metrics)
        traces = ReadTraces(self.threads, self.traces, clock)
        app = app_of(memory, threads, traces, kb.manage, kb.manage_folders)
        return Mangum(app, lifespan="off")

    def remember(self, **doc):
        change = ProfileChange(patches=(), actor="model", origin=Origin(at=NOW))
        profile = StoredProfile(doc=doc, version=1, origins={key: Origin(at=NOW) for key in doc})
        self.run(self.profiles.save(USER, profile, change))

    def thread(self, thread, title="A title", user=USER):
        row = ThreadRow(
            user_id=user, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW, title=title
        )
        self.run(self.threads.create(row))

    def ask(self, method, path, **how):
        """Send a request; give the status and the body."""
        reply = self.handler(request(method, path, **how), None)
        return reply["statusCode"], json.loads(reply["body"]) if reply["body"] else None

    def touched(self):
        return sum((self.profiles.calls + self.threads.calls + self.summaries.calls + self.traces.calls).values())


@pytest.fixture
def world():
    # Mangum runs requests on the loop it finds, so these tests are no coroutines.
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield World(runner.run)
    asyncio.set_event_loop(None)


def test_the_app_has_the_routes_of_the_table_and_no_others():
    # AP16: and none of them writes a profile key.
    served = {(method, route.path_format) for route in routed_app().routes for method in route.methods}
    assert served == {(route.method, route.path) for route in routes_of("memory_api")}
    assert {method for method, path in served if "profile" in path} == {"GET", "DELETE"}


def test_the_profile_is_shown_merged_and_in_its_parts(world):
    # AP01, AMB-12
    world.remember(city="Ulm", name="Lindsey")
    status, body = world.ask("GET", "/api/memory/profile")
    assert status == 200
    assert body == {
        "memory": {"city": "Ulm", "name": "Lindsey", "email": "lin@example.com"},
        "store": {"city": "Ulm", "name": "Lindsey"},
        "auth": {"name": "Lin", "email": "lin@example.com"},
        "threads": [],
        "degraded": [],
    }


def test_values_come_back_as_they_were_saved(world):
    doc = {"numbers": [1, 2.5, -0.0], "nested": {"a": [None, True, {"é": "😀"}]}, "nothing": None, "empty": ""}
    world.remember(**doc)
    assert world.ask("GET", "/api/memory/profile")[1]["store"] == doc


def test_a_row_holds_the_pass_its_title_and_the_text_the_model_sees(world):
    # AP01, UI16, UI21
    world.thread(OLD, "Trip to Ulm")
    world.summaries.plant(USER, entry(OLD, 1))
    (row,) = world.ask("GET", "/api/memory/profile")[1]["threads"]
    assert row == {
        "key": f"{OLD}:1",
        "threadTitle": "Trip to Ulm",
        "text": format_entries(entry(OLD, 1).summary.entries),
        "value": {
            "threadId": OLD,
            "sequence": 1,
            "startMessageIndex": 0,
            "endMessageIndex": 0,
            "messageCount": 1,
            "messageIds": ["h1"],
            "summary": {"entries": [{"question": "q", "answer": "What came of it.", "refs": ["#1"]}]},
            "triggerReason": "turn_based",
            "tokenCountBefore": 10,
            "tokenCountAfter": 5,
            "createdAt": "2026-03-01T12:00:00Z",
        },
    }


def fill(world):
    """An old thread of twelve passes, and a new one of two that began before the old one ended."""
    world.thread(OLD, "Old")
    world.thread(NEW, "New")
    for sequence in range(1, 13):
        world.summaries.plant(USER, entry(OLD, sequence, minutes=sequence))
    for sequence in (1, 2):
        world.summaries.plant(USER, entry(NEW, sequence, minutes=10 * sequence))


def test_threads_come_newest_first_and_passes_oldest_first(world):
    # AP03, AP07, AMB-13, AMB-14, HID-28: in the order of the numbers, ten after nine. HID-01: all of them.
    fill(world)
    rows = world.ask("GET", "/api/memory/profile")[1]["threads"]
    expected = [f"{NEW}:1", f"{NEW}:2", *(f"{OLD}:{sequence}" for sequence in range(1, 13))]
    assert [row["key"] for row in rows] == expected
    threads = world.ask("GET", "/api/memory/threads")[1]["threads"]
    assert [(each["threadId"], each["threadTitle"]) for each in threads] == [(NEW, "New"), (OLD, "Old")]
    assert [row["key"] for each in threads for row in each["summaries"]] == expected


def test_titles_are_read_once(world):
    # AP03
    fill(world)
    world.ask("GET", "/api/memory/profile")
    assert world.threads.calls["titles"] == 1


def test_corrupt_rows_are_skipped_counted_and_still_deleted(world):
    # TS06, HID-02
    fill(world)
    world.summaries.plant_corrupt(USER, NEW, 3)
    assert len(world.ask("GET", "/api/memory/profile")[1]["threads"]) == 14
    assert world.metrics.counts[counters.CORRUPT_SUMMARIES] == 1
    assert world.ask("DELETE", f"/api/memory/threads/{NEW}") == (200, {"ok": True, "deletedCount": 3})


def test_each_part_that_cannot_be_read_is_left_empty_and_named(world):
    # AP02
    world.remember(city="Ulm")
    fill(world)
    world.profiles.failure = StoreError("down")
    status, body = world.ask("GET", "/api/memory/profile")
    assert (status, body["store"], body["memory"]["name"], body["degraded"]) == (200, {}, "Lin", ["store"])
    assert len(body["threads"]) == 14

    world.profiles.failure, world.summaries.failure = None, StoreError("down")
    status, body = world.ask("GET", "/api/memory/profile")
    assert (status, body["store"], body["threads"], body["degraded"]) == (200, {"city": "Ulm"}, [], ["threads"])

    world.summaries.failure, world.threads.failure = None, StoreError("down")
    status, body = world.ask("GET", "/api/memory/profile")
    assert (status, len(body["threads"]), body["degraded"]) == (200, 14, ["titles"])
    assert {row["threadTitle"] for row in body["threads"]} == {None}
    assert world.metrics.counts[counters.MEMORY_DEGRADED] == 3


def test_the_list_of_threads_does_not_pretend_to_be_empty(world):
    # Failure is not absence.
    world.summaries.failure = StoreError("down")
    status, body = world.ask("GET", "/api/memory/threads")
    assert (status, body["code"]) == (503, "STORE_UNAVAILABLE")


def test_a_saved_key_can_be_deleted(world):
    # AP04, DL01
    world.remember(city="Ulm", name="Lindsey")
    assert world.ask("DELETE", "/api/memory/profile/name") == (200, {"ok": True, "deletedKey": "name"})
    body = world.ask("GET", "/api/memory/profile")[1]
    assert body["store"] == {"city": "Ulm"}
    assert body["memory"]["name"] == "Lin", "the account's value shows again"
    change = world.profiles.log(USER)[2]
    assert (change.actor, change.origin.thread_id) == ("user", None)


@pytest.mark.parametrize("key", ["city", "name"])
def test_what_was_not_saved_is_not_found(world, key):
    # AP06: neither a missing key nor one that only the account has.
    status, body = world.ask("DELETE", f"/api/memory/profile/{key}")
    assert (status, body["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("key", ["ciudad", "città", "город", "城市", "مدينة", "ville_préférée", "x-ray", "a" * 64])
def test_keys_of_any_script_can_be_deleted(world, key):
    # Decision 5, HID-15: REST APIs hand the path on percent-encoded; it is decoded once.
    world.remember(**{key: 1})
    path = f"/api/memory/profile/{quote(key, safe='')}"
    assert world.ask("DELETE", path) == (200, {"ok": True, "deletedKey": key})


def test_the_local_cloud_s_gateway_is_understood_too(world):
    # It decodes the path itself, and says which payload format it speaks.
    world.remember(город=1)
    event = request("DELETE", "/api/memory/profile/город") | {"version": "1.0"}
    reply = world.handler(event, None)
    assert (reply["statusCode"], json.loads(reply["body"])["deletedKey"]) == (200, "город")


def test_two_spellings_of_one_letter_are_one_key(world):
    world.remember(città=1)
    decomposed = quote("citta\u0300")
    assert world.ask("DELETE", f"/api/memory/profile/{decomposed}") == (200, {"ok": True, "deletedKey": "città"})


@pytest.mark.parametrize(
    "key",
    [
        "",
        "..",
        ".",
        "%2F",
        "a%2Fb",
        "a/b",
        "%252F",
        "%2563ity",
        "a" * 65,
        "travel%20plans",
        "1st",
        "__proto__",
        "constructor",
        "a%00b",
        "%F0%9F%98%80",
        "%FF",
        "~0",
        "a~1b",
        "city%0A",
        "a%0Ab",
    ],
)
def test_what_is_no_key_is_refused(world, key):
    # AP05; "%2563ity" decoded twice would be "city".
    world.remember(city="Ulm")
    before = world.profiles.calls.copy()
    status, body = world.ask("DELETE", f"/api/memory/profile/{key}")
    assert (status, body["code"]) == (400, "BAD_KEY")
    assert world.profiles.calls == before
    assert world.ask("GET", "/api/memory/profile")[1]["store"] == {"city": "Ulm"}


def test_a_deletion_that_lost_its_race_is_made_again(world):
    # HID-11
    world.remember(city="Ulm", name="Lindsey")
    inner = world.profiles.load

    async def load_and_be_overtaken(user):
        stored = await inner(user)
        world.profiles.load = inner
        theirs = StoredProfile(doc={**stored.doc, "pet": "cat"}, version=stored.version + 1)
        await world.profiles.save(user, theirs, ProfileChange(patches=(), actor="model", origin=Origin(at=NOW)))
        return stored

    world.profiles.load = load_and_be_overtaken
    assert world.ask("DELETE", "/api/memory/profile/city")[0] == 200
    assert world.ask("GET", "/api/memory/profile")[1]["store"] == {"name": "Lindsey", "pet": "cat"}


def test_the_summaries_of_a_thread_can_be_deleted_and_the_thread_stays(world):
    # AP08, DL02, DL07: the count is real.
    fill(world)
    assert world.ask("DELETE", f"/api/memory/threads/{OLD}") == (200, {"ok": True, "deletedCount": 12})
    assert world.run(world.threads.get(USER, OLD)).title == "Old"
    assert [each["threadId"] for each in world.ask("GET", "/api/memory/threads")[1]["threads"]] == [NEW]
    assert world.ask("DELETE", f"/api/memory/threads/{OLD}")[0] == 404


def test_a_thread_can_be_deleted_and_is_gone_at_once(world):
    # AP09, DL03, decision 9: the purge takes the rest away.
    fill(world)
    assert world.ask("DELETE", f"/api/threads/{OLD}") == (204, None)
    assert world.purges.queued == [(USER, OLD)]
    assert {row["value"]["threadId"] for row in world.ask("GET", "/api/memory/profile")[1]["threads"]} == {NEW}
    assert [each["threadId"] for each in world.ask("GET", "/api/memory/threads")[1]["threads"]] == [NEW]


def test_a_deletion_whose_queue_fails_can_be_asked_for_again(world):
    world.thread(OLD)
    world.purges.failures = 1
    assert world.ask("DELETE", f"/api/threads/{OLD}")[0] == 503
    assert world.ask("DELETE", f"/api/threads/{OLD}")[0] == 204
    assert world.purges.queued == [(USER, OLD)]


def test_the_spelling_of_a_thread_s_id_does_not_matter(world):
    thread = "aaaaaaaa-1111-4111-8111-bbbbbbbbbbbb"
    world.thread(thread)
    assert world.ask("DELETE", f"/api/threads/{thread.upper()}")[0] == 204
    assert world.purges.queued == [(USER, thread)]


@pytest.mark.parametrize("path", ["/api/memory/threads/{}", "/api/threads/{}"])
def test_somebody_else_s_thread_is_answered_as_a_missing_one(world, path):
    # AP13, SE07
    fill(world)
    theirs = world.ask("DELETE", path.format(OLD), claims={"sub": STRANGER})
    world.run(world.summaries.forget(USER, OLD))
    world.run(world.threads.mark_deleting(USER, OLD, now=NOW))
    assert theirs[0] == 404
    assert theirs[1].keys() == {"code", "message"}
    # Deleting a thread once more queues its purge once more; there are no summaries to delete any more.
    again = world.ask("DELETE", path.format(OLD))
    assert again[0] == 204 if path == "/api/threads/{}" else again == theirs
    assert world.ask("DELETE", path.format(OLD), claims={"sub": STRANGER}) == theirs


@pytest.mark.parametrize("thread", ["1", "not-a-uuid", "..", "%2E%2E", f"{OLD}%20", f"{OLD}:1"])
@pytest.mark.parametrize("path", ["/api/memory/threads/{}", "/api/threads/{}"])
def test_what_is_no_thread_id_names_no_thread(world, path, thread):
    fill(world)
    status, body = world.ask("DELETE", path.format(thread))
    assert (status, body["code"]) == (404, "NOT_FOUND")
    assert len(world.ask("GET", "/api/memory/profile")[1]["threads"]) == 14


def test_memory_is_the_token_s_own(world):
    # SE08: headers, query and body name nobody.
    world.remember(city="Ulm")
    event = request("GET", "/api/memory/profile", claims={"sub": STRANGER})
    event["headers"]["X-User-Id"] = event["multiValueHeaders"]["X-User-Id"] = USER
    event["queryStringParameters"] = {"userId": USER}
    assert json.loads(world.handler(event, None)["body"])["store"] == {}


@pytest.mark.parametrize("claims", [(), {"sub": ""}, {"sub": "a.b"}, {"sub": None}])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        (route.method, route.path.format(key="city", thread_id=OLD, document_id=f"d-{OLD}", folder_id=f"f-{OLD}"))
        for route in routes_of("memory_api")
    ],
)
def test_without_a_token_nothing_is_read(world, method, path, claims):
    # AP14
    assert world.ask(method, path, claims=claims) == (401, {"code": "UNAUTHORIZED", "message": "Unauthorized"})
    assert world.touched() == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/memory", 404),
        ("PUT", "/api/memory/profile", 405),
        ("POST", "/api/memory/profile/city", 405),
        ("PATCH", "/api/memory/profile/city", 405),
        ("GET", "/openapi.json", 404),
        ("GET", "/docs", 404),
        ("GET", "/api/memory/threads/", 404),
    ],
)
def test_what_is_not_in_the_table_is_not_there(world, method, path, status):
    # AP15: in the words of every other error.
    answer, body = world.ask(method, path)
    assert answer == status
    assert body.keys() == {"code", "message"}


def test_browsers_of_any_origin_may_read_replies_and_errors(world):
    for path in ("/api/memory/profile", "/nowhere"):
        reply = world.handler(request("GET", path), None)
        assert reply["headers"]["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("fault", [None, "store", "bug"])
def test_nothing_of_a_profile_or_a_summary_gets_into_the_logs(world, deployed, fault):
    # Habit 14: planted in values, keys, titles, summaries, paths and errors.
    key = SECRET.replace("-", "_")
    world.remember(**{key: SECRET})
    world.thread(OLD, SECRET)
    world.summaries.plant(USER, entry(OLD, 1, text=SECRET))
    if fault == "store":
        world.profiles.failures["save"] = StoreError(SECRET)
    if fault == "bug":
        world.profiles.failures["save"] = ZeroDivisionError(SECRET)
    handler = world.with_metrics(deployed.metrics)
    replies = [
        deployed.invoke(handler, request(method, path))
        for method, path in (
            ("GET", "/api/memory/profile"),
            ("DELETE", f"/api/memory/profile/{key}"),
            ("DELETE", f"/api/memory/profile/{SECRET}"),
            ("DELETE", f"/api/memory/threads/{OLD}"),
            ("DELETE", f"/api/threads/{OLD}"),
            ("GET", f"/api/{SECRET}"),
        )
    ]
    statuses = [reply["statusCode"] for reply in replies]
    assert statuses == [200, {None: 200, "store": 503, "bug": 500}[fault], 404, 200, 204, 404]
    assert SECRET not in replies[1]["body"]
    printed = deployed.printed()
    assert '"level"' in printed
    assert SECRET not in printed
    assert key not in printed


def spans_of(world, query=None, *, thread=OLD, **how):
    event = request("GET", f"/api/memory/threads/{thread}/spans", **how)
    event["multiValueQueryStringParameters"] = {name: [value] for name, value in (query or {}).items()}
    reply = world.handler(event, None)
    return reply["statusCode"], json.loads(reply["body"])


def traced(world, run, message, *, user=USER, thread=OLD, origin="chat"):
    root = Span(
        id="1",
        run=run,
        name="agent",
        kind=SpanKind.RUN,
        status=SpanStatus.OK,
        started_at=NOW,
        ended_at=NOW + timedelta(seconds=2),
        facts={"input_tokens": 7},
    )
    trace = Trace(run_id=run, thread_id=thread, origin=origin, message_id=message, spans=[root])
    world.run(world.traces.save(user, trace))


def test_what_happened_in_a_thread_is_shown_run_by_run(world):
    # OB01, OB05
    world.thread(OLD)
    traced(world, "run-1", "h1")
    traced(world, "run-2", "h2")
    traced(world, "run-2", "h2", origin="summary")
    status, body = spans_of(world)
    assert (status, [run["runId"] for run in body["runs"]]) == (200, ["run-1", "run-2", "run-2"])
    assert body["runs"][0] == {
        "runId": "run-1",
        "origin": "chat",
        "messageId": "h1",
        "spans": [
            {
                "id": "1",
                "parent": None,
                "name": "agent",
                "kind": "run",
                "status": "ok",
                "startedAt": "2026-03-01T12:00:00Z",
                "endedAt": "2026-03-01T12:00:02Z",
                "error": "",
                "facts": {"input_tokens": 7},
            }
        ],
    }
    of_one = spans_of(world, {"messageId": "h2"})[1]["runs"]
    assert [(run["runId"], run["origin"]) for run in of_one] == [("run-2", "chat"), ("run-2", "summary")]
    assert spans_of(world, {"messageId": "h3"})[1] == {"runs": []}


def test_a_run_that_goes_on_is_shown_and_one_that_died_has_failed(world):
    # OB04
    world.thread(OLD)
    run = RunRow(run_id="run-9", thread_id=OLD, created_at=NOW, updated_at=NOW)
    pending = [{"type": "human", "id": "h9", "content": "What?"}]
    world.run(
        world.threads.acquire(USER, OLD, "run-9", now=NOW, hold=timedelta(seconds=30), pending=pending, record=run)
    )

    def shown():
        (only,) = spans_of(world, {"messageId": "h9"})[1]["runs"]
        return [(span["status"], span["error"]) for span in only["spans"]]

    assert shown() == [("running", "")]
    world.clock.advance(timedelta(seconds=31))
    assert shown() == [("failed", "CRASHED")]


def test_what_happened_in_somebody_else_s_thread_is_not_shown(world):
    # SE07
    world.thread(OLD)
    traced(world, "run-1", "h1")
    theirs = spans_of(world, claims={"sub": STRANGER})
    assert theirs[0] == 404
    for missing in ("nonsense", "%00"):
        assert spans_of(world, thread=missing)[0] == 404
    assert "run-1" not in json.dumps(theirs)
