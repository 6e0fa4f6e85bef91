"""How often a model call is tried, and how long it waits in between."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from shared.adapters.bedrock.faults import model_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Exponential back-off with full jitter, so that callers that were refused together do not come back together.

    Parameters
    ----------
    most : int
        Calls in all.
    first_wait, longest_wait : float
        Seconds that the first wait takes at most, doubled for each further one, up to the longest.
    patience : float
        Seconds after which no other attempt is begun: somebody is waiting for the answer.
    pause : callable
        Waits for some seconds; tests give one that does not.
    spread : callable
        Draws a number between two.
    """

    most: int = 4
    first_wait: float = 0.5
    longest_wait: float = 8.0
    patience: float = 45.0
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    spread: Callable[[float, float], float] = random.uniform

    def wait_after(self, failures: int) -> float:
        """Draw how long to wait after so many failures."""
        return self.spread(0.0, min(self.longest_wait, self.first_wait * 2 ** (failures - 1)))


class AttemptsAtCall:
    """The attempts at one call; made when the first begins.

    Parameters
    ----------
    attempts : Attempts
        How often, and for how long.
    """

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._failures = 0
        self._began = asyncio.get_running_loop().time()

    async def failed(self, error: Exception, *, final: bool = False) -> None:
        """Wait until the next attempt is due, or raise what the error means when there is none.

        Parameters
        ----------
        error : Exception
            What the last attempt ended with.
        final : bool
            Whether the call can no longer be made again.
        """
        self._failures += 1
        meant = model_error(error)
        if meant is None or meant is error:
            raise error
        elapsed = asyncio.get_running_loop().time() - self._began
        spent = self._failures >= self._attempts.most or elapsed >= self._attempts.patience
        if final or spent or not meant.retryable:
            raise meant from error
        await self._attempts.pause(self._attempts.wait_after(self._failures))
