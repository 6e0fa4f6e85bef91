"""Runs as the registry knows them, and the events of a run as they are kept for those who come back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from shared.domain.ids import RunId, ThreadId

RunStatus = Literal["running", "success", "error", "timeout", "interrupted"]
"""``interrupted``: a person is asked, or the run was stopped. ``timeout``: its process had to end."""

MultitaskStrategy = Literal["reject", "enqueue", "interrupt", "rollback"]
"""What to do while another run holds the thread: refuse; wait; stop it, then wait; undo it, then go on."""

PAGE_MAX_BYTES: Final = 300 * 1024
"""What the body of one page may take, so that the page is one item of the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run.

    Parameters
    ----------
    run_id, thread_id : str
        Which, and where.
    created_at, updated_at : datetime
        When it got its thread, and when it ended.
    status : str
        See :data:`RunStatus`.
    strategy : str
        What it was to do about another run of its thread.
    metadata : mapping
        The client's own.
    """

    run_id: RunId
    thread_id: ThreadId
    created_at: datetime
    updated_at: datetime
    status: RunStatus = "running"
    strategy: MultitaskStrategy = "enqueue"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Events of a run in the order in which they were sent, packed.

    Parameters
    ----------
    run_id, thread_id : str
        Of which run.
    first, last : int
        The numbers of the first and the last event in it.
    body : bytes
        The events, for whoever packed them.
    base : str or None
        The checkpoint that the run began with, which the events may refer to.
    """

    run_id: RunId
    thread_id: ThreadId
    first: int
    last: int
    body: bytes
    base: str | None = None
