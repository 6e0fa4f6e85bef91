"""Ending in order when somebody says so."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def until_signalled(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work`` to its end, or cancel it at the first SIGINT, SIGTERM or SIGHUP.

    Further signals change nothing: state is being written and children are being ended.

    Raises
    ------
    asyncio.CancelledError
        When a signal ended it.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    ended = False

    def end() -> None:
        nonlocal ended
        if not ended:
            ended = True
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end)
    await task
