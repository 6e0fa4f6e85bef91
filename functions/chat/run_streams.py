"""Replies that are sent while something goes on."""

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any, Protocol

from shared.adapters.langgraph_api.json_encoding import encode
from shared.adapters.langgraph_api.run_errors import error_data
from shared.graphs.runs.stream import Failed, RunOutput, Streamed

KEEP_ALIVE = b"\n"
"""What JSON may begin with."""

_ERROR = "__error__"


class AnyRun(Protocol):
    """What replies need of a run."""

    @property
    def id(self) -> str: ...  # noqa: D102
    def outputs(self) -> AsyncIterator[RunOutput]: ...  # noqa: D102
    async def finished(self) -> None: ...  # noqa: D102


async def with_heartbeats(
    parts: AsyncGenerator[bytes], beat: bytes, seconds: float, *, limit: timedelta | None = None
) -> AsyncGenerator[bytes]:
    """Give parts as they come, and a beat every so often, whatever they wait for.

    Parameters
    ----------
    parts : async generator of bytes
        What is to be sent.
    beat : bytes
        Shows that the connection is alive; the first comes at once.
    seconds : float
        How often.
    limit : timedelta, optional
        After how long to end, whatever is still to come.
    """
    clock = asyncio.get_running_loop()
    next_beat = clock.time()
    end = math.inf if limit is None else next_beat + limit.total_seconds()
    coming = asyncio.ensure_future(anext(parts, None))
    try:
        while True:
            await asyncio.wait({coming}, timeout=max(0.0, next_beat - clock.time()))
            if coming.done():
                part = coming.result()
                if part is None:
                    return
                yield part
                coming = asyncio.ensure_future(anext(parts, None))
            if clock.time() >= next_beat:
                yield beat
                next_beat = clock.time() + seconds
            if clock.time() >= end:
                return
    finally:
        coming.cancel()
        await asyncio.wait({coming})
        await parts.aclose()


async def to_the_end(run: AnyRun, parts: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """Give parts. Whoever stops listening does not stop the run, but waits for it.

    A process that has answered stands still.
    """
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    finally:
        await run.finished()


async def final_values(run: AnyRun) -> AsyncGenerator[bytes]:
    """Give, as one part, the JSON of the state that a run ends with, or of what went wrong."""
    value: Any = {}
    async for output in run.outputs():
        match output:
            case Streamed("values", data, ()):
                value = data
            case Failed(code):
                value = {_ERROR: error_data(code)}
            case _:
                pass
    yield encode(value)
