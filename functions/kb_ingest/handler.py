"""The ingestion function's wiring; the only module of it that does something when imported."""

import os
from datetime import timedelta
from typing import Final

from functions.kb_ingest.app import Ingestion, handler_of
from shared.adapters import aws
from shared.adapters.bedrock.embeddings import TitanEmbeddings
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.chunks import DynamoChunks
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.dynamodb.folders import DynamoFolders
from shared.adapters.dynamodb.ocr_texts import DynamoOcrTexts
from shared.adapters.dynamodb.pages import DynamoPages
from shared.adapters.dynamodb.spans import DynamoSpans
from shared.adapters.ingestion_queue import SqsIngestionQueue
from shared.adapters.knowledge_index import knowledge_index
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.adapters.parsing.limits import ParseLimits
from shared.adapters.parsing.parser import ChildProcessParser
from shared.adapters.s3.objects import S3Objects
from shared.adapters.textract import TextractOcr
from shared.graphs.ids import KB_AGENT
from shared.graphs.knowledge.nodes import Pipeline
from shared.graphs.knowledge.runner import IngestionRunner
from shared.graphs.registry import builder
from shared.services.complete_markdown import CompleteMarkdown
from shared.services.embed_document import EmbedDocument
from shared.services.embed_texts import EmbedTexts
from shared.services.ingest_documents import IngestDocuments
from shared.services.ingestion import Progress
from shared.services.ocr_document import OcrDocument
from shared.services.prepare_document import PrepareDocument
from shared.services.remove_documents import RemoveDocuments
from shared.settings import KbIngestSettings

FUNCTION: Final = "kb_ingest"

settings = KbIngestSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
clock = SystemClock()
dynamodb, table = aws.client("dynamodb"), settings.memory_table

records = DynamoDocuments(dynamodb, table)
chunks, pages = DynamoChunks(dynamodb, table), DynamoPages(dynamodb, table)
spans = DynamoSpans(dynamodb, table, keep=timedelta(days=settings.observability_retention_days))
texts = DynamoOcrTexts(dynamodb, table)
index = knowledge_index(settings, table)
objects = S3Objects(aws.client("s3"), settings.bucket)
queue = SqsIngestionQueue(aws.client("sqs"), settings.ingestion_queue_url)
parser = ChildProcessParser(ParseLimits(max_bytes=settings.document_max_bytes))
embedder = TitanEmbeddings(
    aws.client("bedrock-runtime"), settings.embedding_model, dimension=settings.embedding_dimension
)

removal = RemoveDocuments(
    records=records,
    folders=DynamoFolders(dynamodb, table),
    chunks=chunks,
    pages=pages,
    spans=spans,
    texts=texts,
    index=index,
    objects=objects,
    queue=queue,
    clock=clock,
)
progress = Progress(records, clock)
prepare = PrepareDocument(
    records=records,
    progress=progress,
    objects=objects,
    parser=parser,
    pages=pages,
    texts=texts,
    max_bytes=settings.document_max_bytes,
)
ocr = OcrDocument(
    progress=progress,
    prepare=prepare,
    parser=parser,
    pages=pages,
    texts=texts,
    ocr=TextractOcr(aws.client("textract")) if settings.ocr == "textract" else None,
)
pipeline = Pipeline(
    prepare=prepare,
    ocr=ocr,
    markdown=CompleteMarkdown(progress=progress, ocr=ocr),
    embed=EmbedDocument(
        progress=progress, ocr=ocr, chunks=chunks, pages=pages, index=index, embed=EmbedTexts(embedder)
    ),
)
ingestion = Ingestion(
    uploads=IngestDocuments(documents=records, removal=removal, clock=clock, metrics=metrics, bucket=settings.bucket),
    runner=IngestionRunner(
        graph=builder(KB_AGENT)(pipeline),
        records=records,
        spans=spans,
        queue=queue,
        removal=removal,
        clock=clock,
        metrics=metrics,
    ),
    removal=removal,
    metrics=metrics,
    deliveries=settings.deliveries,
)
handler = observed(handler_of(ingestion), metrics)
