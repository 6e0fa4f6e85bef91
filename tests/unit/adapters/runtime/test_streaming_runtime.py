"""The real bootstrap as a child process, against the Runtime API on loopback."""

import base64
import json

import pytest

from tests.fakes.gate import Gate
from tests.fakes.runtime_api import RuntimeApi, lambda_environment, rest_event

HANDLER = "tests.fakes.streaming_app.handler"


@pytest.fixture
async def lambda_():
    async with lambda_environment(HANDLER) as (api, _process):
        yield api


@pytest.fixture
async def gate():
    async with Gate() as gate:
        yield gate


async def whole(api: RuntimeApi, event: dict) -> dict:
    """The reply of a buffered invocation."""
    invocation = await api.invoke(event)
    body = await invocation.body()
    assert invocation.mode == "buffered"
    return json.loads(body)


async def test_a_token_leaves_while_the_next_is_not_there_yet(lambda_, gate):
    """A buffered reply would hang here: the second token waits until the first was read."""
    invocation = await lambda_.invoke(rest_event("GET", f"/stream/gated/{gate.port}"))
    head = await invocation.head()
    first = await invocation.read()
    assert await gate.next() == "after one"
    await gate.let_go()
    second = await invocation.read()
    assert await gate.next() == "after two"
    await gate.let_go()

    assert head["statusCode"] == 200
    assert head["headers"]["content-type"].startswith("text/event-stream")
    assert (first, second, await invocation.read()) == (b"one ", b"two", None)
    assert (invocation.mode, invocation.trailers) == ("streaming", {})
    assert invocation.content_type == "application/vnd.awslambda.http-integration-response"


async def test_nothing_is_posted_after_a_streamed_response(lambda_):
    invocation = await lambda_.invoke(rest_event("GET", "/stream/headers/1"))
    await invocation.body()
    await whole(lambda_, rest_event("POST", "/echo"))

    assert lambda_.calls.count(f"POST /invocation/{invocation.id}/response") == 1
    assert not any(call.endswith("/error") for call in lambda_.calls)


async def test_the_run_goes_on_when_the_reader_is_gone(lambda_, gate):
    invocation = await lambda_.invoke(rest_event("GET", f"/stream/gated/{gate.port}"), cut_after_chunks=2)
    await invocation.body()
    assert await gate.next() == "after one"
    await gate.let_go()
    assert await gate.next() == "after two"
    await gate.let_go()

    assert (await whole(lambda_, rest_event("POST", "/echo")))["statusCode"] == 200


async def test_a_failure_after_the_start_ends_in_trailers_without_its_story(lambda_):
    invocation = await lambda_.invoke(rest_event("GET", "/stream/breaks"))
    await invocation.head()

    assert await invocation.body() == b"half an "
    assert invocation.trailers is not None
    assert invocation.trailers["lambda-runtime-function-error-type"] == "Function.ResponseCutShort"
    assert json.loads(base64.b64decode(invocation.trailers["lambda-runtime-function-error-body"])) == {
        "errorType": "Function.ResponseCutShort"
    }


@pytest.mark.parametrize("path", ["/raises", "/stream/raises"])
async def test_a_failure_before_the_start_is_a_500_that_is_complete(lambda_, path):
    invocation = await lambda_.invoke(rest_event("GET", path))
    if path.startswith("/stream/"):
        head, body = await invocation.head(), await invocation.body()
        assert invocation.trailers == {}
    else:
        head = json.loads(await invocation.body())
        body = head["body"].encode()

    assert head["statusCode"] == 500
    assert b"secret" not in body
    assert list(json.loads(body)) == ["detail"]


async def test_headers_over_the_prelude_limit_are_a_500_not_a_gateway_error(lambda_):
    fits = await lambda_.invoke(rest_event("GET", "/stream/headers/12000"))
    fitting = await fits.head()
    too_large = await lambda_.invoke(rest_event("GET", "/stream/headers/17000"))

    assert (fitting["statusCode"], fitting["multiValueHeaders"]) == (200, {"x-twice": ["a", "b"]})
    assert (await too_large.head())["statusCode"] == 500


async def test_a_streamed_reply_may_be_larger_than_a_whole_one(lambda_):
    streamed = await lambda_.invoke(rest_event("GET", f"/stream/large/{8 << 20}"))
    await streamed.head()

    assert len(await streamed.body()) == 8 << 20
    assert (await whole(lambda_, rest_event("GET", f"/large/{7 << 20}")))["statusCode"] == 500


async def test_an_empty_body_is_answered_whole(lambda_):
    reply = await whole(lambda_, rest_event("GET", "/empty"))

    assert (reply["statusCode"], reply["body"]) == (204, "")


async def test_requests_share_one_process_and_one_loop(lambda_):
    replies = [json.loads((await whole(lambda_, rest_event("POST", "/echo")))["body"]) for _ in range(2)]

    assert replies[0]["process"] == replies[1]["process"]
    assert replies[0]["loop"] == replies[1]["loop"]
    assert [reply["served"] for reply in replies] == [1, 2]


async def test_an_event_that_is_no_request_is_left_alone(lambda_):
    assert await whole(lambda_, {"source": "aws.events", "detail": {}}) is None


async def test_a_handler_that_cannot_be_imported_is_an_init_error():
    async with lambda_environment("tests.fakes.no_such_module.handler") as (api, process):
        await process.wait()

    assert api.init_error is not None
    assert api.init_error["errorType"] == "Runtime.ImportModuleError"


async def test_a_snapshot_is_taken_before_the_first_request_and_restored():
    async with lambda_environment(HANDLER, environment={"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}) as (api, _):
        await whole(api, rest_event("POST", "/echo"))

    assert api.calls[0] == "GET /restore/next"


async def test_the_log_tells_of_failures_without_what_was_said():
    """Habit 14."""
    async with lambda_environment(HANDLER) as (api, process):
        for path in ("/raises", "/stream/raises", "/stream/breaks"):
            await (await api.invoke(rest_event("GET", path))).body()
        await whole(api, {"source": "ping"})
        process.terminate()
        log = await process.stdout.read()

    assert b"unexpected error" in log
    assert b"a secret" not in log
