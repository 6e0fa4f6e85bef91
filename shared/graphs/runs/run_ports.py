"""What runs work with."""

from dataclasses import dataclass

from shared.ports import Clock, Metrics, Runs, Threads, TurnEvents
from shared.services.record_spans import KeepTraces


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What every run works with.

    Parameters
    ----------
    threads, runs, turn_events, clock, metrics
        The ports.
    turn_end : str
        The graph's last node. A partial answer is stored as that node's, so that nothing is left to do after it.
    traces : KeepTraces or None
        Keeps what happened in runs; ``None`` for nothing to be noted.
    """

    threads: Threads
    runs: Runs
    turn_events: TurnEvents
    clock: Clock
    metrics: Metrics
    turn_end: str
    traces: KeepTraces | None = None
