"""One ASGI app inside a Lambda: one event loop and one lifespan for the life of the process."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from typing import Any, Final, Protocol, TypeVar

from starlette.types import ASGIApp, Message

from shared.adapters.observability import where_raised
from shared.adapters.runtime.proxy_event import body_of, is_http, reply_of, scope_of
from shared.adapters.runtime.response_stream import (
    ResponseHead,
    ResponseStream,
    StreamingRuntime,
    streaming_runtime,
)

T = TypeVar("T")

REPLY_LIMIT: Final = 6_000_000
"""Bytes a whole reply may hold; Lambda takes 6 MB for the dictionary around it."""

# Of one connection, not of the message; API Gateway makes its own.
_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})

_FAILED: Final = b'{"message":"Internal server error"}'
_FAILED_HEAD: Final = ResponseHead(500, (("content-type", "application/json"),))

_log = logging.getLogger(__name__)


class LambdaContext(Protocol):
    """What the runner needs of Lambda's context."""

    @property
    def aws_request_id(self) -> str:
        """The invocation's id."""
        ...


class _Reply(Protocol):
    """Where a reply goes: out at once, or into a dictionary."""

    async def start(self, head: ResponseHead) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def finish(self, *, complete: bool) -> None: ...


class AsgiRunner:
    """Answer API Gateway's events with an ASGI app.

    A reply is streamed when its route streams and the process was started by the streaming bootstrap; else it is
    returned whole. A client that goes away is never told to the app: a run must end and be stored all the same.

    Parameters
    ----------
    app : ASGI application
        The app. Its lifespan starts once and its requests are served one after another, on one loop.
    streams : callable
        Says of an event whether its route streams.
    runtime : callable
        Gives the Runtime API when this process may stream.

    Examples
    --------
    >>> runner = AsgiRunner(app, streams=lambda event: event["path"].endswith("/stream"))  # doctest: +SKIP
    >>> handler = runner.handle  # doctest: +SKIP
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        streams: Callable[[Mapping[str, Any]], bool],
        runtime: Callable[[], StreamingRuntime | None] = streaming_runtime,
    ) -> None:
        self._app = app
        self._streams = streams
        self._runtime = runtime
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lifespan = _Lifespan(app)

    def start(self) -> None:
        """Start the app's lifespan, if it has not started.

        Raises
        ------
        LifespanError
            When the app says that it cannot start.
        """
        self._run(self._lifespan.start())

    def close(self) -> None:
        """End the lifespan and the loop. Lambda never asks for it; tests do."""
        if self._loop is not None:
            self._run(self._lifespan.stop())
            self._loop.close()

    def handle(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any] | None:
        """Answer one invocation; the signature of a Lambda handler.

        Returns
        -------
        dict or None
            The whole reply; ``None`` when it was streamed, or the event is no HTTP request.
        """
        if not is_http(event):
            _log.info("not an HTTP request")
            return None
        self.start()
        return self._run(self._answer(event, context))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(work)

    async def _answer(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any] | None:
        runtime = self._runtime()
        if runtime is not None and self._streams(event):
            await self._serve(event, context, _StreamedReply(runtime, context.aws_request_id))
            return None
        reply = _WholeReply()
        await self._serve(event, context, reply)
        return reply.as_dictionary()

    async def _serve(self, event: Mapping[str, Any], context: LambdaContext, reply: _Reply) -> None:
        exchange = _Exchange(body_of(event), reply)
        try:
            await self._app(scope_of(event, context, self._lifespan.state), exchange.receive, exchange.send)
        except Exception as error:  # noqa: BLE001 - whatever an app raises ends here
            # Starlette raises again what it has answered with its own 500: then the reply is whole.
            _log.error(
                "the app failed",
                extra={"error": type(error).__name__, "where": where_raised(error), "complete": exchange.complete},
            )
        if not exchange.started:
            await reply.start(_FAILED_HEAD)
            await reply.write(_FAILED)
            exchange.complete = True
        await reply.finish(complete=exchange.complete)


class _Exchange:
    """The two ends of one request that an ASGI app holds."""

    def __init__(self, body: bytes, reply: _Reply) -> None:
        self._body: bytes | None = body
        self._reply = reply
        self.started = False
        self.complete = False

    async def receive(self) -> Message:
        if self._body is None:
            # Lambda is never told that a client went away, so this never ends; the app's task does.
            await asyncio.get_running_loop().create_future()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [
                (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in message.get("headers", ())
            ]
            kept = tuple((name, value) for name, value in headers if name not in _HOP_BY_HOP)
            await self._reply.start(ResponseHead(message["status"], kept))
            self.started = True
        elif message["type"] == "http.response.body":
            await self._reply.write(message.get("body", b""))
            self.complete = not message.get("more_body", False)


class _StreamedReply:
    def __init__(self, runtime: StreamingRuntime, invocation: str) -> None:
        self._runtime = runtime
        self._invocation = invocation
        self._stream: ResponseStream | None = None

    async def start(self, head: ResponseHead) -> None:
        self._stream = await self._runtime.open(self._invocation, head)

    async def write(self, data: bytes) -> None:
        if self._stream is not None:
            await self._stream.write(data)

    async def finish(self, *, complete: bool) -> None:
        if self._stream is not None:
            await (self._stream.close() if complete else self._stream.cut_short())


class _WholeReply:
    def __init__(self) -> None:
        self._head = _FAILED_HEAD
        self._body = bytearray()

    async def start(self, head: ResponseHead) -> None:
        self._head = head

    async def write(self, data: bytes) -> None:
        self._body += data

    async def finish(self, *, complete: bool) -> None:
        if complete and len(self._body) <= REPLY_LIMIT:
            return
        _log.error("reply not sent", extra={"size": len(self._body), "complete": complete})
        self._head, self._body = _FAILED_HEAD, bytearray(_FAILED)

    def as_dictionary(self) -> dict[str, Any]:
        return reply_of(self._head, bytes(self._body))


class LifespanError(RuntimeError):
    """The app said that it cannot start."""


class _Lifespan:
    """The app's start and end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._answers: asyncio.Queue[Message] = asyncio.Queue()
        self.state: MutableMapping[str, Any] = {}

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            await self._ask("startup")

    async def stop(self) -> None:
        if self._task is not None:
            await self._ask("shutdown")
            await self._task

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self._app(scope, self._to_app.get, self._answers.put)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the start
            self._answers.put_nowait({"type": "lifespan.startup.failed", "message": type(error).__name__})

    async def _ask(self, phase: str) -> None:
        self._to_app.put_nowait({"type": f"lifespan.{phase}"})
        answer = await self._answers.get()
        if not answer["type"].endswith(".complete"):
            self._task = None
            raise LifespanError(answer.get("message") or f"The app's {phase} failed.")
