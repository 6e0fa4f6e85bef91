"""The summary function's wiring; the only module of it that does something when imported."""

import os
from typing import Final

from functions.summarize.app import handler_of
from shared.adapters import aws
from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.summarizer import BedrockSummarizer
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.checkpointer import DynamoThreadMessages
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.dynamodb.pages import DynamoPages
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.dynamodb.traces import DynamoTraces
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.graphs.background.graph import build
from shared.services.record_spans import KeepTraces
from shared.services.show_documents import ShowDocuments
from shared.services.summarize_thread import PassRules, SummarizeThread
from shared.settings import SummarizeSettings

FUNCTION: Final = "summarize"

settings = SummarizeSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
threads = DynamoThreads(aws.client("dynamodb"), settings.memory_table)
model = chat_model(
    aws.client("bedrock-runtime"),
    settings.summary_model,
    max_tokens=settings.summary_max_tokens,
    attempts=Attempts(patience=settings.model_patience_seconds),
)
service = SummarizeThread(
    threads=threads,
    messages=DynamoThreadMessages(aws.client("dynamodb"), settings.checkpoint_table),
    summaries=DynamoSummaries(aws.client("dynamodb"), settings.memory_table),
    summarizer=BedrockSummarizer(model),
    clock=SystemClock(),
    metrics=metrics,
    rules=PassRules.of(settings),
    documents=ShowDocuments(
        DynamoDocuments(aws.client("dynamodb"), settings.memory_table),
        DynamoPages(aws.client("dynamodb"), settings.memory_table),
        token_budget=settings.document_token_budget,
    ),
)
keep = settings.keep_traces_for
rows = None if keep is None else DynamoTraces(aws.client("dynamodb"), settings.memory_table, keep=keep)
traces = None if rows is None else KeepTraces(rows, SystemClock(), metrics)
graph = build(threads=threads, service=service, metrics=metrics)
handler = observed(handler_of(graph, metrics, threads=threads, traces=traces), metrics)
