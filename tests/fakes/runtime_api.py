"""Lambda's side of the Runtime API on loopback, running a real bootstrap as a child process.

It plays the platform strictly: what the protocol does not allow is answered as Lambda answers it.
"""

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PRELUDE_END = b"\0" * 8
ROOT = Path(__file__).parents[2]


@dataclass
class Invocation:
    """One invocation, and what the function made of it."""

    event: Mapping[str, Any]
    seconds: float = 60
    cut_after_chunks: int | None = None
    """Close the connection after so many chunks, as the platform may when nobody reads any more."""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    mode: str = ""
    content_type: str = ""
    error: dict[str, Any] | None = None
    trailers: dict[str, str] | None = None
    chunks: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    _rest: bytes = b""

    async def read(self) -> bytes | None:
        """Give the next bytes of the response, ``None`` at its end."""
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        return await self.chunks.get()

    async def head(self) -> dict[str, Any]:
        """Give the prelude of a streamed response."""
        received = b""
        while PRELUDE_END not in received:
            chunk = await self.chunks.get()
            assert chunk is not None, "the response ended within its prelude"
            received += chunk
            assert len(received) <= 16 * 1024 or PRELUDE_END in received[: 16 * 1024], "the prelude is over its limit"
        prelude, self._rest = received.split(PRELUDE_END, 1)
        return json.loads(prelude)

    async def body(self) -> bytes:
        """Give everything that is left of the response."""
        received = b""
        while (chunk := await self.read()) is not None:
            received += chunk
        return received


class RuntimeApi:
    """The Runtime API of one execution environment."""

    def __init__(self) -> None:
        self.init_error: dict[str, Any] | None = None
        self.polled = asyncio.Event()
        self.restored = False
        self.calls: list[str] = []
        self._waiting: asyncio.Queue[Invocation] = asyncio.Queue()
        self._running: dict[str, Invocation] = {}
        self._connections: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection."""
        connection = asyncio.create_task(self.serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """End all connections."""
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def invoke(self, event: Mapping[str, Any], **options: Any) -> Invocation:
        """Hand the function an event; what comes back is read from the result as it comes."""
        invocation = Invocation(event, **options)
        await self._waiting.put(invocation)
        return invocation

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection of the runtime."""
        try:
            while request := await _read_head(reader):
                method, path, headers = request
                self.calls.append(f"{method} {path.removeprefix('/2018-06-01/runtime')}")
                if not await self._answer(path, headers, reader, writer):
                    break
        except (ConnectionError, EOFError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, path: str, headers: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        match path.removeprefix("/2018-06-01/runtime/").split("/"):
            case ["invocation", "next"]:
                self.polled.set()
                invocation = await self._waiting.get()
                self._running[invocation.id] = invocation
                deadline = int((time.time() + invocation.seconds) * 1000)
                _reply(
                    writer,
                    200,
                    json.dumps(invocation.event).encode(),
                    **{
                        "Content-Type": "application/json",
                        "Lambda-Runtime-Aws-Request-Id": invocation.id,
                        "Lambda-Runtime-Deadline-Ms": str(deadline),
                        "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-central-1:123456789012:function:f",
                    },
                )
            case ["restore", "next"]:
                self.restored = True
                _reply(writer, 200)
            case ["init", "error"]:
                self.init_error = json.loads(await _read_body(reader, headers))
                _reply(writer, 202)
            case ["invocation", invocation_id, "error"]:
                invocation = self._running.pop(invocation_id)
                invocation.error = json.loads(await _read_body(reader, headers))
                invocation.chunks.put_nowait(None)
                invocation.settled.set()
                _reply(writer, 202)
            case ["invocation", invocation_id, "response"] if invocation_id in self._running:
                invocation = self._running.pop(invocation_id)
                if not await _take_response(invocation, headers, reader):
                    return False
                _reply(writer, 202)
            case _:
                _reply(writer, 400)
        await writer.drain()
        return True


async def _take_response(invocation: Invocation, headers: Mapping[str, str], reader: asyncio.StreamReader) -> bool:
    invocation.mode = headers.get("lambda-runtime-function-response-mode", "buffered")
    invocation.content_type = headers.get("content-type", "")
    try:
        if headers.get("transfer-encoding") != "chunked":
            invocation.chunks.put_nowait(await _read_body(reader, headers))
            return True
        taken = 0
        while size := int(await reader.readline(), 16):
            invocation.chunks.put_nowait((await reader.readexactly(size + 2))[:-2])
            taken += 1
            if taken == invocation.cut_after_chunks:
                return False
        invocation.trailers = await _read_fields(reader)
        return True
    finally:
        invocation.chunks.put_nowait(None)
        invocation.settled.set()


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    line = (await reader.readline()).decode("latin-1").split()
    if not line:
        return None
    return line[0], line[1], await _read_fields(reader)


async def _read_fields(reader: asyncio.StreamReader) -> dict[str, str]:
    fields: dict[str, str] = {}
    while line := (await reader.readline()).decode("latin-1").strip():
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return fields


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    return await reader.readexactly(int(headers["content-length"]))


def _reply(writer: asyncio.StreamWriter, status: int, body: bytes = b"", **headers: str) -> None:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + body)


@asynccontextmanager
async def lambda_environment(
    handler: str, *, bootstrap: str = "functions/chat/bootstrap", environment: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[RuntimeApi, "asyncio.subprocess.Process"]]:
    """Start a function through its real bootstrap, as Lambda does, and stop it at the end."""
    api = RuntimeApi()
    server = await asyncio.start_server(api.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        str(ROOT / bootstrap),
        sys.executable,
        "/var/runtime/bootstrap.py",
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}",
            "LAMBDA_TASK_ROOT": str(ROOT),
            "_HANDLER": handler,
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_DEFAULT_REGION": "eu-central-1",
            **(environment or {}),
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield api, process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await api.close()
        server.close()


def rest_event(method: str, path: str, body: str | None = None, **extra: Any) -> dict[str, Any]:
    """Give an event as API Gateway's REST proxy integration makes it."""
    return {
        "resource": path,
        "path": path,
        "httpMethod": method,
        "headers": {"content-type": "application/json"},
        "multiValueHeaders": {"content-type": ["application/json"]},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {"requestId": str(uuid.uuid4()), "stage": "dev", "identity": {"sourceIp": "192.0.2.1"}},
        "body": body,
        "isBase64Encoded": False,
        **extra,
    }
