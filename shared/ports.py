"""What services need from outside, as small protocols.

Every method that takes a user reaches that user's data and no other's. Reads are consistent. An adapter raises
``StoreError`` when the database cannot answer: failure is not absence. The fakes in ``tests/fakes`` implement
these protocols too and run the same contract suites as the adapters.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from shared.domain.claims import Claim, ClaimRefusal
from shared.domain.events import TurnEnded
from shared.domain.ids import DocumentId, RunId, ThreadId, UserId
from shared.domain.profile import ProfileChange, StoredProfile
from shared.domain.runs import EventPage, RunRow, RunStatus
from shared.domain.spans import Trace
from shared.domain.summary import SummaryEntry, SummaryOutput, SummaryRows
from shared.domain.threads import Lease, LeaseSignal, ThreadQuery, ThreadRow, ThreadStatus

if TYPE_CHECKING:
    # Half a second of import, and not in the bundles that answer from rows.
    from langchain_core.messages import AnyMessage


class Clock(Protocol):
    """The time of day, so that rules about time can be tested."""

    def now(self) -> datetime:
        """Give the present moment in UTC, with its time zone."""
        ...


class Metrics(Protocol):
    """Counters that alarms watch. Facts only; never anything a user said."""

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter. Never raises."""
        ...


class Profiles(Protocol):
    """The profile row of each user, and the log of what changed it."""

    async def load(self, user: UserId) -> StoredProfile:
        """Read the profile; an empty one with version 0 when there is none."""
        ...

    async def save(self, user: UserId, profile: StoredProfile, change: ProfileChange) -> None:
        """Write ``profile`` as version ``profile.version`` and append ``change`` to the log, both or neither.

        Raises
        ------
        VersionConflictError
            When the stored version is not ``profile.version - 1``.
        """
        ...

    async def purge(self, user: UserId) -> None:
        """Remove the profile and its log."""
        ...


class Summaries(Protocol):
    """The summary entries of each thread, and the claims of the passes that make them."""

    async def of_thread(self, user: UserId, thread: ThreadId) -> SummaryRows:
        """Read every entry of one thread, ordered by sequence as a number, across all pages."""
        ...

    async def of_user(self, user: UserId) -> SummaryRows:
        """Read every entry of every thread of one user."""
        ...

    async def claim(
        self,
        user: UserId,
        thread: ThreadId,
        window_key: str,
        *,
        now: datetime,
        hold: timedelta,
        max_attempts: int,
        back_off: timedelta,
    ) -> Claim | ClaimRefusal:
        """Take the window for ``hold``, or say why not.

        A claim that ran out is taken over and counts as another attempt; after a failed attempt the next is given
        ``back_off * 2**(attempts - 1)`` later; after ``max_attempts`` the window is marked failed.
        """
        ...

    async def append(self, user: UserId, entry: SummaryEntry, claim: Claim) -> None:
        """Write a new entry, in one transaction with: the claim is still held (and is now done), the thread lives.

        Raises
        ------
        ClaimLostError
            When the claim is not this one any more, or the sequence is taken.
        ThreadNotFoundError
            When the thread is gone or going.
        """
        ...

    async def fail(self, user: UserId, claim: Claim, *, now: datetime) -> None:
        """Give the window back after a failed attempt; the attempt stays counted."""
        ...

    async def forget(self, user: UserId, thread: ThreadId) -> int:
        """Remove every entry of a thread by raw key, corrupt ones too, and its claims; give the number of entries."""
        ...


