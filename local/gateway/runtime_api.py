"""The Lambda Runtime API for one execution environment.

h11 parses HTTP, because a streamed response may end in trailers, which no ASGI server passes on.
"""

import asyncio
import fcntl
import json
import socket
import sys
import termios
from collections.abc import Iterable, Mapping
from typing import Final

import h11

from local.gateway.invocation import Invocation

_PREFIX: Final = "/2018-06-01/runtime"
_ERROR_TYPE: Final = b"lambda-runtime-function-error-type"
_READ_SIZE: Final = 64 * 1024
_LAST_WORDS_SECONDS: Final = 5.0


class RuntimeApi:
    """Serves ``next``, ``response``, ``error`` and ``init/error`` to one process.

    Parameters
    ----------
    function_arn : str
        Told to the process with each invocation.
    """

    def __init__(self, function_arn: str) -> None:
        self._function_arn = function_arn
        self._next: asyncio.Queue[Invocation] = asyncio.Queue()
        self._current: Invocation | None = None
        self._reached: Invocation | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.ready = asyncio.Event()
        """Set when the process has asked for its first invocation."""
        self.init_error: str | None = None
        """Why the process could not start, by its own account."""

    async def start(self) -> str:
        """Listen; give host and port, as ``AWS_LAMBDA_RUNTIME_API`` wants them."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening and drop the connections."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def hand_over(self, invocation: Invocation) -> None:
        """Give the process its next invocation."""
        self._current = invocation
        self._next.put_nowait(invocation)

    async def has_reached(self) -> bool:
        """Tell whether a process that has ended had read what was handed over last.

        The kernel knows: a connection that closes with something unread in it is reset.
        """
        if self._connections:
            # They end with the process.
            await asyncio.wait(self._connections, timeout=_LAST_WORDS_SECONDS)
        return self._current is None or self._reached is self._current

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs this as a task
        self._connections.add(task)
        try:
            await _Connection(reader, writer, self).serve()
        except (OSError, h11.RemoteProtocolError):
            pass  # the process went away; whoever waits for it sees its exit
        except asyncio.CancelledError:
            pass  # by stop(); asyncio's own callback for accepted connections cannot take a cancelled task
        finally:
            self._connections.discard(task)
            writer.close()

    def invocation(self, invocation_id: str) -> Invocation | None:
        """Give the running invocation when it has that id and is not settled."""
        current = self._current
        return current if current is not None and current.id == invocation_id and not current.settled.is_set() else None

    def confirm(self, invocation: Invocation) -> None:
        """Note that the process has read an invocation that it was given."""
        self._reached = invocation

    async def next_invocation(self) -> tuple[Invocation, Mapping[str, str], bytes]:
        """Wait for an invocation; give it with headers and body of the reply to ``next``."""
        self.ready.set()
        invocation = await self._next.get()
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self._function_arn,
        }
        return invocation, headers, json.dumps(invocation.event).encode()


class _Connection:
    """One connection of the process; requests follow each other on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, api: RuntimeApi) -> None:
        self._reader = reader
        self._writer = writer
        self._api = api
        self._http = h11.Connection(h11.SERVER)
        self._handed_over: Invocation | None = None

    async def serve(self) -> None:
        while True:
            event = await self._event()
            if self._handed_over is not None and not self._was_reset():
                self._api.confirm(self._handed_over)
            self._handed_over = None
            if not isinstance(event, h11.Request):
                return
            await self._answer(event)
            if self._http.our_state is h11.MUST_CLOSE:
                return
            self._http.start_next_cycle()

    def _was_reset(self) -> bool:
        """Tell, at the end of what can be read, whether the process went without having read what was written.

        It closed its end first: the end that it sent acknowledges nothing of what was written after it, and a reset
        that answers it is told by the socket alone.
        """
        if not self._reader.at_eof():
            return False
        opened: socket.socket = self._writer.get_extra_info("socket")
        return opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0 or _unacknowledged(opened) > 0

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._reader.read(_READ_SIZE))

    async def _answer(self, request: h11.Request) -> None:
        path = request.target.decode("ascii")
        if request.method == b"GET" and path == f"{_PREFIX}/invocation/next":
            await self._body()
            self._handed_over, headers, body = await self._api.next_invocation()
            await self._reply(200, headers, body)
        elif path == f"{_PREFIX}/init/error":
            self._api.init_error = (await self._body()).decode("utf-8", "replace")
            await self._reply(202)
        elif path.startswith(f"{_PREFIX}/invocation/"):
            await self._outcome(request, *path.removeprefix(f"{_PREFIX}/invocation/").split("/", 1))
        else:
            await self._body()
            await self._reply(404)

    async def _outcome(self, request: h11.Request, invocation_id: str, kind: str) -> None:
        invocation = self._api.invocation(invocation_id)
        if invocation is None or kind not in ("response", "error"):
            await self._body()
            await self._reply(400)
            return
        self._api.confirm(invocation)
        if kind == "error":
            await self._body()
            invocation.fail(_header(request.headers, _ERROR_TYPE) or "Function.Unknown")
        else:
            await self._pass_on(invocation)
        await self._reply(202)

    async def _pass_on(self, invocation: Invocation) -> None:
        """Pass the response's pieces on as they come; its trailers say whether it was cut short."""
        try:
            while True:
                event = await self._event()
                if isinstance(event, h11.Data):
                    await invocation.write(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    failed = _header(event.headers, _ERROR_TYPE)
                    invocation.fail(failed) if failed else invocation.finish()
                    return
                else:
                    invocation.fail("Runtime.TruncatedResponse")
                    return
        except (OSError, h11.RemoteProtocolError):
            invocation.fail("Runtime.TruncatedResponse")
            raise

    async def _body(self) -> bytes:
        body = b""
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return body
            else:
                raise h11.RemoteProtocolError("The connection closed in the middle of a request.")

    async def _reply(self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        fields = [*(headers or {}).items(), ("Content-Length", str(len(body)))]
        for event in (h11.Response(status_code=status, headers=fields), h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()


def _header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    return next((value.decode("latin-1") for field, value in headers if field == name), "")


def _unacknowledged(opened: socket.socket) -> int:
    if sys.platform != "linux":
        return 0
    return int.from_bytes(fcntl.ioctl(opened.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
