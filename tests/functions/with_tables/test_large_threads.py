"""A thread of more than a buffered reply can hold, through the real bootstrap, from the real checkpointer."""

import json

import pytest

from tests.fakes.deployed import RUN
from tests.fakes.runtime_api import lambda_environment

HANDLER = "tests.fakes.large_thread_app.handler"
THREAD = "00000000-0000-0000-0000-000000000014"


@pytest.fixture
async def lambda_():
    async with lambda_environment(HANDLER) as (api, _process):
        yield api


async def whole(api, path, resource):
    """Give what an invocation streamed, as its JSON value, and how large it was."""
    event = {**RUN, "httpMethod": "GET", "body": None, "path": path, "resource": resource}
    invocation = await api.invoke({**event, "multiValueQueryStringParameters": {"limit": ["3"]}})
    head = await invocation.head()
    body = await invocation.body()
    assert (head["statusCode"], head["headers"]["content-type"]) == (200, "application/json")
    assert (invocation.mode, invocation.trailers) == ("streaming", {})
    return json.loads(body), len(body)


async def test_a_thread_of_20_mb_arrives_whole(lambda_):
    state, size = await whole(lambda_, f"/threads/{THREAD}/state", "/threads/{thread_id}/state")
    history, in_all = await whole(lambda_, f"/threads/{THREAD}/history", "/threads/{thread_id}/history")

    assert size > 20_000_000
    assert [message["id"] for message in state["values"]["messages"]] == [f"m-{n}" for n in range(100)]
    assert {len(message["content"]) for message in state["values"]["messages"]} == {200_000}
    assert in_all > 45_000_000
    assert [len(each["values"]["messages"]) for each in history] == [100, 75, 50]
    assert history[0]["values"] == state["values"]
