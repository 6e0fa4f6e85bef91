"""What users see of their memory, and how they take things out of it. Nothing here writes anything new (AP16)."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from shared.domain import counters
from shared.domain.errors import CorruptItemError, NotFoundError, StoreError
from shared.domain.ids import ThreadId, UserId
from shared.domain.patch import check_profile_key, forget_key
from shared.domain.profile import AccountOverlay, MemoryDoc, Origin, StoredProfile, merge, overlay_values
from shared.domain.summary import SummaryEntry, SummaryRows
from shared.ports import Clock, Metrics, Profiles, Summaries, Threads
from shared.services.profile_writes import Rewritten, rewrite_profile

T = TypeVar("T")

Part = Literal["store", "threads", "titles"]
"""What can be missing from a view: what was saved, the summaries, the threads' titles."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPasses:
    """The summaries of one thread.

    Parameters
    ----------
    thread_id : str
        Which thread.
    title : str or None
        ``None`` when the titles could not be read.
    entries : tuple of SummaryEntry
        Oldest first.
    """

    thread_id: ThreadId
    title: str | None
    entries: tuple[SummaryEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryView:
    """Everything the memory page shows.

    Parameters
    ----------
    merged : dict
        The profile as the model sees it.
    store : dict
        What was saved; these keys can be deleted.
    auth : dict
        What the account says.
    threads : tuple of ThreadPasses
        Newest summary first.
    degraded : frozenset of str
        The parts that could not be read and are empty here for that reason only.
    """

    merged: MemoryDoc
    store: MemoryDoc
    auth: MemoryDoc
    threads: tuple[ThreadPasses, ...]
    degraded: frozenset[Part]


class ManageMemory:
    """Shows and deletes what is remembered of a user.

    Parameters
    ----------
    profiles : Profiles
        What was saved.
    summaries : Summaries
        What was compressed.
    threads : Threads
        Titles, and which threads there are.
    clock : Clock
        Dates the deletions in the profile's log.
    metrics : Metrics
        See ``shared.domain.counters``.
    """

    def __init__(
        self, *, profiles: Profiles, summaries: Summaries, threads: Threads, clock: Clock, metrics: Metrics
    ) -> None:
        self._profiles = profiles
        self._summaries = summaries
        self._threads = threads
        self._clock = clock
        self._metrics = metrics

    async def view(self, user: UserId, overlay: AccountOverlay) -> MemoryView:
        """Show the profile and the summaries; what cannot be read is left empty, and said to be (AP02).

        Parameters
        ----------
        user : str
            Whose memory.
        overlay : AccountOverlay
            From the verified token.
        """
        degraded: set[Part] = set()
        stored, rows = await asyncio.gather(
            self._or("store", self._profiles.load(user), StoredProfile(), degraded),
            self._or("threads", self._summaries.of_user(user), SummaryRows(), degraded),
        )
        return MemoryView(
            merged=merge(stored, overlay),
            store=dict(stored.doc),
            auth=overlay_values(overlay),
            threads=await self._by_thread(user, rows, degraded),
            degraded=frozenset(degraded),
        )

    async def passes(self, user: UserId) -> tuple[ThreadPasses, ...]:
        """Show the summaries of every thread: threads newest summary first, summaries oldest first.

        Parameters
        ----------
        user : str
            Whose threads.

        Raises
        ------
        StoreError
            When the summaries cannot be read. Titles that cannot are left out.
        """
        return await self._by_thread(user, await self._summaries.of_user(user), set())

    async def forget_key(self, user: UserId, key: str) -> str:
        """Delete one saved key of the profile.

        Parameters
        ----------
        user : str
            Whose profile.
        key : str
            As it stands in the profile.

        Returns
        -------
        str
            The key as it was stored.

        Raises
        ------
        InvalidKeyError
            When no profile can have such a key.
        NotFoundError
            When it was not saved; what only the account says cannot be deleted here.
        VersionConflictError
            When others wrote all the while.
        """
        name = check_profile_key(key)

        def edit(stored: StoredProfile) -> tuple[Rewritten, str]:
            return forget_key(stored, name, Origin(at=self._clock.now())), name

        return await rewrite_profile(self._profiles, user, edit)

    async def forget_thread(self, user: UserId, thread: ThreadId) -> int:
        """Delete every summary of one thread; the thread stays, and is summarised again from its first turn.

        Parameters
        ----------
        user : str
            Whose thread.
        thread : str
            Which.

        Returns
        -------
        int
            How many there were, unreadable ones included.

        Raises
        ------
        NotFoundError
            When there were none, or the thread is somebody else's.
        """
        count = await self._summaries.forget(user, thread)
        if count == 0:
            raise NotFoundError("There are no summaries of this thread.")
        _log.info("summaries forgotten", extra={"thread_id": thread, "count": count})
        return count

    async def _by_thread(self, user: UserId, rows: SummaryRows, degraded: set[Part]) -> tuple[ThreadPasses, ...]:
        if rows.corrupt:
            self._metrics.count(counters.CORRUPT_SUMMARIES, rows.corrupt)
        groups = _grouped(rows.entries)
        titles = await self._or("titles", self._titles(user, list(groups)), None, degraded)
        return tuple(
            ThreadPasses(thread_id=thread, title=_title(titles, thread), entries=entries)
            for thread, entries in groups.items()
            # A deleted thread is gone at once; the purge removes its summaries a moment later.
            if titles is None or thread in titles
        )

    async def _titles(self, user: UserId, threads: Sequence[ThreadId]) -> Mapping[ThreadId, str] | None:
        return await self._threads.titles(user, threads) if threads else {}

    async def _or(self, part: Part, read: Awaitable[T], otherwise: T, degraded: set[Part]) -> T:
        try:
            return await read
        except (StoreError, CorruptItemError) as error:
            degraded.add(part)
            self._metrics.count(counters.MEMORY_DEGRADED)
            _log.warning("memory view degraded", extra={"part": part, "code": error.code})
            return otherwise


def _grouped(entries: Sequence[SummaryEntry]) -> dict[ThreadId, tuple[SummaryEntry, ...]]:
    groups: dict[ThreadId, list[SummaryEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.thread_id, []).append(entry)
    newest_first = sorted(
        groups.items(), key=lambda group: (max(entry.created_at for entry in group[1]), group[0]), reverse=True
    )
    return {thread: tuple(sorted(group, key=lambda entry: entry.sequence)) for thread, group in newest_first}


def _title(titles: Mapping[ThreadId, str] | None, thread: ThreadId) -> str | None:
    return None if titles is None else titles.get(thread)
