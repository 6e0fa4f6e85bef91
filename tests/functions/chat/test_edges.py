"""What holds for every route."""

import json
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

from functions.chat import compatibility, openapi
from functions.chat.app import routed_app
from shared.adapters.langgraph_api import replies
from shared.adapters.langgraph_api.bodies import StreamMode
from shared.adapters.langgraph_api.run_options import RULES, STATELESS_RULES
from shared.adapters.routes import routes_of
from tests.fakes.chat_api import ChatApi
from tests.fakes.chat_model import ScriptedChatModel

THREAD = "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"


def test_the_app_answers_exactly_the_routes_of_the_table():
    documented = routed_app().openapi()["paths"]
    mounted = {(method.upper(), path) for path, methods in documented.items() for method in methods}

    assert mounted == {(route.method, route.path) for route in routes_of("chat")}


@pytest.mark.parametrize("route", routes_of("chat"), ids=lambda route: f"{route.method} {route.path}")
async def test_without_a_token_nothing_is_looked_at(route):
    """AP14: 401 before any data access, and before the body is read."""
    api = ChatApi()
    path = route.path.replace("{thread_id}", THREAD).replace("{checkpoint_id}", THREAD)
    headers = {"x-user-id": "forged", "authorization": "Bearer forged"}
    async with api.client(None) as client:
        answer = await client.request(route.method, path, content="{not json", headers=headers)

    if route.public:
        assert answer.status_code == 200
    else:
        assert (answer.status_code, answer.json()) == (401, {"detail": "Unauthorized"})
    assert not api.runs.threads.calls


@pytest.mark.parametrize(
    "content",
    [
        "{not json",
        "",
        "null",
        "[]",
        '{"metadata": {"a": NaN}}',
        '{"metadata": {"a": "\\ud800"}}',
        '{"metadata": ' + '{"a": ' * 100 + "1" + "}" * 100 + "}",
        '{"metadata": ' + "[" * 5000 + "]" * 5000 + "}",
        b'{"metadata": {"a": "\xff"}}',
    ],
)
async def test_a_body_that_is_no_json_is_a_422_that_says_what(content):
    async with ChatApi().client() as client:
        answer = await client.post("/threads", content=content, headers={"content-type": "application/json"})

    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("body")


RUN_BODY = '{"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Hi", "id": "h"}]}, %s}'


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", '"\\ud800"', '"\\udc00\\ud800"', '{"\\udfff": 1}'])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/threads", '{"metadata": {"a": %s}}'),
        ("PATCH", f"/threads/{THREAD}", '{"metadata": {"a": %s}}'),
        ("POST", "/threads/search", '{"metadata": {"a": %s}}'),
        ("POST", "/threads/count", '{"metadata": {"a": %s}}'),
        ("POST", f"/threads/{THREAD}/history", '{"metadata": {"a": %s}}'),
        ("POST", f"/threads/{THREAD}/runs/stream", RUN_BODY % '"metadata": {"a": %s}'),
        ("POST", f"/threads/{THREAD}/runs/stream", '{"assistant_id": "agent", "input": {"messages": [%s]}}'),
    ],
)
async def test_what_no_database_holds_is_a_422_and_nothing_is_read_or_written(method, path, body, bad):
    api = ChatApi()
    headers = {"content-type": "application/json"}
    async with api.client() as client:
        await client.post("/threads", json={"thread_id": THREAD})
        api.runs.threads.calls.clear()
        answer = await client.request(method, path, content=body % bad, headers=headers)

    assert (answer.status_code, list(answer.json())) == (422, ["detail"])
    assert answer.json()["detail"].startswith("body")
    assert not api.runs.threads.calls


async def test_both_halves_of_a_surrogate_pair_are_a_character_like_any_other():
    async with ChatApi().client() as client:
        content = '{"metadata": {"a": "\\ud83d\\ude00"}}'
        answer = await client.post("/threads", content=content, headers={"content-type": "application/json"})

    assert answer.json()["metadata"]["a"] == "\U0001f600"


async def test_a_body_that_is_too_large_is_a_413():
    async with ChatApi(max_body_bytes=1000).client() as client:
        fits = await client.post("/threads", json={"metadata": {"a": "x" * 900}})
        large = await client.post("/threads", json={"metadata": {"a": "x" * 1000}})

    assert (fits.status_code, large.status_code) == (200, 413)
    assert list(large.json()) == ["detail"]


async def test_other_paths_and_methods_are_told_apart():
    async with ChatApi().client() as client:
        answers = [
            await client.get("/nowhere"),
            await client.get("/threads/"),
            await client.put(f"/threads/{THREAD}"),
            await client.get("/docs"),
            await client.get("/openapi.json"),
        ]

    assert [answer.status_code for answer in answers] == [404, 404, 405, 404, 404]
    assert all(list(answer.json()) == ["detail"] for answer in answers)


