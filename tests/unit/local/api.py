"""A small API behind the gateway: its template as CDK synthesises one, a plain function, an upstream."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from local.gateway.app import Gateway
from local.gateway.environment import FunctionCode
from local.gateway.event import ApiIdentity
from local.gateway.pool import FunctionPool
from local.gateway.template import read_template
from local.serving import listen, serving

HERE = Path(__file__).parent
URI = {
    "Fn::Join": [
        "",
        [
            "arn:",
            {"Ref": "AWS::Partition"},
            ":apigateway:eu-central-1:lambda:path/2021-11-15/functions/",
            {"Fn::GetAtt": ["Chat", "Arn"]},
            "/response-streaming-invocations",
        ],
    ]
}


def method(resource: str, verb: str = "GET", *, stream: bool = True, public: bool = False, timeout: int = 20_000):
    integration = {"Type": "AWS_PROXY", "Uri": URI, "TimeoutInMillis": timeout}
    if stream:
        integration["ResponseTransferMode"] = "STREAM"
    return {
        "Type": "AWS::ApiGateway::Method",
        "Properties": {
            "HttpMethod": verb,
            "ResourceId": {"Ref": resource},
            "AuthorizationType": "NONE" if public else "COGNITO_USER_POOLS",
            "Integration": integration,
        },
    }


def resource(part: str, parent: str | None = None):
    above = {"Ref": parent} if parent else {"Fn::GetAtt": ["Api", "RootResourceId"]}
    return {"Type": "AWS::ApiGateway::Resource", "Properties": {"PathPart": part, "ParentId": above}}


def template(timeout: int = 20_000) -> dict:
    return {
        "Resources": {
            "Chat": {"Type": "AWS::Lambda::Function", "Properties": {}},
            "Threads": resource("threads"),
            "Thread": resource("{thread_id}", "Threads"),
            "What": resource("{what}", "Thread"),
            "State": resource("state", "Thread"),
            "Stream": method("What", timeout=timeout),
            "Post": method("What", "POST", timeout=timeout),
            "StateMethod": method("State", public=True),
            "Buffered": method("Threads", stream=False),
            "BufferedPost": method("Thread", "POST", stream=False, timeout=timeout),
            "BufferedDelete": method("Thread", "DELETE", stream=False),
            "Preflight": method("Thread", "OPTIONS", stream=False, public=True),
            "Unauthorized": {
                "Type": "AWS::ApiGateway::GatewayResponse",
                "Properties": {
                    "ResponseType": "UNAUTHORIZED",
                    "ResponseParameters": {"gatewayresponse.header.Access-Control-Allow-Origin": "'*'"},
                    "ResponseTemplates": {"application/json": '{"code":"UNAUTHORIZED"}'},
                },
            },
            "Default5xx": {
                "Type": "AWS::ApiGateway::GatewayResponse",
                "Properties": {
                    "ResponseType": "DEFAULT_5XX",
                    "ResponseParameters": {"gatewayresponse.header.Access-Control-Allow-Origin": "'*'"},
                },
            },
        }
    }


class KnownTokens:
    """An authorizer that knows two tokens."""

    async def claims(self, authorization: str | None) -> dict[str, str] | None:
        token = (authorization or "").removeprefix("Bearer ")
        return {"sub": token} if token in ("ada", "bob") else None


async def _upstream(request: Request) -> JSONResponse:
    if request.url.path.endswith("/never"):
        await asyncio.Event().wait()
    body = {
        "method": request.method,
        "path": request.url.path,
        "query": request.url.query,
        "authorization": request.headers.get("authorization"),
        "body": (await request.body()).decode(),
    }
    return JSONResponse(body, 418, headers={"x-from": "upstream"})


@dataclass
class Served:
    client: httpx.AsyncClient
    pool: FunctionPool
    gateway: Gateway


@asynccontextmanager
async def api(
    folder: Path,
    *,
    seconds: float = 20,
    integration_ms: int = 20_000,
    limit: int = 3,
    idle: float = 20,
    start="",
    cold: float = 60,
) -> AsyncIterator[Served]:
    path = folder / "Service.template.json"
    path.write_text(json.dumps(template(integration_ms)))
    wrapper = folder / "bootstrap"
    wrapper.write_text(f'#!/bin/sh\nexec "$1" "{HERE / "plain_function.py"}"\n')
    wrapper.chmod(0o755)
    code = FunctionCode(
        arn="arn:aws:lambda:eu-central-1:000000000000:function:chat",
        handler="none",
        task_root=folder,
        wrapper=wrapper,
        interpreter=Path(sys.executable),
        environment={"PATH": "/usr/bin:/bin", "START": start},
        timeout=seconds,
    )
    pool = FunctionPool(code, folder / "chat.log", limit=limit)
    upstream_app = Starlette(routes=[Route("/{rest:path}", _upstream, methods=["GET", "POST", "OPTIONS", "DELETE"])])
    async with (
        serving(upstream_app, listen(0, "")) as upstream_url,
        httpx.AsyncClient(base_url=f"{upstream_url}/stage/", trust_env=False) as upstream,
    ):
        gateway = Gateway(
            read_template(path),
            {"Chat": pool},
            KnownTokens(),
            ApiIdentity("abc", "local", "0" * 12),
            upstream,
            idle,
            cold,
        )
        async with (
            serving(gateway, listen(0, "")) as url,
            httpx.AsyncClient(
                base_url=url, trust_env=False, timeout=20, headers={"authorization": "Bearer ada"}
            ) as client,
        ):
            try:
                yield Served(client, pool, gateway)
            finally:
                await pool.close()
