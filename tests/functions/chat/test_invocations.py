"""Recorded events of API Gateway, through the function as it is deployed."""

import asyncio
import json
from pathlib import Path

import pytest

from shared.adapters.runtime.asgi import AsgiRunner
from shared.domain.errors import ModelError
from tests.fakes.chat_api import ChatApi, events_in
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.gate import Gate
from tests.fakes.runtime_api import lambda_environment

RUN = json.loads((Path(__file__).parents[2] / "events" / "run_stream_request.json").read_text(encoding="utf-8"))
STATE = {
    "httpMethod": "GET",
    "body": None,
    "resource": "/threads/{thread_id}/state",
    "path": f"/threads/{RUN['pathParameters']['thread_id']}/state",
}
SECRET = "Quillfeather"


def with_body(**changes):
    return {**RUN, "body": json.dumps({**json.loads(RUN["body"]), **changes})}


@pytest.fixture
def function():
    runners = []

    def make(*script):
        runner = AsgiRunner(ChatApi(ScriptedChatModel(*script)).app, streams=lambda _event: True)
        runners.append(runner)
        return runner.handle

    yield make
    for runner in runners:
        runner.close()


def test_a_recorded_request_is_a_turn(function, deployed):
    reply = deployed.invoke(function("Deep water."), RUN)
    events = events_in(reply["body"])

    assert (reply["statusCode"], events[-1].data["status"]) == (200, "success")
    assert reply["multiValueHeaders"]["content-location"] == [
        f"/threads/{RUN['pathParameters']['thread_id']}/runs/{events[0].data['run_id']}"
    ]


def test_the_log_holds_facts_and_nothing_that_was_said(function, deployed):
    """Habit 14: a secret in each place a user or a model may put one."""
    said = {"messages": [{"type": "human", "content": f"My name is {SECRET}"}]}
    handler = function(f"Hello {SECRET}", RuntimeError(SECRET), ModelError(SECRET))
    replies = [
        deployed.invoke(handler, with_body(input=said)),
        deployed.invoke(handler, with_body(input=said)),
        deployed.invoke(handler, with_body(input=said)),
        deployed.invoke(handler, with_body(input={"messages": [{"type": SECRET, "content": SECRET}]})),
        deployed.invoke(handler, with_body(input=SECRET, metadata={"title": SECRET})),
        deployed.invoke(handler, {**RUN, "body": f"{{{SECRET}"}),
        deployed.invoke(handler, {**RUN, "path": f"/{SECRET}", "resource": "/{proxy+}"}),
        deployed.invoke(handler, {"detail": SECRET}),
    ]
    log = deployed.printed()

    assert [reply and reply["statusCode"] for reply in replies] == [200, 200, 200, 422, 422, 422, 404, None]
    assert "run failed" in log
    assert "run ended" in log
    assert SECRET not in log


def test_a_run_is_stopped_in_time_for_the_process_to_store_it(function):
    class AlmostOver:
        aws_request_id = "1"

        def get_remaining_time_in_millis(self):
            return 1000

    async def for_ever(_place):
        await asyncio.Event().wait()

    handler = function(Say("Never said", before_token=for_ever))
    events = events_in(handler(RUN, AlmostOver())["body"])
    state = handler({**RUN, **STATE}, AlmostOver())

    assert (events[-1].name, events[-1].data["error"]) == ("error", "RUN_TIMEOUT")
    assert [message["type"] for message in json.loads(state["body"])["values"]["messages"]] == ["human"]


async def test_tokens_arrive_through_the_bootstrap_while_the_model_still_speaks():
    """The second word waits until the first was read: a reply that is buffered anywhere would hang here."""
    async with (
        Gate() as gate,
        lambda_environment("tests.fakes.chat_function.handler", environment={"GATE_PORT": str(gate.port)}) as (
            api,
            _process,
        ),
    ):
        invocation = await api.invoke(RUN)
        head = await invocation.head()
        assert await gate.next() == "before the second word"
        received = b""
        while b'"content":"A"' not in received:
            chunk = await invocation.read()
            assert chunk is not None
            received += chunk
        before = received
        await gate.let_go()
        received += await invocation.body()

    assert head["statusCode"] == 200
    assert b"fjord is" not in before.replace(b"What is a fjord", b"")
    assert events_in(received.decode())[-1].data["status"] == "success"
    assert invocation.trailers == {}


async def test_a_client_that_is_gone_does_not_end_the_run():
    async with (
        Gate() as gate,
        lambda_environment("tests.fakes.chat_function.handler", environment={"GATE_PORT": str(gate.port)}) as (
            api,
            _process,
        ),
    ):
        cut = await api.invoke(RUN, cut_after_chunks=2)
        await cut.body()
        assert await gate.next() == "before the second word"
        await gate.let_go()
        invocation = await api.invoke({**RUN, **STATE})
        await invocation.head()
        messages = json.loads(await invocation.body())["values"]["messages"]

    assert messages[-1]["content"] == "A fjord is deep."
