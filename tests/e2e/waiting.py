"""Waiting for a condition, with a deadline; never for an amount of time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T]], what: str, *, seconds: float = 60) -> T:
    """Look again and again until something true is seen; give it."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        seen = await look()
        if seen:
            return seen
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"{what}: not seen within {seconds} seconds")
        await asyncio.sleep(0.1)
