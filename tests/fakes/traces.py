"""Traces, kept in memory."""

from collections.abc import Sequence
from datetime import timedelta

from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.spans import KEEP, Trace, TraceOrigin
from tests.fakes.clock import FixedClock
from tests.fakes.faults import Faults


class InMemoryTraces(Faults):
    """Implements ``Traces``; ``kept`` holds traces by user, thread, run and origin."""

    def __init__(self, clock: FixedClock | None = None, keep: timedelta = KEEP) -> None:
        super().__init__()
        self._clock = clock or FixedClock()
        self._keep = keep
        self.kept: dict[tuple[UserId, ThreadId, RunId, TraceOrigin], Trace] = {}

    async def save(self, user: UserId, trace: Trace) -> None:
        self._called("save")
        self.kept[user, trace.thread_id, trace.run_id, trace.origin] = trace

    async def of_thread(self, user: UserId, thread: ThreadId) -> Sequence[Trace]:
        self._called("of_thread")
        living = [
            trace
            for key, trace in self.kept.items()
            if key[:2] == (user, thread) and trace.started_at + self._keep > self._clock.now()
        ]
        return sorted(living, key=lambda trace: trace.started_at)

    async def forget(self, user: UserId, thread: ThreadId) -> None:
        self._called("forget")
        self.kept = {key: trace for key, trace in self.kept.items() if key[:2] != (user, thread)}
