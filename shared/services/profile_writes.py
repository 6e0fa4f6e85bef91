"""Writing a profile so that no writer undoes another's work; the tool and the memory page both write this way."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from shared.domain.errors import VersionConflictError
from shared.domain.ids import UserId
from shared.domain.profile import ProfileChange, StoredProfile
from shared.ports import Profiles

T = TypeVar("T")

Pause = Callable[[float], Awaitable[None]]
"""Waits for some seconds."""

Rewritten = tuple[StoredProfile, ProfileChange] | None
"""What to store, one version on, with its line of the log; ``None`` when there is nothing to write."""

ATTEMPTS: Final = 16
"""Of several writers one gets through at a time, so eight of them need eight rounds at worst."""

_LONGEST_PAUSE: Final = 0.2


async def rewrite_profile(
    profiles: Profiles,
    user: UserId,
    edit: Callable[[StoredProfile], tuple[Rewritten, T]],
    *,
    attempts: int = ATTEMPTS,
    pause: Pause = asyncio.sleep,
) -> T:
    """Change a profile on condition that it is still what was read; otherwise read it afresh and work it out again.

    Fails closed: without a successful read nothing is written.

    Parameters
    ----------
    profiles : Profiles
        Where profiles are.
    user : str
        Whose profile.
    edit : callable
        Works out from the profile as read what to store, and what to give back once it is stored. Called once an
        attempt; what it raises ends the write.
    attempts : int
        How often a lost race is run again.
    pause : callable
        Waits between attempts.

    Raises
    ------
    StoreError
        When the database cannot answer.
    VersionConflictError
        When every attempt lost its race.
    """
    failures = 0
    while True:
        rewritten, result = edit(await profiles.load(user))
        if rewritten is None:
            return result
        try:
            await profiles.save(user, *rewritten)
        except VersionConflictError:
            failures += 1
            if failures == attempts:
                raise
            await pause(_wait_after(failures))
        else:
            return result


def _wait_after(failures: int) -> float:
    return random.uniform(0.0, min(_LONGEST_PAUSE, 0.01 * 2**failures))  # noqa: S311 - it only spreads the writers
