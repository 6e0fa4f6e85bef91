import asyncio

import httpx
import pytest

from local.smoke import Answer, SmokeError, smoke
from tests.fakes.chat_api import ChatApi
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.runs import USER


def reaching(api: ChatApi, *, known: str = "Bearer good") -> httpx.AsyncClient:
    """A client whose token the gateway lets through."""

    async def gateway(scope, receive, send):
        claims = {"sub": USER} if dict(scope["headers"]).get(b"authorization") == known.encode() else None
        await api.app({**scope, "aws.event": {"requestContext": {"authorizer": {"claims": claims}}}}, receive, send)

    transport = httpx.ASGITransport(gateway)
    return httpx.AsyncClient(transport=transport, base_url="http://t", headers={"authorization": "Bearer good"})


async def test_it_shows_each_piece_and_leaves_nothing_behind():
    api = ChatApi(ScriptedChatModel("one, two, three"))
    lines: list[str] = []
    async with reaching(api) as http:
        answer = await smoke(http, lines.append)
        left = (await http.post("/threads/search", json={})).json()

    assert answer.text == "one, two, three"
    assert [line.split("  ")[-1] for line in lines[:3]] == ["'one,'", "' two,'", "' three'"]
    assert (left, len(api.queue.queued)) == ([], 1)


async def test_a_buffered_answer_is_noticed():
    words = [f"word{number}" for number in range(8)]
    api = ChatApi(ScriptedChatModel(Say(" ".join(words), before_token=lambda _place: asyncio.sleep(0.01))))
    async with reaching(api) as http:
        # The transport of this test hands a reply over when it is whole.
        with pytest.raises(SmokeError, match="buffers"):
            await smoke(http, lambda _line: None)

    assert len(api.queue.queued) == 1


def test_an_answer_that_is_spread_over_time_was_streamed():
    Answer([(number / 10, "x") for number in range(6)]).check()


async def test_a_failing_model_is_told():
    async with reaching(ChatApi(ScriptedChatModel(RuntimeError("no")))) as http:
        with pytest.raises(SmokeError, match="INTERNAL"):
            await smoke(http, lambda _line: None)


async def test_a_token_that_is_not_taken_is_told():
    async with reaching(ChatApi(), known="Bearer another") as http:
        with pytest.raises(SmokeError, match="Making a thread: 401"):
            await smoke(http, lambda _line: None)
