"""The gateway's front: streaming routes to the function, everything else to the local cloud."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import time
from typing import Final, Protocol

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from local.gateway.environment import START_SECONDS
from local.gateway.event import ApiIdentity, Received, proxy_event
from local.gateway.invocation import Invocation, InvocationFailed
from local.gateway.pool import FunctionPool
from local.gateway.prelude import Head, PreludeError, read_head
from local.gateway.template import ApiTemplate, Match

REQUEST_LIMIT: Final = 6 * 1024 * 1024
"""What Lambda takes as a whole event."""

IDLE_SECONDS: Final = 300.0
"""How long a regional API waits for the next bytes of a stream."""

_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
# What this server says of its own reply.
_MADE_ANEW: Final = _HOP_BY_HOP | {"content-encoding", "content-length", "date", "server"}


class Authorizer(Protocol):
    """Tells whose token it is."""

    async def claims(self, authorization: str | None) -> dict[str, str] | None:
        """Give the token's claims; ``None`` when it opens nothing."""
        ...


class CutShort(Exception):  # noqa: N818 - what ends the connection, on purpose
    """The response stops before its end; the connection is closed without the end mark."""


@dataclass(slots=True)
class Gateway:
    """An ASGI app before the local cloud's API.

    Parameters
    ----------
    template : ApiTemplate
        Which routes stream, and how the gateway words its own replies.
    functions : mapping of str to FunctionPool
        By logical id.
    authorizer : Authorizer
        For the routes that need a token.
    api : ApiIdentity
        For the event's request context.
    upstream : httpx.AsyncClient
        Its base URL is the deployed API's, stage included.
    idle_seconds : float
        How long a stream may be silent.
    start_seconds : float
        What a buffered route may take beyond its own time: the local cloud starts a function when it is asked for.
    """

    template: ApiTemplate
    functions: dict[str, FunctionPool]
    authorizer: Authorizer
    api: ApiIdentity
    upstream: httpx.AsyncClient
    idle_seconds: float = IDLE_SECONDS
    start_seconds: float = START_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii")
        # A request for a whole URL is one to a proxy, which this is not.
        if not path.startswith("/"):
            return self._own("BAD_REQUEST")
        match = self.template.match(request.method, path)
        if match is None:
            return self._own("MISSING_AUTHENTICATION_TOKEN")
        claims: dict[str, str] | None = None
        if match.route.authorized:
            claims = await self.authorizer.claims(request.headers.get("authorization"))
            if claims is None:
                return self._own("UNAUTHORIZED")
        if match.route.function is None:
            return await self._pass_on(request, match)
        return await self._stream(request, match, match.route.function, claims)

    async def _stream(self, request: Request, match: Match, function: str, claims: dict[str, str] | None) -> Response:
        body = await _limited_body(request)
        if body is None:
            return self._own("REQUEST_TOO_LARGE")
        event = proxy_event(
            _received(request, match, body),
            self.api,
            resource=match.route.path,
            path_parameters=match.parameters,
            claims=claims,
        )
        if len(json.dumps(event)) > REQUEST_LIMIT:
            return self._own("REQUEST_TOO_LARGE")
        invocation = self.functions[function].invoke(event)
        chunks = invocation.chunks(self.idle_seconds, time() + match.route.timeout)
        try:
            head, rest = await read_head(chunks)
        except (PreludeError, InvocationFailed):
            invocation.abandon()
            return self._own("INTEGRATION_FAILURE")
        except TimeoutError:
            invocation.abandon()
            return self._own("INTEGRATION_TIMEOUT")
        except BaseException:
            invocation.abandon()
            raise
        return _streamed(head, _body(rest, chunks, invocation))

    def _own(self, response_type: str) -> Response:
        reply = self.template.reply(response_type)
        return Response(reply.body, reply.status, dict(reply.headers), media_type="application/json")

    async def _pass_on(self, request: Request, match: Match) -> Response:
        if any("/" in segment for segment in match.segments):
            # The local cloud takes an escaped slash for one that parts the path, and would find another route.
            return self._own("MISSING_AUTHENTICATION_TOKEN")
        body = await _limited_body(request)
        if body is None:
            return self._own("REQUEST_TOO_LARGE")
        headers = [
            (name, value)
            for name, value in request.headers.items()
            if name not in _HOP_BY_HOP and name not in ("host", "content-length")
        ]
        query: bytes = request.scope["query_string"]
        base = self.upstream.base_url
        target = base.raw_path.removesuffix(b"/") + match.raw_path.encode() + (b"?" + query if query else b"")
        try:
            answer = await self.upstream.request(
                request.method,
                base.copy_with(raw_path=target),
                headers=headers,
                content=body,
                timeout=match.route.timeout + self.start_seconds,
            )
        except httpx.TimeoutException:
            return self._own("INTEGRATION_TIMEOUT")
        except httpx.HTTPError:
            return self._own("INTEGRATION_FAILURE")
        response = Response(answer.content, answer.status_code)
        response.raw_headers = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.decode("latin-1").lower() not in _MADE_ANEW
        ]
        if answer.status_code not in (204, 304):
            response.raw_headers.append((b"content-length", str(len(answer.content)).encode()))
        return response


async def _limited_body(request: Request) -> bytes | None:
    """Read the body; ``None`` when it is larger than an event may be."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > REQUEST_LIMIT:
            return None
    return body


def _received(request: Request, match: Match, body: bytes) -> Received:
    client = request.client.host if request.client else "127.0.0.1"
    forwarded = [("X-Forwarded-For", client), ("X-Forwarded-Port", "443"), ("X-Forwarded-Proto", "https")]
    return Received(
        method=request.method,
        path=match.path,
        headers=[*request.headers.items(), *forwarded],
        query=request.query_params.multi_items(),
        body=body,
        source_ip=client,
    )


def _streamed(head: Head, body: AsyncIterator[bytes]) -> Response:
    response = StreamingResponse(body, head.status)
    response.raw_headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in head.headers
        if name.lower() not in _HOP_BY_HOP
    ]
    return response


async def _body(first: bytes, chunks: AsyncIterator[bytes], invocation: Invocation) -> AsyncIterator[bytes]:
    try:
        if first:
            yield first
        async for chunk in chunks:
            yield chunk
    except (InvocationFailed, TimeoutError) as error:
        raise CutShort from error
    finally:
        invocation.abandon()