class Threads(Protocol):
    """The thread rows of each user. A row that is being deleted, or a tombstone, reads as missing."""

    async def create(self, row: ThreadRow) -> None:
        """Write a new row.

        Raises
        ------
        ThreadExistsError
            When the user has a thread with this id; ``ThreadDeletedError`` when it was deleted.
        """
        ...

    async def get(self, user: UserId, thread: ThreadId) -> ThreadRow:
        """Read a row.

        Raises
        ------
        ThreadNotFoundError
            When there is none for this user.
        """
        ...

    async def titles(self, user: UserId, threads: Sequence[ThreadId]) -> Mapping[ThreadId, str]:
        """Read the titles of those of ``threads`` that exist."""
        ...

    async def search(self, user: UserId, query: ThreadQuery, *, now: datetime) -> Sequence[ThreadRow]:
        """List a page of the user's threads.

        A listed row has what lists show: ``pending`` is left out, ``lease`` and ``cancel_requested`` too unless the
        thread is busy.
        """
        ...

    async def count(self, user: UserId, query: ThreadQuery, *, now: datetime) -> int:
        """Count the user's threads that fit; limit and offset are not looked at."""
        ...

    async def update_metadata(
        self, user: UserId, thread: ThreadId, metadata: Mapping[str, Any], *, now: datetime
    ) -> ThreadRow:
        """Merge ``metadata`` into the row's, key by key (see ``merged_metadata``). Raises ``ThreadNotFoundError``."""
        ...

    async def rename(self, user: UserId, thread: ThreadId, title: str, *, only_default: bool = False) -> bool:
        """Set the title; with ``only_default`` only while it is still the default. Give whether it was set.

        Never creates a row; a missing thread gives ``False``.
        """
        ...

    async def touch(self, user: UserId, thread: ThreadId, at: datetime) -> bool:
        """Move the last-message time forward to ``at``, never back.

        Never creates a row; ``False`` when there is none.
        """
        ...

    async def acquire(
        self,
        user: UserId,
        thread: ThreadId,
        run: RunId,
        *,
        now: datetime,
        hold: timedelta,
        pending: Sequence[Mapping[str, Any]] = (),
        create: bool = False,
        preview: str = "",
        record: RunRow | None = None,
    ) -> ThreadRow:
        """Take the thread's lease in one conditional write and give the row as it is now.

        The row's ``pending`` is then what an earlier, dead run left, followed by ``pending``. ``create`` makes a
        missing row. ``preview`` is kept if the row has none. ``record`` is what the row says of the run until it
        ends; what it said of a dead run is then the row's ``left_run``, and ``status_before`` is what the thread was.
        A run that holds the lease already gets the row as it is, and ``pending`` is not added again.

        Raises
        ------
        ItemTooLargeError
            When the row cannot hold ``pending``; nothing was written.
        ThreadBusyError
            When another run's lease has not ended; it says how long that one lasts.
        ThreadNotFoundError
            When there is no such thread, or it is being deleted.
        ThreadDeletedError
            When a thread is to be made whose id a deleted one had.
        """
        ...

    async def renew(self, user: UserId, thread: ThreadId, lease: Lease, until: datetime) -> LeaseSignal:
        """Hold the lease until ``until``.

        Raises
        ------
        LeaseLostError
            When another run has taken over or the thread is a tombstone.
        """
        ...

    async def watch(self, user: UserId, thread: ThreadId, lease: Lease) -> LeaseSignal:
        """Look whether somebody asked this run to stop. Raises ``LeaseLostError`` as :meth:`renew` does."""
        ...

    async def release(
        self,
        user: UserId,
        thread: ThreadId,
        lease: Lease,
        *,
        status: ThreadStatus,
        now: datetime,
        checkpoint_id: str | None = None,
        pending: Sequence[Mapping[str, Any]] = (),
        keep_preview: bool = True,
    ) -> None:
        """Give the lease back with what the thread is now; of the messages the row keeps only ``pending`` stay.

        The row says nothing of the run any more; without ``keep_preview`` nothing of what was first said either.

        Does nothing when the lease was lost.
        """
        ...

    async def request_cancel(
        self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime, rollback: bool = False
    ) -> bool:
        """Ask the run to stop, and with ``rollback`` to undo what it stored.

        ``False`` when it does not hold the thread (any more).
        """
        ...

    async def request_events(self, user: UserId, thread: ThreadId, run: RunId, *, now: datetime) -> bool:
        """Ask the run to keep its events as they come; ``False`` when it does not hold the thread (any more)."""
        ...

    async def mark_deleting(self, user: UserId, thread: ThreadId, *, now: datetime) -> None:
        """Make the thread invisible at once. Done again while it is being deleted, changes nothing.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread, or it is a tombstone.
        """
        ...

    async def lease_of_deleted(self, user: UserId, thread: ThreadId) -> Lease | None:
        """Give the lease of a thread that is being deleted, for the purge to wait for. ``None`` when there is none."""
        ...

    async def bury(self, user: UserId, thread: ThreadId, *, now: datetime, keep_for: timedelta) -> None:
        """Turn a thread that is being deleted into a tombstone that keeps its id from being used again for a while.

        Does nothing to a thread that lives, is a tombstone already, or never was.
        """
        ...


