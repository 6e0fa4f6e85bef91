"""The chat function as Lambda imports it: real adapters over mocked tables, and Bedrock's wire on loopback."""

import base64
import json
from urllib.parse import quote

import boto3
import pytest

from shared.adapters import aws
from shared.domain.content import text_of
from tests.fakes.chat_api import events_in
from tests.fakes.converse_wire import Answer, Refuse
from tests.fakes.deployed import CHAT_SETTINGS, REGION, USER, deployed_chat
from tests.fakes.dynamodb import tapped


@pytest.fixture
def function():
    with deployed_chat() as function:
        yield function


def test_a_chat_from_the_first_word_to_the_last(function):
    """Stream, memory in a new thread, title, list, history, deletion: on the real adapters and the real graph."""
    patches = [{"op": "add", "path": "/city", "value": "Turku"}]
    function.wire.script = [
        Answer(["Nice to ", "meet you."], calls=[("save_memory", {"patches": patches})]),
        Answer(["No", "ted."]),
        Answer(["In Turku."]),
    ]
    # Named threads: the model that finds names would take its turn in the script.
    named = {"metadata": {"title": "Home"}}
    thread = function.json("POST", "/threads", named)["thread_id"]
    events = function.say(thread, "I live in Turku", stream_mode=["values", "messages-tuple", "custom"])
    other = function.json("POST", "/threads", named)["thread_id"]
    function.say(other, "Where do I live?")
    listed = function.json("POST", "/threads/search", {})
    history = function.json("GET", f"/threads/{thread}/history")
    said = function.said(thread)
    deleted = function.request("DELETE", f"/threads/{thread}")
    after = function.request("GET", f"/threads/{thread}/state")

    assert events[-1].data["status"] == "success"
    tokens = [chunk for event in events if event.name == "messages" for chunk in event.data[0]["content"]]
    assert "Noted." in "".join(part.get("text", "") for part in tokens if isinstance(part, dict))
    assert said[0] == "I live in Turku"
    assert "Noted." in json.dumps(said[-1])
    assert [len(state["values"]["messages"]) for state in history] == [len(said), 0]
    assert {each["thread_id"] for each in listed} == {thread, other}
    assert "Turku" in json.dumps(function.wire.asked[-1].body["system"])
    assert (deleted["statusCode"], after["statusCode"]) == (204, 404)
    assert [purge["threadId"] for purge in function.purges()] == [thread]


def test_what_one_answer_may_cost_is_bounded_and_a_title_costs_less(function):
    function.say(function.json("POST", "/threads", {})["thread_id"], "Hello")

    limits = {asked.model: asked.body["inferenceConfig"]["maxTokens"] for asked in function.wire.asked}
    assert limits == {
        quote(CHAT_SETTINGS.chat_model, safe=""): CHAT_SETTINGS.model_max_tokens,
        quote(CHAT_SETTINGS.fast_model, safe=""): CHAT_SETTINGS.fast_max_tokens,
    }
    assert CHAT_SETTINGS.fast_max_tokens < CHAT_SETTINGS.model_max_tokens


def test_users_do_not_meet(function):
    """HID-12, AP13."""
    thread = function.json("POST", "/threads", {})["thread_id"]
    function.say(thread, "Mine")
    paths = [("GET", f"/threads/{thread}"), ("GET", f"/threads/{thread}/state"), ("GET", f"/threads/{thread}/history")]

    assert [function.request(*path, user="somebody-else")["statusCode"] for path in paths] == [404, 404, 404]
    assert function.say(thread, "Still mine")[-1].data["status"] == "success"


def test_a_model_that_refuses_leaves_the_question(function):
    function.wire.script = [Refuse(400, "ValidationException")]
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    events = function.say(thread, "A question")
    again = function.say(thread, "Another")

    assert (events[-1].name, events[-1].data["error"]) == ("error", "MODEL_REFUSED")
    assert again[-1].data["status"] == "success"
    assert function.said(thread)[:2] == ["A question", "Another"]


def test_a_turn_costs_few_requests_and_no_more_in_a_long_thread(function):
    """The counts that bench/turn_cost.py reports must not creep up."""
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    counts = []
    for number in range(12):
        with tapped(aws.client("dynamodb")) as wire:
            function.say(thread, f"Question {number}")
        counts.append(wire.counts)

    first, last = counts[1], counts[-1]
    assert last == first
    assert last["UpdateItem"] + last["PutItem"] + last["TransactWriteItems"] + last["BatchWriteItem"] <= 6
    assert last["Query"] + last["GetItem"] + last["BatchGetItem"] <= 4


