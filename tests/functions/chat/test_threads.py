import uuid

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, StateGraph

from shared.domain.errors import StoreError
from shared.graphs.agent import Envelope
from tests.fakes.chat_api import OTHER, USER, ChatApi

MISSING = "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"
RUN = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi"}]}}


@pytest.fixture
def api():
    return ChatApi()


async def test_a_thread_is_made_found_changed_and_listed(api):
    async with api.client() as client:
        made = (await client.post("/threads", json={"metadata": {"colour": "blue"}})).json()
        found = (await client.get(f"/threads/{made['thread_id']}")).json()
        changed = (await client.patch(f"/threads/{made['thread_id']}", json={"metadata": {"size": 2}})).json()
        listed = (await client.post("/threads/search", json={"metadata": {"size": 2}})).json()

    assert str(uuid.UUID(made["thread_id"])) == made["thread_id"]
    assert (made["status"], made["values"], made["interrupts"]) == ("idle", None, {})
    assert made["metadata"]["graph_id"] == "agent"
    assert made["metadata"]["assistant_id"] == "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
    assert found == made
    assert (changed["metadata"]["colour"], changed["metadata"]["size"]) == ("blue", 2)
    assert listed == [changed]


async def test_an_id_may_be_given_and_is_taken_once(api):
    async with api.client() as client:
        first = await client.post("/threads", json={"thread_id": MISSING.upper()})
        again = await client.post("/threads", json={"thread_id": MISSING})
        same = await client.post("/threads", json={"thread_id": MISSING, "if_exists": "do_nothing"})

    assert (first.status_code, first.json()["thread_id"]) == (200, MISSING)
    assert again.status_code == 409
    assert (same.status_code, same.json()) == (200, first.json())


async def test_a_title_rides_in_the_metadata(api):
    """AP11, on the routes of the LangGraph Server API, G09: 1 to 200 characters."""
    async with api.client() as client:
        made = (await client.post("/threads", json={"metadata": {"title": "  Plans  ", "n": 1}})).json()
        path = f"/threads/{made['thread_id']}"
        renamed = (await client.patch(path, json={"metadata": {"title": "New plans"}})).json()
        refused = [
            (await client.patch(path, json={"metadata": {"title": title}})).status_code
            for title in ("", "   ", "x" * 201, 7)
        ]

    assert made["metadata"]["title"] == "Plans"
    assert (renamed["metadata"]["title"], renamed["metadata"]["n"]) == ("New plans", 1)
    assert refused == [422, 422, 422, 422]


@pytest.mark.parametrize("policy", ["trim", "delete", "running_summary"])
async def test_a_thread_is_kept_short_only_if_it_was_made_so(api, policy):
    """Decision 12, X01, X02: opt-in, on the thread's row, for good."""
    async with api.client() as client:
        ordinary = (await client.post("/threads", json={})).json()
        made = (await client.post("/threads", json={"metadata": {"history_policy": policy, "n": 1}})).json()
        path = f"/threads/{made['thread_id']}"
        sent_back = await client.patch(path, json={"metadata": {**made["metadata"], "n": 2}})
        refused = [
            (await client.patch(path, json={"metadata": {"history_policy": "summaries"}})).status_code,
            (
                await client.patch(f"/threads/{ordinary['thread_id']}", json={"metadata": {"history_policy": policy}})
            ).status_code,
        ]
        by_policy = {"metadata": {"history_policy": policy}}
        listed = (await client.post("/threads/search", json=by_policy)).json()
        count = (await client.post("/threads/count", json=by_policy)).json()
        rows = [await api.runs.threads.get(USER, thread["thread_id"]) for thread in (ordinary, made)]

    assert [row.policy for row in rows] == ["summaries", policy]
    assert "history_policy" not in ordinary["metadata"]
    assert made["metadata"]["history_policy"] == policy
    assert rows[1].metadata["n"] == 2
    assert "history_policy" not in rows[1].metadata
    assert (sent_back.status_code, sent_back.json()["metadata"]["history_policy"]) == (200, policy)
    assert refused == [422, 422]
    assert ([thread["thread_id"] for thread in listed], count) == ([made["thread_id"]], 1)


