"""Whatever is sent, both APIs answer as their OpenAPI documents say, and never with a 5xx.

Requests are made from the documents, fitting and not, and go through the functions as Lambda calls them. To look for
more than CI does: ``EXAMPLES=500 pytest tests/functions/with_tables/test_any_request.py``, which is random then.
"""

import asyncio
import base64
import json
import os
import uuid
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from functions.chat import openapi as chat_openapi
from functions.memory_api import openapi as memory_openapi
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.domain.ids import UserId
from shared.domain.uploads import upload_key
from tests.fakes.chat_api import events_in
from tests.fakes.deployed import USER, deployed_chat, deployed_memory_api

EXAMPLES = int(os.environ.get("EXAMPLES", "0"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OWN_FAULTS = {"RUN_FAILED", "STORE_UNAVAILABLE", "ITEM_TOO_LARGE", "LEASE_LOST"}
"""What a run that began must not end with because of what it was given: a 5xx after the status was sent."""


def operations_of(module):
    schema = schemathesis.openapi.from_dict(module.document())
    return [operation.ok() for operation in schema.get_all_operations()]


def named(operation):
    return f"{operation.method.upper()} {operation.path}"


def searched(examples):
    """How many examples are made, and whether they are the same every time."""
    return settings(
        max_examples=EXAMPLES or examples,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def any_case_of(operation):
    """Requests of an operation that fit the document, and as many that do not."""
    fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    try:
        return fitting | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    except schemathesis.errors.InvalidSchema:
        return fitting


def send(function, case):
    """Send a request as API Gateway hands it on, and give the reply as a client sees it."""
    sent = requests.Request(**as_requests(case)).prepare()
    address = urlsplit(sent.url)
    query = {}
    for name, value in parse_qsl(address.query, keep_blank_values=True):
        query.setdefault(name, []).append(value)
    body = sent.body.encode() if isinstance(sent.body, str) else sent.body
    reply = function.request(
        case.method.upper(),
        address.path,
        resource=case.operation.path,
        queryStringParameters={name: values[-1] for name, values in query.items()} or None,
        multiValueQueryStringParameters=query or None,
        headers=dict(sent.headers),
        multiValueHeaders={name: [value] for name, value in sent.headers.items()},
        body=None if body is None else base64.b64encode(body).decode(),
        isBase64Encoded=body is not None,
    )
    content = reply["body"] or ""
    headers = reply.get("multiValueHeaders") or {name: [value] for name, value in reply["headers"].items()}
    response = httpx.Response(
        reply["statusCode"],
        headers=[(name, value) for name, values in headers.items() for value in values],
        content=base64.b64decode(content) if reply.get("isBase64Encoded") else content.encode(),
        request=httpx.Request(sent.method, sent.url, headers=dict(sent.headers), content=body),
    )
    response.elapsed = timedelta(0)
    return response


def as_requests(case):
    given = case.as_transport_kwargs(base_url="http://api.test")
    return {name: value for name, value in given.items() if value is not None}


TEXTS = st.text(min_size=1).filter(str.strip)
QUESTION = st.builds(lambda text: {"role": "user", "content": text}, TEXTS)
CHANGES = QUESTION | st.sampled_from([{"type": "remove", "id": "q-1"}, {"type": "ai", "id": "a-1", "content": "No."}])
MESSAGES = st.fixed_dictionaries({"messages": st.lists(QUESTION, min_size=1, max_size=2)})
RUN = {"assistant_id": st.just("agent"), "input": MESSAGES}
FITTING = {
    "/runs/stream": RUN,
    "/runs/wait": RUN,
    "/state": {"values": st.fixed_dictionaries({"messages": st.lists(CHANGES, max_size=2)})},
    "/kb/documents": {
        "name": st.sampled_from(["notes.md", "über 100%.pdf"]),
        "size": st.integers(1, 1000),
        "mediaType": st.sampled_from(["text/markdown", "application/pdf"]),
    },
    "/agui": {
        "threadId": st.uuids().map(str),
        "runId": st.text(max_size=5),
        "messages": st.lists(
            st.builds(lambda text, ident: {"role": "user", "content": text, "id": ident}, TEXTS, st.text(min_size=1)),
            min_size=1,
            max_size=2,
        ),
        **dict.fromkeys(("tools", "context"), st.just([])),
        **dict.fromkeys(("state", "forwardedProps"), st.just({})),
    },
}
"""What a request must have to be taken that the documents do not say, by the end of the path."""


@st.composite
def cases_of(draw, operation):
    """Give a request made from the document, and whether it is to be about what is there and to ask for what fits."""
    case, there = draw(any_case_of(operation)), draw(st.booleans())
    fitting = next((each for end, each in FITTING.items() if operation.path.endswith(end)), None)
    if there and case.method.upper() == "POST" and fitting is not None:
        given = case.body if isinstance(case.body, dict) else {}
        kept = draw(st.sets(st.sampled_from(sorted(given)), max_size=2)) if given else ()
        case.body = {**{name: draw(each) for name, each in fitting.items()}, **{name: given[name] for name in kept}}
    return case, there


def about(case, ids):
    """Put the ids of things that are there into a request's path."""
    case.path_parameters.update({name: ids[name] for name in case.path_parameters if name in ids})


class AThread:
    """A thread with two turns, made when it is first asked for; a new one for whoever deletes it."""

    def __init__(self, function):
        self._function = function
        self._ids = {}

    def __call__(self, method):
        """Give what stands in paths for things that are there."""
        if method == "DELETE":
            return {"thread_id": self._thread()}
        if not self._ids:
            thread = self._thread()
            self._function.say(thread, "One", input={"messages": [{"role": "user", "content": "One", "id": "q-1"}]})
            self._function.say(thread, "Two")
            history = self._function.json("GET", f"/threads/{thread}/history")
            self._ids = {
                "thread_id": thread,
                "run_id": self._function.json("GET", f"/threads/{thread}/runs")[0]["run_id"],
                "checkpoint_id": history[-1]["checkpoint_id"],
                "assistant_id": "agent",
            }
        return self._ids

    def _thread(self):
        return self._function.json("POST", "/threads", {"metadata": {"title": "Named"}})["thread_id"]


class ADocument:
    """A document that has arrived; a new one each time."""

    def __init__(self, function):
        self._documents = DynamoDocuments(function.dynamodb, "memory")

    def __call__(self, _method):
        """Give what stands in paths for things that are there."""
        key = upload_key(UserId(USER), str(uuid.uuid4()), "notes.md")
        found = self._documents.record_upload(
            UserId(USER), key, version_id=None, sequencer="01", size=3, now=datetime(2026, 3, 1, tzinfo=UTC)
        )
        return {"document_id": asyncio.get_event_loop().run_until_complete(found), "key": "name"}


@pytest.mark.parametrize("operation", operations_of(chat_openapi), ids=named)
def test_the_chat_api_answers_any_request_as_it_is_documented(operation):
    """AP16, HID-34."""
    statuses = set()
    with deployed_chat() as function:
        there = AThread(function)

        @searched(30 if "runs" not in operation.path else 16)
        @given(cases_of(operation))
        def answered(drawn):
            case, exists = drawn
            if exists:
                about(case, there(case.method.upper()))
            reply = send(function, case)
            case.validate_response(reply, checks=CHECKS)
            statuses.add(reply.status_code)
            if reply.status_code != 200:
                return
            if "event-stream" in reply.headers["content-type"]:
                assert not OWN_FAULTS.intersection(re_read(reply.text)), reply.text
            elif operation.path.endswith("/wait"):
                assert reply.json().get("__error__", {}).get("error") not in OWN_FAULTS, reply.text

        answered()
    # Of a run that is over nothing can be stopped.
    assert any(status < 300 for status in statuses) or operation.path.endswith("/cancel"), statuses


def re_read(text):
    """Give the codes of the errors in a stream, of either protocol."""
    if "event: " in text:
        return [event.data["error"] for event in events_in(text) if event.name == "error"]
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    return [event["code"] for event in events if event["type"] == "RUN_ERROR"]


@pytest.mark.parametrize("operation", operations_of(memory_openapi), ids=named)
def test_the_memory_api_answers_any_request_as_it_is_documented(operation):
    """AP16, HID-34."""
    statuses = set()
    with deployed_memory_api() as function:
        there = ADocument(function)

        @searched(20)
        @given(cases_of(operation))
        def answered(drawn):
            case, exists = drawn
            if exists:
                about(case, there(case.method.upper()))
            reply = send(function, case)
            case.validate_response(reply, checks=CHECKS)
            statuses.add(reply.status_code)

        answered()
    # More than "this does not fit" was seen.
    assert statuses > {400} or 400 not in statuses, statuses