def test_a_question_of_long_ago_is_answered_again_from_the_checkpoint_before_it(function):
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    for question in ("First", "Second", "Third"):
        function.say(thread, question)
    after_first, root = function.json("GET", f"/threads/{thread}/history")[2:]
    path = f"/threads/{thread}/runs/stream"

    function.request("POST", path, {"assistant_id": "agent", "checkpoint": after_first["checkpoint"]})
    second = function.said(thread)
    function.request("POST", path, {"assistant_id": "agent", "checkpoint": root["checkpoint"]})

    assert second[::2] == ["First", "Second"]
    assert function.said(thread)[::2] == ["First"]


def test_a_run_is_given_again_as_it_was_and_known(function):
    """On the real tables: the log refers to the checkpoint that the run began with."""
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    function.say(thread, "First question")
    modes = {"stream_mode": ["values", "updates", "messages-tuple"]}
    events = function.say(thread, "Second question", **modes)
    runs = function.json("GET", f"/threads/{thread}/runs")
    again = events_in(function.request("GET", f"/threads/{thread}/runs/{runs[0]['run_id']}/stream")["body"])
    stopped = function.request("POST", f"/threads/{thread}/runs/{runs[0]['run_id']}/cancel")
    other = function.request("GET", f"/threads/{thread}/runs/{runs[0]['run_id']}/stream", user="somebody-else")

    assert again == events
    assert [len(event.data["messages"]) for event in again if event.name == "values"][-1] == 4
    assert [run["status"] for run in runs] == ["success", "success"]
    assert (stopped["statusCode"], other["statusCode"]) == (404, 404)


def test_a_copy_on_the_real_tables_goes_its_own_way(function):
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    function.say(thread, "First question")
    copy = function.json("POST", f"/threads/{thread}/copy")["thread_id"]
    function.say(copy, "In the copy")
    changed = function.json(
        "POST", f"/threads/{thread}/state", {"values": {"messages": [{"type": "human", "content": "Added", "id": "m"}]}}
    )
    function.say(thread, "After the change")

    assert function.said(copy)[::2] == ["First question", "In the copy"]
    assert [text for text in function.said(thread) if isinstance(text, str)][:2] == ["First question", "Added"]
    assert changed["checkpoint"]["thread_id"] == thread


def test_a_run_without_a_thread_leaves_nothing_in_the_tables(function):
    body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi"}]}}
    with tapped(aws.client("dynamodb")) as wire:
        waited = json.loads(function.request("POST", "/runs/wait", body)["body"])
        streamed = events_in(function.request("POST", "/runs/stream", body)["body"])

    assert waited["messages"][0]["content"] == "Hi"
    assert streamed[-1].data["status"] == "success"
    assert set(wire.counts) <= {"GetItem", "Query", "BatchGetItem"}


def test_an_agent_that_failed_goes_on_inside_on_the_real_tables(function):
    """A sub-agent's own state is in the checkpoint table while its turn is open, and only then."""
    patches = [{"op": "add", "path": "/city", "value": "Turku"}]
    function.wire.script = [
        Answer(["Saving."], calls=[("save_memory", {"patches": patches})]),
        Refuse(400, "ValidationException"),
        Answer(["Noted."]),
    ]
    thread = function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]
    failed = function.say(thread, "I live in Turku")
    body = {"assistant_id": "agent", "input": None}
    gone_on = events_in(function.request("POST", f"/threads/{thread}/runs/stream", body)["body"])

    assert failed[-1].name == "error"
    assert gone_on[-1].data["status"] == "success"
    assert len(function.wire.asked) == 3
    assert "Noted." in json.dumps(function.said(thread)[-1])
    assert len(function.said(thread)) == 4


def test_a_file_in_a_message_goes_to_the_bucket_and_waits_for_its_text(function):
    """KB06, KB16: on the real adapters; nobody ingests it here, so the model is told that it is not there yet."""
    function.wire.script = [Answer(["Not yet."])]
    thread = function.json("POST", "/threads", {"metadata": {"title": "Herons"}})["thread_id"]
    data = base64.b64encode(b"The heron nests in March.").decode()
    file = {"type": "file", "base64": data, "mime_type": "text/markdown", "filename": "herons.md"}

    events = function.say(thread, [{"type": "text", "text": "When?"}, file], stream_mode=["values"])

    assert [event.data for event in events if event.name == "error"] == []
    s3 = boto3.client("s3", region_name=REGION)
    (stored,) = s3.list_objects_v2(Bucket=CHAT_SETTINGS.bucket)["Contents"]
    assert stored["Key"].startswith(f"users/{USER}/uploads/chat-")
    (_, kept, mark), answer = function.said(thread)
    assert (kept["filename"], text_of(answer)) == (f"[kb:{mark['docId']}] herons.md", "Not yet.")
    assert "pending" in json.dumps(function.wire.asked[-1].body["messages"])
