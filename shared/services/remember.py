"""Saving what the user said about themselves."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from shared.domain.errors import VersionConflictError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.patch import Patch, apply
from shared.domain.profile import AccountOverlay, Origin
from shared.ports import Clock, Profiles

ATTEMPTS: Final = 16
"""Of several writers one gets through at a time, so eight of them need eight rounds at worst."""

_LONGEST_PAUSE: Final = 0.2


class Remember:
    """Writes patches to a profile so that no writer undoes another's work.

    Each attempt reads the profile afresh, works out the patches on it and writes under the condition that the
    version is still the one that was read. Unlike recall it fails closed: without a successful read it writes nothing.

    Parameters
    ----------
    profiles : Profiles
        Where profiles are.
    clock : Clock
        Dates each change.
    max_bytes : int
        The limit of a stored profile.
    attempts : int
        How often a lost race is run again.
    pause : callable
        Waits for some seconds between attempts.
    """

    def __init__(
        self,
        profiles: Profiles,
        clock: Clock,
        max_bytes: int,
        *,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._profiles = profiles
        self._clock = clock
        self._max_bytes = max_bytes
        self._attempts = attempts
        self._pause = pause

    async def save(
        self,
        user: UserId,
        overlay: AccountOverlay,
        patches: Sequence[Patch],
        *,
        origin_thread: ThreadId | None = None,
        origin_message: MessageId | None = None,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Apply patches and store the result, all of them or none.

        Parameters
        ----------
        user : str
            Whose profile.
        overlay : AccountOverlay
            From the verified token; patches act on the merged view.
        patches : sequence of Patch
            In order; an empty list writes nothing.
        origin_thread, origin_message, tool_call_id : str or None
            Where the patches were said.

        Returns
        -------
        dict
            ``ok``, ``bytes``, ``keyCount``, ``before``, ``after`` and ``patches`` with the values they replaced.

        Raises
        ------
        MemoryPatchError, MemorySizeError
            When the patches do not fit the profile as it is now.
        StoreError
            When the database cannot answer.
        VersionConflictError
            When every attempt lost its race.
        """
        failures = 0
        while True:
            stored = await self._profiles.load(user)
            origin = Origin(
                at=self._clock.now(),
                thread_id=origin_thread,
                human_message_id=origin_message,
                tool_call_id=tool_call_id,
            )
            outcome = apply(stored, overlay, patches, max_bytes=self._max_bytes, origin=origin)
            if outcome.profile is None or outcome.change is None:
                return outcome.result
            try:
                await self._profiles.save(user, outcome.profile, outcome.change)
            except VersionConflictError:
                failures += 1
                if failures == self._attempts:
                    raise
                await self._pause(_wait_after(failures))
            else:
                return outcome.result


def _wait_after(failures: int) -> float:
    return random.uniform(0.0, min(_LONGEST_PAUSE, 0.01 * 2**failures))  # noqa: S311 - it only spreads the writers
