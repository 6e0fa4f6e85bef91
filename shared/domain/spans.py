"""Spans: what happened in a run, step by step, for the one whose run it was. Facts and counts, never texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal

from shared.domain.ids import MessageId, RunId, ThreadId

CRASHED: Final = "CRASHED"
"""The error of a step that nobody ended."""

KEEP: Final = timedelta(days=30)
"""How long spans are kept where nothing else is said (row OB06)."""

_LONGEST_STEP: Final = timedelta(minutes=15)


class SpanKind(StrEnum):
    """What a span is of."""

    RUN = "run"
    """One invocation; the root of the others (row KB07)."""
    NODE = "node"
    PAGE = "page"
    CHUNKS = "chunks"
    """One batch of chunks."""
    MODEL = "model"
    """One call of a model."""
    TOOL = "tool"
    """One call of a tool."""


class SpanStatus(StrEnum):
    """How it went."""

    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step (row OB01).

    Parameters
    ----------
    id : str
        Unique within its run; a span that is written again takes its own place.
    run : str
        The run that it is part of.
    name : str
        What was done: a node's name, for example.
    kind : SpanKind
        What it is of.
    status : SpanStatus
        How it went.
    started_at : datetime
        When it began.
    ended_at : datetime or None
        When it ended.
    parent : str or None
        The span that it happened in.
    error : str
        The code of what went wrong.
    facts : mapping
        Counts, numbers, states.
    """

    id: str
    run: str
    name: str
    kind: SpanKind
    status: SpanStatus
    started_at: datetime
    ended_at: datetime | None = None
    parent: str | None = None
    error: str = ""
    facts: Mapping[str, str | int | float] = field(default_factory=dict[str, "str | int | float"])


TraceOrigin = Literal["chat", "summary"]
"""What a run of a thread was: a turn, or the summary pass that followed one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The spans of one run of a thread, kept as one.

    Parameters
    ----------
    run_id, thread_id : str
        Which run, and where.
    origin : {'chat', 'summary'}
        See :data:`TraceOrigin`; a summary pass has the run of the turn that it followed.
    message_id : str
        The human message of that turn; empty when there was none.
    spans : sequence of Span
        In the order in which they began, the root first.
    """

    run_id: RunId
    thread_id: ThreadId
    origin: TraceOrigin
    message_id: MessageId
    spans: Sequence[Span]

    @property
    def started_at(self) -> datetime:
        """When the run began."""
        return self.spans[0].started_at


def settled(span: Span, now: datetime) -> Span:
    """Give a span as it is to be read: what nobody ended, and cannot go on any more, has failed (row OB04).

    Parameters
    ----------
    span : Span
        As it is stored.
    now : datetime
        The present moment.
    """
    if span.status is SpanStatus.RUNNING and now - span.started_at > _LONGEST_STEP:
        return replace(span, status=SpanStatus.FAILED, error=CRASHED)
    return span
