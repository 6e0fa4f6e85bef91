"""What is remembered of a user and of a thread, read for one turn."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from shared.domain.counters import CORRUPT_SUMMARIES, RECALL_DEGRADED
from shared.domain.ids import ThreadId, UserId
from shared.domain.profile import AccountOverlay, MemoryDoc, StoredProfile, merge
from shared.domain.summary import SummaryEntry, SummaryRows
from shared.ports import Metrics, Profiles, Summaries

T = TypeVar("T")
Part = Literal["profile", "summaries"]

_log = logging.getLogger(__name__)

LIMIT_SECONDS: Final = 5.0
"""How long a turn waits for its memory. A database that answers late must not hold up the answer either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What one turn knows.

    Parameters
    ----------
    stored : StoredProfile
        The profile as stored; an empty one when there is none or it could not be read (``degraded`` tells which).
    overlay : AccountOverlay
        What the account adds.
    merged : dict
        The one view of both that the model sees.
    passes : sequence of SummaryEntry
        The thread's summaries, by sequence.
    degraded : frozenset of {'profile', 'summaries'}
        What could not be read. Failure is not absence: nothing may be written on the strength of a degraded part.
    """

    stored: StoredProfile
    overlay: AccountOverlay
    merged: MemoryDoc
    passes: Sequence[SummaryEntry] = ()
    degraded: frozenset[Part] = frozenset()


class Recall:
    """Reads a turn's memory. The one reader that may degrade: it never raises, and says what it could not read.

    Parameters
    ----------
    profiles, summaries : Profiles, Summaries
        Where the memory is.
    metrics : Metrics
        Counts degraded reads and corrupt rows.
    limit_seconds : float
        How long either read may take.
    """

    def __init__(
        self, profiles: Profiles, summaries: Summaries, metrics: Metrics, *, limit_seconds: float = LIMIT_SECONDS
    ) -> None:
        self._profiles = profiles
        self._summaries = summaries
        self._metrics = metrics
        self._limit = limit_seconds

    async def recall(self, user: UserId | None, thread: ThreadId | None, overlay: AccountOverlay) -> Recalled:
        """Read profile and summaries, at the same time.

        Parameters
        ----------
        user : str or None
            Without a user nothing is read and nothing is known, not even the account's part.
        thread : str or None
            Without a thread there are no summaries.
        overlay : AccountOverlay
            From the verified token.
        """
        if user is None:
            return Recalled(stored=StoredProfile(), overlay=AccountOverlay(), merged={})
        stored, rows = await asyncio.gather(self._profile(user), self._rows(user, thread))
        failed: dict[Part, bool] = {"profile": stored is None, "summaries": rows is None}
        known = stored or StoredProfile()
        return Recalled(
            stored=known,
            overlay=overlay,
            merged=merge(known, overlay),
            passes=() if rows is None else rows.entries,
            degraded=frozenset(part for part, yes in failed.items() if yes),
        )

    async def with_present_profile(self, user: UserId, earlier: Recalled) -> Recalled:
        """Read the profile again and keep the rest; when that fails, keep the profile too and say so."""
        stored = await self._profile(user)
        if stored is None:
            return replace(earlier, degraded=earlier.degraded | {"profile"})
        return replace(
            earlier, stored=stored, merged=merge(stored, earlier.overlay), degraded=earlier.degraded - {"profile"}
        )

    async def _profile(self, user: UserId) -> StoredProfile | None:
        return await self._or_none("profile", self._profiles.load(user))

    async def _rows(self, user: UserId, thread: ThreadId | None) -> SummaryRows | None:
        if thread is None:
            return SummaryRows()
        rows = await self._or_none("summaries", self._summaries.of_thread(user, thread))
        if rows is not None and rows.corrupt:
            self._metrics.count(CORRUPT_SUMMARIES, rows.corrupt)
        return rows

    async def _or_none(self, part: Part, read: Awaitable[T]) -> T | None:
        try:
            async with asyncio.timeout(self._limit):
                return await read
        except Exception:  # noqa: BLE001 - whatever it is, a chat turn does not fail because of memory
            self._metrics.count(RECALL_DEGRADED)
            _log.warning("recall degraded", extra={"part": part}, exc_info=True)
            return None
