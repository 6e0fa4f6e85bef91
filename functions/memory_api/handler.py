"""The memory API's wiring; the only module of it that does something when imported."""

import os
from typing import Final

from mangum import Mangum

from functions.memory_api.app import app_of
from shared.adapters import aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.dynamodb.folders import DynamoFolders
from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.spans import DynamoSpans
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.dynamodb.traces import DynamoTraces
from shared.adapters.ingestion_queue import SqsIngestionQueue
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.adapters.purge_queue import SqsPurgeQueue
from shared.adapters.s3.objects import S3Objects, S3UploadOffers
from shared.services.manage_documents import ManageDocuments
from shared.services.manage_folders import ManageFolders
from shared.services.manage_memory import ManageMemory
from shared.services.manage_threads import ManageThreads
from shared.services.read_traces import ReadTraces
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
records = DynamoDocuments(aws.client("dynamodb"), settings.memory_table)
folder_store = DynamoFolders(aws.client("dynamodb"), settings.memory_table)
documents = ManageDocuments(
    records=records,
    folders=folder_store,
    spans=DynamoSpans(aws.client("dynamodb"), settings.memory_table),
    objects=S3Objects(aws.client("s3"), settings.bucket),
    offers=S3UploadOffers(aws.client("s3"), settings.bucket),
    queue=SqsIngestionQueue(aws.client("sqs"), settings.ingestion_queue_url),
    clock=clock,
    max_bytes=settings.document_max_bytes,
)
app = app_of(
    memory,
    ManageThreads(threads, SqsPurgeQueue(aws.client("sqs"), settings.purge_queue_url), clock, metrics),
    ReadTraces(threads, DynamoTraces(aws.client("dynamodb"), settings.memory_table), clock),
    documents,
    ManageFolders(folders=folder_store, records=records, documents=documents, clock=clock),
)
handler = observed(Mangum(app, lifespan="off"), metrics)
