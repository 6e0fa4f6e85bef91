"""Alarms on what the functions count themselves: things that went wrong and made no invocation fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.constructs.alarms import Alarms
from shared.domain import counters
from shared.settings import FunctionSettings


@dataclass(frozen=True, slots=True)
class WatchedCounter:
    """A counter that somebody should hear of.

    Parameters
    ----------
    function : str
        Who counts.
    counter : str
        Of :mod:`shared.domain.counters`.
    threshold : int
        How many within five minutes are too many.
    reason : str
        What has happened, for the person who gets the alarm.
    """

    function: str
    counter: str
    threshold: int
    reason: str


WATCHED: Final = (
    WatchedCounter("chat", counters.RECALL_DEGRADED, 5, "Turns were answered without memory that could not be read."),
    WatchedCounter("chat", counters.MEMORY_SAVE_FAILED, 5, "The assistant could not save what it was told."),
    WatchedCounter("chat", counters.SEARCH_DEGRADED, 5, "Searches of documents went by words alone, or not at all."),
    WatchedCounter("chat", counters.RUN_FAILED, 5, "Runs ended with an error that users saw."),
    WatchedCounter("chat", counters.TURN_EVENT_FAILED, 1, "A turn ended unannounced; the bus may be out of reach."),
    WatchedCounter("summarize", counters.SUMMARY_EXHAUSTED, 1, "A window was given up after all its attempts."),
    WatchedCounter("summarize", counters.CORRUPT_SUMMARIES, 1, "A stored summary cannot be read."),
    WatchedCounter("chat", counters.PURGE_NOT_QUEUED, 1, "A deleted thread waits for a purge that nobody asked for."),
    WatchedCounter("memory_api", counters.PURGE_NOT_QUEUED, 1, "A deleted thread waits for a purge nobody asked for."),
    WatchedCounter("purge", counters.PURGE_REFUSED, 1, "A purge was asked for of a thread that nobody deleted."),
    WatchedCounter("kb_ingest", counters.DOCUMENT_GIVEN_UP, 1, "A document was given up after all its attempts."),
    WatchedCounter("memory_api", counters.MEMORY_DEGRADED, 5, "Memory pages were shown with a part missing."),
)


def watch_counters(scope: Construct, alarms: Alarms, settings: Mapping[str, FunctionSettings]) -> None:
    """Raise an alarm for each of :data:`WATCHED`.

    Parameters
    ----------
    scope : Construct
        The stack.
    alarms : Alarms
        Where the alarms go.
    settings : Mapping of str to FunctionSettings
        What each function is told; decides the namespace it counts in.
    """
    for watched in WATCHED:
        alarms.add(
            scope,
            f"{watched.counter}In{watched.function.title().replace('_', '')}",
            metric=cloudwatch.Metric(
                namespace=settings[watched.function].metrics_namespace,
                metric_name=watched.counter,
                dimensions_map={"service": watched.function},
                statistic=cloudwatch.Stats.SUM,
                period=Duration.minutes(5),
            ),
            threshold=watched.threshold,
            reason=watched.reason,
        )
