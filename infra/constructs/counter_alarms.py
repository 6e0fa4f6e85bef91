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
    WatchedCounter("chat", counters.RUN_FAILED, 5, "Runs ended with an error that users saw."),
    WatchedCounter("chat", counters.TURN_EVENT_FAILED, 1, "A turn ended unannounced; the bus may be out of reach."),
    WatchedCounter("chat", counters.SHORTEN_FAILED, 5, "Threads with a running summary could not be made short."),
    WatchedCounter("chat", counters.TOOL_FAILED, 5, "Tools raised what nobody expected; the assistant said so."),
    WatchedCounter("chat", counters.ROUTER_FAILED, 20, "No agent could be chosen; the chat agent took the turns."),
    WatchedCounter("chat", counters.LEASE_LOST, 5, "Runs were overtaken by others of their threads, answers lost."),
    WatchedCounter("chat", counters.SEARCH_DEGRADED, 5, "Documents were searched by words alone, or not at all."),
    WatchedCounter(
        "summarize", counters.TOUCH_FAILED, 5, "Threads stand in their user's list where they stood before."
    ),
    WatchedCounter("summarize", counters.SUMMARY_EXHAUSTED, 1, "A window was given up after all its attempts."),
    WatchedCounter("summarize", counters.CORRUPT_SUMMARIES, 1, "A stored summary cannot be read."),
    WatchedCounter("chat", counters.PURGE_NOT_QUEUED, 1, "A deleted thread waits for a purge that nobody asked for."),
    WatchedCounter("memory_api", counters.PURGE_NOT_QUEUED, 1, "A deleted thread waits for a purge nobody asked for."),
    WatchedCounter("purge", counters.PURGE_REFUSED, 1, "A purge was asked for of a thread that nobody deleted."),
    WatchedCounter("kb_ingest", counters.DOCUMENT_GIVEN_UP, 1, "A document was given up after all its attempts."),
    WatchedCounter("chat", counters.SPANS_LOST, 5, "What happened in runs could not be noted."),
    WatchedCounter("summarize", counters.SPANS_LOST, 5, "What happened in summary passes could not be noted."),
    WatchedCounter("kb_ingest", counters.SPANS_LOST, 5, "What happened to documents could not be noted."),
    WatchedCounter("memory_api", counters.MEMORY_DEGRADED, 5, "Memory pages were shown with a part missing."),
)

UNWATCHED: Final[Mapping[str, str]] = {
    counters.SUMMARY_WRITTEN: "went well",
    counters.SUMMARY_FAILED: "tried again; giving up has an alarm",
    counters.SUMMARY_LOST: "another pass, or a deletion, was first",
    counters.SUMMARY_LOW_COVERAGE: "how good summaries are, read in a chart",
    counters.SUMMARY_REFS_DROPPED: "how good summaries are, read in a chart",
    counters.SUMMARY_TRANSCRIPT_CUT: "a matter of settings; the messages themselves stay",
    counters.EVENT_AHEAD: "tried again; giving up is a dead letter",
    counters.EVENT_MALFORMED: "ends as a dead letter, which has an alarm",
    counters.THREAD_PURGED: "went well",
    counters.PURGE_WAITED: "tried again; giving up is a dead letter",
    counters.UPLOAD_RECORDED: "went well",
    counters.UPLOAD_REMOVED: "went well",
    counters.UPLOAD_EVENT_LATE: "events come in any order",
    counters.UPLOAD_EVENT_IGNORED: "not about an upload",
    counters.DOCUMENT_READY: "went well",
    counters.DOCUMENT_ENDED: "the file's own fault, of which its owner was told",
    counters.INGESTION_STALE: "a newer version is on its way",
    counters.INGESTION_WAITS: "goes on by itself; the age of the queue has an alarm",
    counters.RENAME_FAILED: "the next turn tries again, and has a preview meanwhile",
    counters.RUN_CANCELLED: "users stop answers",
    counters.ANSWER_REPLAYED: "clients ask twice",
    counters.SEARCH_HITS_DROPPED: "deletes of the index lag behind, by design",
}
"""The other counters, with the reason why nobody is told of each."""


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
