"""The ingestion function's wiring; the only module of it that does something when imported."""

import os
from typing import Final

from functions.kb_ingest.app import handler_of
from shared.adapters import aws
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.services.ingest_documents import IngestDocuments
from shared.settings import KbIngestSettings

FUNCTION: Final = "kb_ingest"

settings = KbIngestSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
service = IngestDocuments(
    documents=DynamoDocuments(aws.client("dynamodb"), settings.memory_table),
    clock=SystemClock(),
    metrics=metrics,
    bucket=settings.bucket,
)
handler = observed(handler_of(service, metrics), metrics)
