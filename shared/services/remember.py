"""Saving what the user said about themselves."""

import asyncio
from collections.abc import Sequence
from typing import Any

from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.patch import Patch, apply
from shared.domain.profile import AccountOverlay, Origin, StoredProfile
from shared.ports import Clock, Profiles
from shared.services.profile_writes import ATTEMPTS, Pause, Rewritten, rewrite_profile


class Remember:
    """Writes patches to a profile. Unlike recall it fails closed: without a successful read it writes nothing.

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
        pause: Pause = asyncio.sleep,
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

        def edit(stored: StoredProfile) -> tuple[Rewritten, dict[str, Any]]:
            origin = Origin(
                at=self._clock.now(),
                thread_id=origin_thread,
                human_message_id=origin_message,
                tool_call_id=tool_call_id,
            )
            outcome = apply(stored, overlay, patches, max_bytes=self._max_bytes, origin=origin)
            if outcome.profile is None or outcome.change is None:
                return None, outcome.result
            return (outcome.profile, outcome.change), outcome.result

        return await rewrite_profile(self._profiles, user, edit, attempts=self._attempts, pause=self._pause)