@pytest.mark.parametrize("policy", ["", "Delete", "all", 1, True, ["delete"], {"delete": 1}])
async def test_a_history_policy_that_there_is_not_is_a_422(api, policy):
    body = {"metadata": {"history_policy": policy}}
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        answers = [
            await client.post("/threads", json=body),
            await client.patch(f"/threads/{thread}", json=body),
            await client.post("/threads/search", json=body),
            await client.post("/threads/count", json=body),
        ]

    assert [answer.status_code for answer in answers] == [422] * 4
    assert all("history_policy" in answer.json()["detail"] for answer in answers)


async def test_the_graph_is_told_how_its_thread_is_kept():
    def told(_model):
        def say(_state, config):
            return {"messages": [AIMessage(Envelope.of(config).policy)]}

        return StateGraph(MessagesState).add_node("say", say).add_edge("__start__", "say").compile()

    api = ChatApi(make=told)
    async with api.client() as client:
        said = []
        for metadata in ({}, {"history_policy": "delete"}):
            thread = (await client.post("/threads", json={"metadata": metadata})).json()["thread_id"]
            # What a run says of it is the run's own metadata, and changes nothing.
            run = {
                **RUN,
                "metadata": {"history_policy": "trim"},
                "config": {"configurable": {"history_policy": "trim"}},
            }
            await client.post(f"/threads/{thread}/runs/stream", json=run)
            said.append((await client.get(f"/threads/{thread}/state")).json()["values"]["messages"][-1]["content"])

    assert said == ["summaries", "delete"]


async def test_lists_show_how_a_thread_begins_without_opening_it(api):
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "What is a fjord?"}]}}
        await client.post(f"/threads/{thread}/runs/stream", json=body)
        api.runs.saver().calls.clear()
        (listed,) = (await client.post("/threads/search", json={})).json()

    assert listed["values"]["messages"][0]["content"] == "What is a fjord?"
    assert not api.runs.saver().calls


async def test_lists_are_paged_sorted_filtered_and_counted(api):
    async with api.client() as client:
        ids = [(await client.post("/threads", json={"metadata": {"n": n}})).json()["thread_id"] for n in range(3)]
        page = (await client.post("/threads/search", json={"sort_by": "thread_id", "limit": 2, "offset": 1})).json()
        up = (await client.post("/threads/search", json={"sort_by": "thread_id", "sort_order": "asc"})).json()
        some = (await client.post("/threads/search", json={"select": ["thread_id"], "metadata": {"n": 1}})).json()
        ours = (await client.post("/threads/search", json={"metadata": {"graph_id": "agent"}})).json()
        other = (await client.post("/threads/search", json={"metadata": {"graph_id": "other"}})).json()
        counts = [
            (await client.post("/threads/count", json=body)).json()
            for body in ({}, {"metadata": {"n": 1}}, {"status": "busy"}, {"metadata": {"graph_id": "other"}})
        ]

    assert [thread["thread_id"] for thread in up] == sorted(ids)
    assert [thread["thread_id"] for thread in page] == sorted(ids)[::-1][1:]
    assert some == [{"thread_id": ids[1]}]
    assert (len(ours), other) == (3, [])
    assert counts == [3, 1, 0, 0]


async def test_a_deleted_thread_is_gone_at_once_and_its_id_is_not_used_again(api):
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        deleted = await client.delete(f"/threads/{thread}")
        codes = [
            (await client.get(f"/threads/{thread}")).status_code,
            (await client.get(f"/threads/{thread}/state")).status_code,
            (await client.post("/threads", json={"thread_id": thread})).status_code,
            (await client.post("/threads", json={"thread_id": thread, "if_exists": "do_nothing"})).status_code,
        ]
        taken = (await client.post("/threads", json={"thread_id": thread})).json()["detail"]
        run = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "a"}]}}
        anew = await client.post(f"/threads/{thread}/runs/stream", json={**run, "if_not_exists": "create"})
        listed = (await client.post("/threads/search", json={})).json()

    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (codes, listed) == ([404, 404, 409, 409], [])
    assert "was deleted, and its id stays taken" in taken
    assert (anew.status_code, anew.json()["detail"]) == (409, taken)
    assert [thread for _, thread in api.queue.queued] == [thread]


