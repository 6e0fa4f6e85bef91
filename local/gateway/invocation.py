"""One invocation of a function, between the gateway that reads its response and the process that writes it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from time import time
from typing import Any, Final
from uuid import uuid4

_CHUNKS_AHEAD: Final = 64


class InvocationFailed(Exception):  # noqa: N818 - an outcome, not a fault of the gateway
    """The function failed, died or ran out of time; ``kind`` is Lambda's name for it."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Invocation:
    """An event on its way to a function, and the response on its way back.

    The writer is held up while the reader is slow. A reader that leaves is never told to the function: what is
    written then is thrown away, and the function runs to its end.

    Parameters
    ----------
    event : mapping
        The proxy event.
    timeout : float
        Seconds until the platform stops the function.
    """

    def __init__(self, event: Mapping[str, Any], timeout: float) -> None:
        self.id = str(uuid4())
        self.event = event
        self.deadline = time() + timeout
        self.settled = asyncio.Event()
        """Set when the function has finished with this invocation, well or not."""
        self._chunks: asyncio.Queue[bytes | InvocationFailed | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(_CHUNKS_AHEAD)
        self._abandoned = False

    async def write(self, chunk: bytes) -> None:
        """Pass on a piece of the response, in order."""
        if self._abandoned:
            return
        await self._room.acquire()
        self._chunks.put_nowait(chunk)

    def finish(self) -> None:
        """Say that the response is complete. Later calls change nothing."""
        self._settle(None)

    def fail(self, kind: str) -> None:
        """Say that there is no response, or no more of it. Later calls change nothing."""
        self._settle(InvocationFailed(kind))

    def _settle(self, outcome: InvocationFailed | None) -> None:
        if not self.settled.is_set():
            self._chunks.put_nowait(outcome)
            self.settled.set()

    def abandon(self) -> None:
        """Stop reading: the client has gone, or has got its error."""
        self._abandoned = True
        # Whoever waits for room may go on; what they write goes nowhere.
        for _ in range(_CHUNKS_AHEAD):
            self._room.release()

    async def chunks(self, idle: float, until: float) -> AsyncIterator[bytes]:
        """Give the pieces of the response.

        Parameters
        ----------
        idle : float
            Seconds to wait for one piece.
        until : float
            The moment (epoch seconds) when to stop waiting altogether.

        Raises
        ------
        InvocationFailed
            When the function failed.
        TimeoutError
            When nothing came in time.
        """
        while True:
            async with asyncio.timeout(max(0.0, min(idle, until - time()))):
                chunk = await self._chunks.get()
            if chunk is None:
                return
            if isinstance(chunk, InvocationFailed):
                raise chunk
            self._room.release()
            yield chunk
