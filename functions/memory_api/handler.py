"""The memory API's wiring; the only module of it that does something when imported."""

import os
from typing import Final

from mangum import Mangum

from functions.memory_api.app import app_of
from shared.adapters import aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.adapters.purge_queue import SqsPurgeQueue
from shared.services.manage_memory import ManageMemory
from shared.services.manage_threads import ManageThreads
from shared.settings import MemoryApiSettings

FUNCTION: Final = "memory_api"

settings = MemoryApiSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
clock = SystemClock()
threads = DynamoThreads(aws.client("dynamodb"), settings.memory_table)
memory = ManageMemory(
    profiles=DynamoProfiles(aws.client("dynamodb"), settings.memory_table),
    summaries=DynamoSummaries(aws.client("dynamodb"), settings.memory_table),
    threads=threads,
    clock=clock,
    metrics=metrics,
)
app = app_of(memory, ManageThreads(threads, SqsPurgeQueue(aws.client("sqs"), settings.purge_queue_url), clock, metrics))
handler = observed(Mangum(app, lifespan="off"), metrics)
