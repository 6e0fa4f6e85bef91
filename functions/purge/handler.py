"""The purge function's wiring; the only module of it that does something when imported."""

import os
from datetime import timedelta
from typing import Final

from functions.purge.app import handler_of
from shared.adapters import aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.checkpointer import DynamoCheckpoints
from shared.adapters.dynamodb.runs import DynamoRuns
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.dynamodb.traces import DynamoTraces
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.services.purge_thread import PurgeThread
from shared.settings import PurgeSettings

FUNCTION: Final = "purge"

settings = PurgeSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
service = PurgeThread(
    threads=DynamoThreads(aws.client("dynamodb"), settings.memory_table),
    summaries=DynamoSummaries(aws.client("dynamodb"), settings.memory_table),
    runs=DynamoRuns(aws.client("dynamodb"), settings.memory_table),
    traces=DynamoTraces(aws.client("dynamodb"), settings.memory_table),
    checkpoints=DynamoCheckpoints(aws.client("dynamodb"), settings.checkpoint_table),
    clock=SystemClock(),
    metrics=metrics,
    tombstone_for=timedelta(days=settings.tombstone_days),
    patience=timedelta(seconds=settings.purge_patience_seconds),
)
handler = observed(handler_of(service, metrics), metrics)
