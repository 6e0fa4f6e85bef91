import logging
from datetime import timedelta

import httpx
import pytest
from fastapi import Depends, FastAPI
from pydantic import BaseModel

from shared.adapters.http import (
    EVENT_SCOPE_KEY,
    LANGGRAPH_API,
    MEMORY_API,
    ErrorStyle,
    claims_of,
    install_error_handlers,
    requesting_user,
    status_of,
    user_of,
)
from shared.domain import errors
from shared.domain.errors import EverthreadError, MissingUserIdError, StoreError, ThreadBusyError, ThreadNotFoundError

SECRET = "my mother's maiden name is Quillfeather"


class Question(BaseModel):
    count: int


def an_app(style: ErrorStyle) -> FastAPI:
    app = FastAPI()
    install_error_handlers(app, style)

    @app.get("/raise/{name}")
    async def raise_named(name: str) -> None:
        raise {
            "missing": ThreadNotFoundError("t1"),
            "busy": ThreadBusyError("The thread is busy.", timedelta(seconds=11.2)),
            "store": StoreError(f"table/arn:aws:... {SECRET}"),
            "surprise": RuntimeError(SECRET),
        }[name]

    @app.get("/me")
    async def me(user: str = Depends(requesting_user)) -> dict[str, str]:
        return {"user": user}

    @app.post("/ask")
    async def ask(question: Question) -> int:
        return question.count

    return app


def a_client(style: ErrorStyle, event: object = None) -> httpx.AsyncClient:
    app = an_app(style)

    async def with_event(scope, receive, send):
        await app({**scope, EVENT_SCOPE_KEY: event}, receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(with_event), base_url="http://test")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"requestContext": None},
        {"requestContext": {"authorizer": None}},
        {"requestContext": {"authorizer": {"claims": None}}},
        {"requestContext": {"authorizer": {"claims": {"sub": ""}}}},
        {"requestContext": {"authorizer": {"claims": {"sub": 42}}}},
        {"headers": {"x-user-id": "forged", "authorization": "Bearer forged"}, "body": '{"userId": "forged"}'},
    ],
)
def test_no_verified_subject_is_no_user(event):
    """ID02, ID03: identity comes from the verified claims and nothing else."""
    with pytest.raises(MissingUserIdError):
        user_of(event)


def test_the_verified_subject_is_the_user():
    event = {"requestContext": {"authorizer": {"claims": {"sub": "user-1", "name": "Ada"}}}}

    assert user_of(event) == "user-1"
    assert claims_of(event)["name"] == "Ada"


async def test_an_anonymous_request_is_a_401():
    """AP12, AP14."""
    async with a_client(MEMORY_API, event={}) as client:
        answer = await client.get("/me")

    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


async def test_each_style_words_errors_its_own_way():
    """AP15: the memory routes answer a code; LangGraph's clients read a detail."""
    async with a_client(MEMORY_API) as client:
        memory = await client.get("/raise/missing")
        bad = await client.post("/ask", json={"count": SECRET})
    async with a_client(LANGGRAPH_API) as client:
        chat = await client.get("/raise/missing")
        bad_chat = await client.post("/ask", content="{")

    assert (memory.status_code, memory.json()) == (404, {"code": "NOT_FOUND", "message": "Thread with ID t1 not found"})
    assert (chat.status_code, chat.json()) == (404, {"detail": "Thread with ID t1 not found"})
    assert (bad.status_code, bad.json()["code"]) == (400, "BAD_REQUEST")
    assert bad.json()["message"].startswith("body.count: ")
    assert SECRET not in bad.text
    assert (bad_chat.status_code, list(bad_chat.json())) == (422, ["detail"])


@pytest.mark.parametrize("style", [MEMORY_API, LANGGRAPH_API])
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/raise/busy", 409),
        ("/raise/store", 503),
        ("/raise/surprise", 500),
        ("/nowhere", 404),
        ("/ask", 405),
    ],
)
async def test_every_error_is_worded_and_says_nothing_inner(style, path, status):
    async with a_client(style) as client:
        answer = await client.get(path)

    assert answer.status_code == status
    assert set(answer.json()) == set(style.body("", ""))
    assert SECRET not in answer.text
    assert "Traceback" not in answer.text


async def test_a_retryable_error_says_so():
    async with a_client(MEMORY_API) as client:
        assert (await client.get("/raise/store")).headers["retry-after"] == "1"
        assert (await client.get("/raise/busy")).headers["retry-after"] == "12"
        assert "retry-after" not in (await client.get("/raise/missing")).headers


async def test_an_unexpected_error_is_logged_by_its_facts_only(caplog):
    """Habit 14: the log says what failed and where, not what was said."""
    with caplog.at_level(logging.DEBUG):
        async with a_client(LANGGRAPH_API) as client:
            await client.get("/raise/surprise")

    (record,) = [record for record in caplog.records if record.message == "unexpected error"]
    assert record.error == "RuntimeError"
    assert record.where[-1].endswith("raise_named")
    assert not any(SECRET in str(record.__dict__) for record in caplog.records)


def test_every_error_of_the_product_has_a_status():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, EverthreadError)]

    assert len(kinds) > 20
    for kind in kinds:
        error = kind.__new__(kind)
        assert 400 <= status_of(error, MEMORY_API) <= 504
        if kind is not EverthreadError and not issubclass(kind, errors.CorruptItemError):
            assert status_of(error, MEMORY_API) != 500, f"{kind.__name__} has no status of its own"
