"""No input is answered with a 5xx, and none leaves a thread busy."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.adapters.langgraph_api.bodies import (
    AssistantSearch,
    HistoryQuery,
    RunCreate,
    StateAt,
    StateUpdate,
    ThreadCount,
    ThreadCreate,
    ThreadSearch,
)
from tests.fakes.chat_api import ChatApi
from tests.fakes.runs import USER

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={
        "content": st.text() | JSON,
        "id": st.text() | JSON,
        "tool_calls": JSON,
        "tool_call_id": st.text() | JSON,
    },
)
QUESTION = st.fixed_dictionaries({"role": st.just("user"), "content": st.text(min_size=1)})
CHANGE = st.fixed_dictionaries({"type": st.just("remove"), "id": st.text(max_size=5)})
KNOWN_VALUES = {
    "assistant_id": st.just("agent"),
    "input": st.fixed_dictionaries({"messages": st.lists(QUESTION, min_size=1, max_size=2)})
    | st.fixed_dictionaries({"messages": st.lists(MESSAGE, max_size=3)})
    | st.none(),
    "metadata": st.dictionaries(st.text(max_size=8), JSON, max_size=3),
    "stream_subgraphs": st.booleans(),
    "multitask_strategy": st.sampled_from(["reject", "enqueue", "interrupt", "rollback"]),
    "durability": st.sampled_from(["sync", "async", "exit"]),
    "limit": st.integers(-1, 1001),
    "command": st.none() | st.fixed_dictionaries({}, optional={"resume": JSON, "goto": JSON, "update": JSON}),
    "stream_mode": st.sampled_from(["values", "updates", "messages", "messages-tuple", "custom", "events", "debug"]),
    "values": st.fixed_dictionaries({"messages": st.lists(MESSAGE | CHANGE, max_size=3)}) | st.none() | JSON,
    "as_node": st.sampled_from(["confirm", "chat_agent", "trigger_background_agent", "__end__", "__start__", ""]),
    "checkpoint": st.fixed_dictionaries({}, optional={"checkpoint_id": st.text() | JSON, "checkpoint_ns": JSON}),
}


ALWAYS = {RunCreate: ("assistant_id", "input"), StateUpdate: ("values",), StateAt: ("checkpoint",)}


@st.composite
def bodies_of(draw, model):
    """A body that mostly fits: what must be there, and a few fields more of any shape."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    more = draw(st.sets(st.sampled_from(sorted(model.model_fields)), max_size=1))
    return {name: draw(KNOWN_VALUES.get(name, JSON)) for name in {*ALWAYS.get(model, ()), *more}}


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/threads", ThreadCreate),
        ("/threads/search", ThreadSearch),
        ("/threads/count", ThreadCount),
        ("/threads/{t}/history", HistoryQuery),
        ("/threads/{t}/state", StateUpdate),
        ("/threads/{t}/state/checkpoint", StateAt),
        ("/threads/{t}/runs/stream", RunCreate),
        ("/threads/{t}/runs/wait", RunCreate),
        ("/runs/stream", RunCreate),
        ("/runs/wait", RunCreate),
        ("/assistants/search", AssistantSearch),
    ],
)
def test_any_body_is_taken_or_refused(path, model):
    api, statuses = ChatApi(), set()

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(bodies_of(model))
    def send(body):
        async def once():
            async with api.client() as client:
                thread = (await client.post("/threads", json={})).json()["thread_id"]
                content = json.dumps(body)
                headers = {"content-type": "application/json"}
                answer = await client.post(path.format(t=thread), content=content, headers=headers)
                row = await api.runs.threads.get(USER, thread)
            assert answer.status_code < 500, (answer.status_code, answer.text)
            assert row.status != "busy"
            statuses.add(answer.status_code)
            if answer.status_code != 200:
                assert list(answer.json()) == ["detail"]

        asyncio.run(once())

    send()
    assert statuses >= {200, 422}