async def test_a_deletion_that_could_not_be_queued_can_be_repeated(api):
    api.queue.failures = 1
    async with api.client() as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        first = await client.delete(f"/threads/{thread}")
        hidden = await client.get(f"/threads/{thread}")
        second = await client.delete(f"/threads/{thread}")

    assert (first.status_code, first.headers["retry-after"]) == (503, "1")
    assert (hidden.status_code, second.status_code, len(api.queue.queued)) == (404, 204, 1)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/threads/{t}", None),
        ("PATCH", "/threads/{t}", {"metadata": {"a": 1}}),
        ("DELETE", "/threads/{t}", None),
        ("GET", "/threads/{t}/state", None),
        ("GET", "/threads/{t}/state/1ef4a9b8-d7da-679a-a45a-872054341df2", None),
        ("GET", "/threads/{t}/history", None),
        ("POST", "/threads/{t}/history", {}),
        ("POST", "/threads/{t}/runs/stream", RUN),
        ("POST", "/threads/{t}/runs/stream", {"assistant_id": "agent", "command": {"resume": 1}}),
        ("POST", "/threads/{t}/runs/stream", {"assistant_id": "agent", "checkpoint_id": MISSING}),
    ],
)  # fmt: skip
async def test_another_users_thread_answers_as_a_missing_one_and_is_not_touched(api, method, path, body):
    """AP13, HID-12."""
    async with api.client(OTHER) as client:
        theirs = (await client.post("/threads", json={})).json()["thread_id"]
        await client.post(f"/threads/{theirs}/runs/stream", json=RUN)
        before = (await client.get(f"/threads/{theirs}/state")).json()
    for saver in api.runs.savers.values():
        saver.calls.clear()
    async with api.client() as client:
        other = await client.request(method, path.format(t=theirs), json=body)
        missing = await client.request(method, path.format(t=MISSING), json=body)
    reads = [dict(saver.calls) for saver in api.runs.savers.values()]
    async with api.client(OTHER) as client:
        after = (await client.get(f"/threads/{theirs}/state")).json()

    assert other.status_code == missing.status_code == 404
    assert other.text.replace(theirs, "x") == missing.text.replace(MISSING, "x")
    assert list(other.json()) == ["detail"]
    assert not any(reads)
    assert after == before


async def test_a_thread_id_that_is_none_is_a_422(api):
    async with api.client() as client:
        answers = [
            await client.get("/threads/not-a-uuid"),
            await client.post("/threads", json={"thread_id": "not-a-uuid"}),
            await client.get("/threads/{0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10}/state"),
            await client.post("/threads/1/runs/stream", json={"assistant_id": "agent", "input": None}),
        ]

    assert [answer.status_code for answer in answers] == [422] * 4
    assert all("thread id" in answer.json()["detail"] for answer in answers)


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/threads", {"ttl": 60}, "ttl"),
        ("/threads", {"supersteps": []}, "supersteps"),
        ("/threads", {"if_exists": "merge"}, "if_exists"),
        ("/threads", {"metadata": {"large": "x" * 20_000}}, "metadata"),
        ("/threads", [], "body"),
        ("/threads/search", {"values": {"a": 1}}, "values"),
        ("/threads/search", {"limit": 0}, "limit"),
        ("/threads/search", {"sort_by": "colour"}, "sort_by"),
        ("/threads/search", {"status": "asleep"}, "status"),
        ("/threads/count", {"limit": 3}, "limit"),
    ],
)
async def test_what_has_no_meaning_is_refused_by_name(api, path, body, named):
    async with api.client() as client:
        answer = await client.post(path, json=body)

    assert answer.status_code == 422
    assert named in answer.json()["detail"]


async def test_a_database_that_does_not_answer_is_a_503(api):
    api.runs.threads.failure = StoreError("arn:aws:dynamodb:secret")
    async with api.client() as client:
        answer = await client.get(f"/threads/{MISSING}")

    assert answer.status_code == 503
    assert "secret" not in answer.text