class Runs(Protocol):
    """The rows of runs that have ended, and the events of runs. Both are kept for a while only."""

    async def save(
        self, user: UserId, *, rows: Sequence[RunRow] = (), pages: Sequence[EventPage] = (), now: datetime
    ) -> None:
        """Write rows and pages. A page that begins with the same event as a stored one takes its place."""
        ...

    async def get(self, user: UserId, thread: ThreadId, run: RunId) -> RunRow | None:
        """Read a row; ``None`` when there is none for this user and thread."""
        ...

    async def search(
        self, user: UserId, thread: ThreadId, *, limit: int = 10, offset: int = 0, status: RunStatus | None = None
    ) -> Sequence[RunRow]:
        """List a page of a thread's rows, the newest first. Run ids must grow with time, as version 7 UUIDs do."""
        ...

    async def pages(
        self, user: UserId, thread: ThreadId, run: RunId, *, since: int = 0, consistent: bool = True
    ) -> Sequence[EventPage]:
        """Read the pages of a run whose first event is ``since`` or a later one, in order.

        A read that need not be ``consistent`` costs half, and may miss what was written a moment ago.
        """
        ...

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        """Remove every row and page of a thread."""
        ...


class Traces(Protocol):
    """What happened in the runs of threads; kept for a while only."""

    async def save(self, user: UserId, trace: Trace) -> None:
        """Write a trace; the one of the same run and origin is replaced (row OB03). Raises ``StoreError``."""
        ...

    async def of_thread(self, user: UserId, thread: ThreadId) -> Sequence[Trace]:
        """Read those that have not expired, by the time they began. Raises ``StoreError``."""
        ...

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        """Remove all of a thread (row OB06). Raises ``StoreError``."""
        ...


class ThreadMessages(Protocol):
    """The messages of a thread as the last checkpoint has them. Read only."""

    async def load(self, user: UserId, thread: ThreadId) -> "Sequence[AnyMessage]":
        """Read all messages, oldest first; empty when there is no checkpoint."""
        ...


class Checkpoints(Protocol):
    """What the purge needs of the checkpointer."""

    async def purge(self, user: UserId, thread: ThreadId) -> None:
        """Remove every checkpoint, write and segment of the thread."""
        ...


class CheckpointCopies(Protocol):
    """What copying a thread needs of the checkpointer."""

    async def copy(self, user: UserId, source: ThreadId, target: ThreadId) -> None:
        """Copy every checkpoint of a thread to one that has none."""
        ...


class Summarizer(Protocol):
    """The model behind a summary pass."""

    async def summarize(self, transcript: str) -> SummaryOutput:
        """Compress a JSONL transcript.

        Raises
        ------
        ModelError
            When the model gives nothing usable.
        """
        ...


class TurnEvents(Protocol):
    """Where ended turns are announced."""

    async def publish(self, event: TurnEnded) -> None:
        """Announce the turn.

        Raises
        ------
        StoreError
            When the bus did not take the event, be it by an error or by a count of failed entries.
        """
        ...


class PurgeQueue(Protocol):
    """Where deletions that take a while are queued."""

    async def purge_thread(self, user: UserId, thread: ThreadId) -> None:
        """Queue the removal of everything a deleted thread has."""
        ...


class Documents(Protocol):
    """The document rows of the knowledge base."""

    async def record_upload(
        self, user: UserId, key: str, *, version_id: str | None, sequencer: str, size: int, now: datetime
    ) -> DocumentId | None:
        """Keep a ``PENDING`` row for an uploaded object; ``None`` when a later event of the same key came first.

        An event that comes again gives the same id and changes nothing.
        """
        ...

    async def expect_upload(self, user: UserId, key: str, *, size: int, now: datetime) -> bool:
        """Keep a ``PENDING`` row for an object that was just written, until its event tells more (row KB06).

        Where there is a row already nothing changes, but a deleted document comes back, and what was still to remove
        it stops. Late events of its old object change nothing.

        Returns
        -------
        bool
            Whether the document was deleted, or expected already. Its object may have been removed since it was
            written: it has to be written again, over what is there.

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        ...

    async def record_delete(self, user: UserId, key: str, *, sequencer: str, now: datetime) -> int | None:
        """Note that the object is gone; ``None`` when a later event of the same key came first.

        A delete that comes before its put is remembered, so that the put leaves nothing behind.

        Returns
        -------
        int or None
            The highest version that its document was given: what is above it belongs to a later upload.
        """
        ...
