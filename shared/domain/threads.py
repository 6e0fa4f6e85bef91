"""The thread row: what is known of a thread without opening its checkpoints, and who may write to it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from shared.domain.errors import InvalidInputError, ThreadBusyError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.json_text import compact_json
from shared.domain.runs import RunRow

DEFAULT_TITLE: Final = "New thread"
"""The title until the first turn names the thread; "first turn" means: the title is still this one."""

TITLE_MAX_CHARS: Final = 200
"""What a user may call a thread."""

MODEL_TITLE_MAX_CHARS: Final = 30
"""What the model may call a thread; longer answers are cut."""

PREVIEW_MAX_CHARS: Final = 280
"""How much of the first human message the row keeps for lists."""

METADATA_MAX_BYTES: Final = 16 * 1024
"""UTF-8 bytes of compact JSON that a client may keep with a thread, or with one run."""

ThreadStatus = Literal["idle", "busy", "interrupted", "error"]

HistoryPolicy = Literal["summaries", "trim", "delete", "running_summary"]
"""How a thread is kept within the context window; chosen when it is made.

``summaries``: old turns are summarised beside the thread, which keeps every message. ``trim``: they are just not sent.
``delete`` and ``running_summary`` take them out of the thread, the second into one text that stands for them. Turns
are known to summaries by their place and id, so that these are made of no thread but the first kind (X01, X02).
"""

DEFAULT_POLICY: Final[HistoryPolicy] = "summaries"

HISTORY_POLICIES: Final[tuple[HistoryPolicy, ...]] = get_args(HistoryPolicy)

DESTRUCTIVE_POLICIES: Final[frozenset[HistoryPolicy]] = frozenset({"delete", "running_summary"})
"""Those by which a thread loses messages for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write to a thread for a while.

    Parameters
    ----------
    run_id : str
        The run that holds it.
    number : int
        The fencing number: one higher for each lease of the thread, so that a late writer can be told apart.
    until : datetime
        When it ends unless renewed.
    """

    run_id: RunId
    number: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRow:
    """One thread of one user.

    Parameters
    ----------
    status : {'idle', 'busy', 'interrupted', 'error'}
        As stored; read it through :meth:`status_at`, because a dead run leaves ``busy`` behind.
    metadata : mapping
        The client's own.
    preview : str
        The first human message's text, cut.
    lease : Lease or None
        The last lease given, whether or not it has ended.
    pending : sequence of mapping
        Human messages (as JSON objects with ``type``, ``id``, ``content``) that a run took in and whose checkpoint
        has not been confirmed: what a dead process would otherwise lose. Merged by the next run.
    checkpoint_id : str or None
        The checkpoint the last finished run left.
    cancel_requested : bool
        Whether somebody asked the present run to stop.
    run : RunRow or None
        The run that holds the thread, or died holding it; a run that has ended has a row of its own.
    left_run : RunRow or None
        The run from which the present one took the thread over, if that one had died.
    status_before : {'idle', 'interrupted', 'error'}
        What the thread was before the run that holds it.
    """

    user_id: UserId
    thread_id: ThreadId
    created_at: datetime
    updated_at: datetime
    last_message_at: datetime
    title: str = DEFAULT_TITLE
    preview: str = ""
    status: ThreadStatus = "idle"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    policy: HistoryPolicy = DEFAULT_POLICY
    lease: Lease | None = None
    pending: Sequence[Mapping[str, Any]] = ()
    checkpoint_id: str | None = None
    cancel_requested: bool = False
    run: RunRow | None = None
    left_run: RunRow | None = None
    status_before: ThreadStatus = "idle"

    def is_busy(self, now: datetime) -> bool:
        """Say whether a run holds the thread at ``now``."""
        return self.status_at(now) == "busy"

    def is_held_by(self, run: RunId, now: datetime) -> bool:
        """Say whether this run holds the thread at ``now``."""
        return self.is_busy(now) and self.lease is not None and self.lease.run_id == run

    def status_at(self, now: datetime) -> ThreadStatus:
        """Give the status as of ``now``: ``busy`` only while the lease lasts."""
        if self.status == "busy" and (self.lease is None or self.lease.until <= now):
            return "error"
        return self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuery:
    """Which of a user's threads to list, newest last message first.

    Parameters
    ----------
    metadata : mapping
        Each pair must be in the thread's metadata.
    policy : str or None
        Only threads that are kept within the context window this way.
    status : str or None
        Only threads with this status.
    limit, offset : int
        The page.
    sort_by : {'last_message_at', 'created_at', 'updated_at', 'thread_id', 'status'}
        The order; ``descending`` turns it.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    policy: HistoryPolicy | None = None
    status: ThreadStatus | None = None
    limit: int = 10
    offset: int = 0
    sort_by: Literal["last_message_at", "created_at", "updated_at", "thread_id", "status"] = "last_message_at"
    descending: bool = True

    def fits(self, row: ThreadRow, now: datetime) -> bool:
        """Say whether a thread is asked for, by its metadata and by its status as of ``now``."""
        return (
            (self.status is None or row.status_at(now) == self.status)
            and (self.policy is None or row.policy == self.policy)
            and all(
                key in row.metadata and _same_json(row.metadata[key], value) for key, value in self.metadata.items()
            )
        )

    @property
    def filters(self) -> bool:
        """Whether any of a user's threads may be left out."""
        return bool(self.metadata) or self.policy is not None or self.status is not None

    def in_order(self, rows: Iterable[ThreadRow], now: datetime) -> list[ThreadRow]:
        """Sort threads as asked; equal ones by their id."""

        def rank(row: ThreadRow) -> tuple[Any, ThreadId]:
            return row.status_at(now) if self.sort_by == "status" else getattr(row, self.sort_by), row.thread_id

        return sorted(rows, key=rank, reverse=self.descending)


def busy_error(row: ThreadRow, now: datetime) -> ThreadBusyError:
    """Give what is said of a thread that a run holds: also for how long, should that run have died."""
    lasts = timedelta(0) if row.lease is None else row.lease.until - now
    return ThreadBusyError(f"Another run holds thread {row.thread_id}.", lasts)


def checked_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Give metadata that may be kept.

    Raises
    ------
    InvalidInputError
        When it is too large, or no JSON.
    """
    size = len(compact_json(dict(metadata)).encode())
    if size > METADATA_MAX_BYTES:
        raise InvalidInputError(f"The metadata takes {size} bytes; it may take {METADATA_MAX_BYTES}.")
    return dict(metadata)


def merged_metadata(kept: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change metadata key by key. Many small changes may not add up to more than one: a run reads its row each second.

    Raises
    ------
    InvalidInputError
        As :func:`checked_metadata`.
    """
    return checked_metadata({**kept, **changes})


def _same_json(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    # In Python True equals 1; in JSON it does not.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSignal:
    """What a running invocation learns when it looks after its lease.

    Parameters
    ----------
    cancel_requested : bool
        Somebody pressed stop.
    rollback : bool
        What the run has stored is to be undone as well.
    followed : bool
        Somebody follows the run from elsewhere: keep its events as they come.
    deleting : bool
        The thread is being deleted: stop, store nothing more.
    """

    cancel_requested: bool = False
    rollback: bool = False
    followed: bool = False
    deleting: bool = False
