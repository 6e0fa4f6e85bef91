"""What happened in runs, as it is sent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from pydantic import Field

from functions.memory_api.models import Body
from shared.domain.spans import SpanKind, SpanStatus, Trace, TraceOrigin


class SpanBody(Body):
    """One step of a run."""

    id: str
    parent: str | None
    name: str
    kind: SpanKind
    status: SpanStatus
    started_at: datetime
    ended_at: datetime | None
    error: str
    facts: dict[str, Any]


class TraceBody(Body):
    """One run of a thread: a turn, or the summary pass that followed one."""

    run_id: str
    origin: TraceOrigin
    message_id: str = Field(description="The human message that it answers, or of the turn that it followed.")
    spans: list[SpanBody] = Field(description="By the time at which they began; the first is the run's own.")


class TracesBody(Body):
    """What happened in the runs of a thread."""

    runs: list[TraceBody] = Field(description="The oldest first.")

    @classmethod
    def of(cls, traces: Sequence[Trace]) -> Self:
        """Make the list."""
        return cls(runs=[TraceBody.model_validate(trace) for trace in traces])
