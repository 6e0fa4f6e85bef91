import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import BaseModel

from shared.adapters.json_api import JsonApi
from shared.domain.errors import SourceUnavailableError

URL = "https://api.example"


class Named(BaseModel):
    name: str


def api(answer: httpx.Response | Exception, **limits: float) -> JsonApi:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return JsonApi(URL, transport=httpx.MockTransport(respond), **limits)


async def test_reads_an_object() -> None:
    asked: list[httpx.URL] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200, json={"name": "Köln"})

    answer = await JsonApi(URL, transport=httpx.MockTransport(respond)).get(
        "/v1/search", {"name": "Köln & Bonn"}, Named
    )

    assert answer == Named(name="Köln")
    assert str(asked[0]) == "https://api.example/v1/search?name=K%C3%B6ln+%26+Bonn"


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404),
        httpx.Response(429),
        httpx.Response(500),
        httpx.Response(302, headers={"location": "https://elsewhere.example"}),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, text="[1, 2]"),
        httpx.Response(200, text='{"name": 1}'),
        httpx.Response(200, text='{"name": '),
        httpx.Response(200, content=b"\xff\xfe\x00"),
        httpx.Response(200, text="[" * 100_000),
        httpx.ConnectError("no network"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("cut"),
    ],
    ids=str,
)
async def test_whatever_goes_wrong_has_one_name(answer: httpx.Response | Exception) -> None:
    with pytest.raises(SourceUnavailableError):
        await api(answer).get("/", {}, Named)


async def test_an_answer_is_read_up_to_its_limit_and_no_further() -> None:
    given = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal given
        while True:
            given += 1
            yield b" " * 1024

    with pytest.raises(SourceUnavailableError, match="4096 bytes"):
        await api(httpx.Response(200, content=flood()), max_bytes=4096).get("/", {}, Named)

    assert given == 5


async def test_a_server_that_drips_is_given_up() -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0)

    with pytest.raises(SourceUnavailableError):
        await api(httpx.Response(200, content=drip()), limit_seconds=0.02).get("/", {}, Named)
