"""The runner without the streaming bootstrap: replies are whole, whatever the route says."""

import base64
import json
from types import SimpleNamespace

import pytest

from shared.adapters.runtime.asgi import AsgiRunner, LifespanError
from tests.fakes.runtime_api import rest_event
from tests.fakes.streaming_app import app

CONTEXT = SimpleNamespace(aws_request_id="request-1")


@pytest.fixture
def runner():
    runner = AsgiRunner(app, streams=lambda _event: True)
    yield runner
    runner.close()


def test_any_other_runtime_gets_the_whole_reply_of_a_streaming_route(runner):
    reply = runner.handle(rest_event("GET", "/stream/headers/1"), CONTEXT)

    assert reply["statusCode"] == 200
    assert reply["body"] == "fine"
    assert reply["multiValueHeaders"]["x-twice"] == ["a", "b"]
    assert reply["isBase64Encoded"] is False


def test_a_whole_reply_that_broke_off_is_a_500(runner):
    assert runner.handle(rest_event("GET", "/stream/breaks"), CONTEXT)["statusCode"] == 500


def test_the_request_arrives_as_it_was_sent(runner):
    event = rest_event(
        "POST",
        "/echo",
        base64.b64encode("grüße".encode()).decode(),
        isBase64Encoded=True,
        multiValueQueryStringParameters={"a": ["1", "two words"], "b": ["ü&="]},
        multiValueHeaders={"Accept": ["text/plain", "application/json"]},
    )
    echo = json.loads(runner.handle(event, CONTEXT)["body"])

    assert echo["body"] == "grüße"
    assert echo["query"] == [["a", "1"], ["a", "two words"], ["b", "ü&="]]
    assert echo["accept"] == ["text/plain", "application/json"]


def test_single_value_parameters_are_read_where_there_are_no_others(runner):
    event = rest_event(
        "POST", "/echo", multiValueHeaders=None, headers={"Accept": "a/b"}, queryStringParameters={"q": "1"}
    )
    echo = json.loads(runner.handle(event, CONTEXT)["body"])

    assert (echo["query"], echo["accept"], echo["body"]) == ([["q", "1"]], ["a/b"], "")


def test_bytes_that_are_no_text_are_base64():
    async def picture(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"\xff\xd8"})

    async def with_lifespan(scope, receive, send):
        if scope["type"] == "http":
            await picture(scope, receive, send)
            return
        while (message := await receive())["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        assert message["type"] == "lifespan.shutdown"
        await send({"type": "lifespan.shutdown.complete"})

    runner = AsgiRunner(with_lifespan, streams=lambda _event: False)
    reply = runner.handle(rest_event("GET", "/"), CONTEXT)
    runner.close()

    assert (reply["isBase64Encoded"], base64.b64decode(reply["body"])) == (True, b"\xff\xd8")


def test_the_lifespan_starts_once_and_its_state_reaches_requests():
    starts = []

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            await receive()
            starts.append(1)
            scope["state"]["models"] = "ready"
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["state"]["models"].encode()})

    runner = AsgiRunner(app, streams=lambda _event: False)
    bodies = [runner.handle(rest_event("GET", "/"), CONTEXT)["body"] for _ in range(2)]
    runner.close()

    assert (bodies, starts) == (["ready", "ready"], [1])


def test_an_app_that_cannot_start_says_so_each_time():
    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no table"})

    runner = AsgiRunner(app, streams=lambda _event: False)
    for _ in range(2):
        with pytest.raises(LifespanError, match="no table"):
            runner.start()
    runner.close()