async def test_browsers_may_read_replies_and_errors():
    async with ChatApi().client() as client:
        found = await client.get("/ok", headers={"origin": "https://app.example"})
        missing = await client.get(f"/threads/{THREAD}", headers={"origin": "https://app.example"})

    for answer in (found, missing):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "Content-Location" in answer.headers["access-control-expose-headers"]


async def a_run(client, thread):
    (run,) = (await client.get(f"/threads/{thread}/runs")).json()
    return (await client.get(f"/threads/{thread}/runs/{run['run_id']}")).json()


async def test_real_replies_are_what_the_document_says():
    api = ChatApi(ScriptedChatModel("Hello.", RuntimeError("no")))
    run = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "please confirm"}]}}
    async with api.client() as client:
        thread = (await client.post("/threads", json={"metadata": {"title": "T"}})).json()
        await client.post(f"/threads/{thread['thread_id']}/runs/stream", json=run)
        got = {
            "thread": (replies.ThreadReply, thread),
            "get": (replies.ThreadReply, (await client.get(f"/threads/{thread['thread_id']}")).json()),
            "search": (list[replies.SomeOfAThreadReply], (await client.post("/threads/search", json={})).json()),
            "count": (replies.CountReply, (await client.post("/threads/count", json={})).json()),
            "state": (replies.StateReply, (await client.get(f"/threads/{thread['thread_id']}/state")).json()),
            "deep": (
                replies.StateReply,
                (await client.get(f"/threads/{thread['thread_id']}/state", params={"subgraphs": True})).json(),
            ),
            "history": (list[replies.StateReply], (await client.get(f"/threads/{thread['thread_id']}/history")).json()),
            "runs": (
                list[replies.SomeOfARunReply],
                (await client.get(f"/threads/{thread['thread_id']}/runs")).json(),
            ),
            "run": (replies.RunReply, await a_run(client, thread["thread_id"])),
            "copy": (replies.ThreadReply, (await client.post(f"/threads/{thread['thread_id']}/copy")).json()),
            "changed": (
                replies.ChangedReply,
                (await client.post(f"/threads/{thread['thread_id']}/state", json={"values": None})).json(),
            ),
            "final": (
                replies.FinalReply,
                (await client.post("/runs/wait", json=run)).json(),
            ),
            "assistants": (
                list[replies.SomeOfAnAssistantReply],
                (await client.post("/assistants/search", json={})).json(),
            ),
            "assistant": (replies.AssistantReply, (await client.get("/assistants/agent")).json()),
            "schemas": (replies.SchemasReply, (await client.get("/assistants/agent/schemas")).json()),
            "graph": (replies.GraphReply, (await client.get("/assistants/agent/graph")).json()),
            "ok": (replies.OkReply, (await client.get("/ok")).json()),
            "info": (replies.InfoReply, (await client.get("/info")).json()),
            "error": (replies.ErrorReply, (await client.get(f"/threads/{THREAD}")).json()),
        }

    for kind, reply in got.values():
        TypeAdapter(kind).validate_python(reply)
    assert got["state"][1]["tasks"]


def test_the_committed_document_is_the_apps():
    assert openapi.DOCUMENT.read_text(encoding="utf-8") == openapi.text(), "run: make openapi"
    assert openapi.RUN_OPTIONS.read_text(encoding="utf-8") == openapi.run_options(), "run: make openapi"
    assert openapi.COMPATIBILITY.read_text(encoding="utf-8") == compatibility.page(openapi.document()), (
        "run: make openapi"
    )


def test_the_page_of_compatibility_has_every_route_parameter_option_and_mode():
    page = compatibility.page(openapi.document())
    parameters = [
        parameter["name"]
        for methods in openapi.document()["paths"].values()
        for method in methods.values()
        for parameter in method.get("parameters", ())
        if parameter["in"] != "path"
    ]

    for route in routes_of("chat"):
        assert f"`{route.method} {route.path}`" in page
    for name in [*parameters, *(rule.option for rule in (*RULES, *STATELESS_RULES)), *get_args(StreamMode)]:
        assert name in page


def test_the_document_says_which_routes_need_a_token():
    paths = openapi.document()["paths"]

    assert {path for path, methods in paths.items() for method in methods.values() if not method["security"]} == {
        "/ok",
        "/info",
    }
    assert json.loads(Path(openapi.DOCUMENT).read_text(encoding="utf-8"))["openapi"].startswith("3.")
