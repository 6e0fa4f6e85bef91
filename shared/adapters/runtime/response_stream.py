"""The streaming half of the Lambda Runtime API: a response that leaves while the handler still runs.

The body of the post is a JSON prelude (status and headers), eight NUL bytes, then the response's bytes, chunked. A
failure after the start can only be told in trailers. Everything happens on the handler's event loop, so that a slow
reader holds up the writer and nothing else: not the lease, not the heartbeat, not the model's stream.
"""

import asyncio
import base64
import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_PATH: Final = "/2018-06-01/runtime/invocation/{invocation}/response"
_HTTP_RESPONSE: Final = "application/vnd.awslambda.http-integration-response"
_ERROR_TYPE: Final = "Lambda-Runtime-Function-Error-Type"
_ERROR_BODY: Final = "Lambda-Runtime-Function-Error-Body"

PRELUDE_END: Final = b"\0" * 8
PRELUDE_LIMIT: Final = 16 * 1024
"""API Gateway looks for the end of the prelude in this many bytes and answers 502 when it is not there."""

CUT_SHORT: Final = "Function.ResponseCutShort"
_SETTLE_SECONDS: Final = 5

_log = logging.getLogger(__name__)


class PreludeTooLargeError(ValueError):
    """The status and headers do not fit into what API Gateway reads of them."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """A response's status and headers.

    Parameters
    ----------
    status : int
        The HTTP status.
    headers : sequence of pairs
        Names in lower case, in order; a name may come more than once.
    """

    status: int
    headers: Sequence[tuple[str, str]] = ()

    def by_name(self) -> dict[str, list[str]]:
        """Give each header's values, in order."""
        values: dict[str, list[str]] = defaultdict(list)
        for name, value in self.headers:
            values[name].append(value)
        return dict(values)

    def prelude(self) -> bytes:
        """Give what stands before the body on the wire.

        Raises
        ------
        PreludeTooLargeError
            When it is over the limit.
        """
        values = self.by_name()
        document = {
            "statusCode": self.status,
            "headers": {name: several[0] for name, several in values.items() if len(several) == 1},
            "multiValueHeaders": {name: several for name, several in values.items() if len(several) > 1},
        }
        prelude = json.dumps(document, separators=(",", ":")).encode() + PRELUDE_END
        if len(prelude) > PRELUDE_LIMIT:
            raise PreludeTooLargeError(f"The response's headers take {len(prelude)} of {PRELUDE_LIMIT} bytes.")
        return prelude


class ResponseStream:
    """One response on its way. Made by :meth:`StreamingRuntime.open`.

    A client that has gone is not the writer's business: what is written then goes nowhere, and the handler runs on.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._closed = False
        self.reader_gone = False
        """Whether the platform has stopped taking the response."""

    async def write(self, data: bytes) -> None:
        """Send some bytes; waits while the reader is slow."""
        # A chunk of no bytes is the protocol's end of the response.
        if data and not self._closed:
            await self._send(b"%x\r\n%b\r\n" % (len(data), data))

    async def close(self) -> None:
        """End the response."""
        await self._end(b"0\r\n\r\n")

    async def cut_short(self) -> None:
        """End the response as a failure, so that nobody takes what was sent for the whole.

        The trailers name the kind of failure and nothing else: no message, no stack trace.
        """
        body = base64.b64encode(json.dumps({"errorType": CUT_SHORT}).encode())
        await self._end(
            b"0\r\n%b: %b\r\n%b: %b\r\n\r\n" % (_ERROR_TYPE.encode(), CUT_SHORT.encode(), _ERROR_BODY.encode(), body)
        )

    async def _send(self, data: bytes) -> None:
        if self.reader_gone:
            return
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            self.reader_gone = True

    async def _end(self, tail: bytes) -> None:
        if self._closed:
            return
        self._closed = True
        await self._send(tail)
        try:
            async with asyncio.timeout(_SETTLE_SECONDS):
                answer = b"" if self.reader_gone else await self._reader.readuntil(b"\r\n\r\n")
            if answer and b" 202 " not in answer.split(b"\r\n", 1)[0]:
                _log.warning("response not accepted", extra={"answer": answer.split(b"\r\n", 1)[0].decode("latin-1")})
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            self.reader_gone = True  # the platform has settled this invocation already
        finally:
            self._writer.close()


class StreamingRuntime:
    """The Runtime API of a process that may stream.

    Parameters
    ----------
    address : str
        Host and port, as in ``AWS_LAMBDA_RUNTIME_API``.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._streamed: set[str] = set()

    async def open(self, invocation: str, head: ResponseHead) -> ResponseStream:
        """Begin the response to an invocation.

        Raises
        ------
        PreludeTooLargeError
            When the headers do not fit; nothing was sent.
        """
        prelude = head.prelude()
        host, _, port = self._address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        request = (
            f"POST {_PATH.format(invocation=invocation)} HTTP/1.1\r\n"
            f"Host: {self._address}\r\n"
            f"Content-Type: {_HTTP_RESPONSE}\r\n"
            "Lambda-Runtime-Function-Response-Mode: streaming\r\n"
            "Transfer-Encoding: chunked\r\n"
            f"Trailer: {_ERROR_TYPE}, {_ERROR_BODY}\r\n\r\n"
        )
        self._streamed.add(invocation)
        writer.write(request.encode())
        stream = ResponseStream(reader, writer)
        await stream.write(prelude)
        return stream

    def was_streamed(self, invocation: str) -> bool:
        """Say whether the invocation's response was streamed, and forget it."""
        if invocation in self._streamed:
            self._streamed.remove(invocation)
            return True
        return False


_runtimes: list[StreamingRuntime] = []


def begin_streaming(address: str) -> StreamingRuntime:
    """Note that this process may stream its responses; the program that takes the runtime's place says so."""
    _runtimes[:] = [StreamingRuntime(address)]
    return _runtimes[0]


def streaming_runtime() -> StreamingRuntime | None:
    """Give the Runtime API when this process may stream; ``None`` under any other runtime, where replies are whole."""
    return _runtimes[0] if _runtimes else None
