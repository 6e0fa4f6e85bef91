"""MODEL=bedrock: requests go on as they are, signed by whoever started the local product."""

import json
from contextlib import asynccontextmanager

import httpx
import pytest
from botocore.session import Session

from local.model.bedrock import NoCredentialsError, bedrock_app

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1%3A0"


def session(monkeypatch, **variables: str) -> Session:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Session()


@asynccontextmanager
async def passed_on(monkeypatch, answer):
    sent: list[httpx.Request] = []

    def bedrock(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    theirs = session(
        monkeypatch, AWS_ACCESS_KEY_ID="AKIATHEIRS", AWS_SECRET_ACCESS_KEY="s", AWS_DEFAULT_REGION="eu-west-1"
    )
    async with httpx.AsyncClient(transport=httpx.MockTransport(bedrock)) as outside:
        app = bedrock_app(theirs, client=outside)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as http:
            yield http, sent


async def test_request_and_answer_are_passed_on_byte_by_byte(monkeypatch):
    frames = b"\x00\x00\x00\x10frames"
    answer = httpx.Response(200, content=frames, headers={"content-type": "application/vnd.amazon.eventstream"})
    async with passed_on(monkeypatch, answer) as (http, sent):
        response = await http.post(
            f"/model/{MODEL}/converse-stream",
            content=b'{"messages": []}',
            headers={
                "content-type": "application/json",
                "authorization": "AWS4-HMAC-SHA256 Credential=test/of-the-emulator",
            },
        )
    assert (response.content, response.headers["content-type"]) == (frames, "application/vnd.amazon.eventstream")
    (request,) = sent
    assert str(request.url) == f"https://bedrock-runtime.eu-west-1.amazonaws.com/model/{MODEL}/converse-stream"
    assert request.content == b'{"messages": []}'
    assert "Credential=AKIATHEIRS/" in request.headers["authorization"]
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["authorization"]
    assert "of-the-emulator" not in str(request.headers)


async def test_bedrocks_errors_stay_bedrocks(monkeypatch):
    answer = httpx.Response(429, json={"message": "slow down"}, headers={"x-amzn-errortype": "ThrottlingException"})
    async with passed_on(monkeypatch, answer) as (http, _):
        response = await http.post(f"/model/{MODEL}/converse", content=b"{}")
    assert response.status_code == 429
    assert response.headers["x-amzn-errortype"] == "ThrottlingException"


async def test_bedrock_out_of_reach_is_an_error_of_bedrocks_kind(monkeypatch):
    async with passed_on(monkeypatch, httpx.ConnectError("no route")) as (http, _):
        response = await http.post(f"/model/{MODEL}/converse", content=b"{}")
    assert response.status_code == 503
    assert response.headers["x-amzn-errortype"] == "ServiceUnavailableException"
    assert "eu-west-1" in json.loads(response.content)["message"]


@pytest.mark.parametrize(
    "variables",
    [
        {"AWS_DEFAULT_REGION": "eu-west-1"},
        {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"},
    ],
    ids=["no credentials", "no region"],
)
def test_missing_credentials_are_said_before_anything_starts(monkeypatch, variables):
    with pytest.raises(NoCredentialsError, match="MODEL=bedrock needs"):
        bedrock_app(session(monkeypatch, **variables))
