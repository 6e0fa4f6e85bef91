"""The chat function's wiring; the only module of it that does something when imported."""

import os
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from functions.chat.app import app_of
from functions.chat.wiring import Chat
from shared.adapters import aws
from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.embeddings import TitanEmbeddings
from shared.adapters.bedrock.model_input import arrangement
from shared.adapters.clock import SystemClock
from shared.adapters.dynamodb.checkpointer import checkpointer_for
from shared.adapters.dynamodb.chunks import DynamoChunks
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.dynamodb.folders import DynamoFolders
from shared.adapters.dynamodb.pages import DynamoPages
from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.runs import DynamoRuns
from shared.adapters.dynamodb.store import DynamoStore
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.dynamodb.traces import DynamoTraces
from shared.adapters.events import EventBridgeTurnEvents
from shared.adapters.knowledge_index import DeferredIndex, knowledge_index
from shared.adapters.observability import EmfMetrics, configure_logging, observed
from shared.adapters.purge_queue import SqsPurgeQueue
from shared.adapters.routes import TransferMode, find_route
from shared.adapters.runtime.asgi import AsgiRunner
from shared.adapters.s3.objects import S3UploadWriter
from shared.graphs.agent import AgentDeps, AgentModels, Knowledge
from shared.graphs.agent.topology import TRIGGER_BACKGROUND_AGENT, build
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.runner import GraphRunner, RunTiming
from shared.services.await_documents import AwaitDocuments
from shared.services.browse_documents import BrowseDocuments
from shared.services.copy_thread import CopyThread
from shared.services.follow_run import FollowRun
from shared.services.manage_folders import ReadFolders
from shared.services.manage_runs import ManageRuns
from shared.services.manage_threads import ManageThreads
from shared.services.recall import Recall
from shared.services.record_spans import KeepTraces
from shared.services.remember import Remember
from shared.services.search_knowledge import SearchKnowledge, SearchLimits
from shared.services.show_documents import ShowDocuments
from shared.services.take_in_files import TakeInFiles
from shared.settings import ChatSettings

FUNCTION: Final = "chat"


def streams(event: Mapping[str, Any]) -> bool:
    """Say whether API Gateway expects the reply to an event as a stream."""
    method = event["httpMethod"]
    route = find_route(method, event.get("resource") or "") or find_route(method, event["path"])
    return route is not None and route.mode is TransferMode.STREAM


settings = ChatSettings.from_environment(os.environ)
configure_logging(FUNCTION, settings)
metrics = EmfMetrics(settings.metrics_namespace, FUNCTION)
clock = SystemClock()
dynamodb = aws.client("dynamodb")
bedrock = aws.client("bedrock-runtime")
threads = DynamoThreads(dynamodb, settings.memory_table)
runs = DynamoRuns(dynamodb, settings.memory_table)
profiles = DynamoProfiles(dynamodb, settings.memory_table)
keep = settings.keep_traces_for
traces = None if keep is None else KeepTraces(DynamoTraces(dynamodb, settings.memory_table, keep=keep), clock, metrics)
recall = Recall(profiles, DynamoSummaries(dynamodb, settings.memory_table), metrics)
documents = DynamoDocuments(dynamodb, settings.memory_table)
knowledge = Knowledge(
    search=SearchKnowledge(
        index=DeferredIndex(
            partial(knowledge_index, settings, settings.memory_table), dimension=settings.embedding_dimension
        ),
        embedder=TitanEmbeddings(bedrock, settings.embedding_model, dimension=settings.embedding_dimension),
        documents=documents,
        chunks=DynamoChunks(dynamodb, settings.memory_table),
        metrics=metrics,
        limits=SearchLimits(token_budget=settings.search_token_budget),
    ),
    documents=BrowseDocuments(documents),
    folders=ReadFolders(DynamoFolders(dynamodb, settings.memory_table), documents),
    files=TakeInFiles(
        records=documents,
        documents=documents,
        uploads=S3UploadWriter(partial(aws.client, "s3"), settings.bucket),
        clock=clock,
        max_bytes=settings.document_max_bytes,
    ),
    wait=AwaitDocuments(documents, seconds=settings.document_wait_seconds),
    show=ShowDocuments(
        documents, DynamoPages(dynamodb, settings.memory_table), token_budget=settings.document_token_budget
    ),
)
graph = build(
    AgentDeps(
        models=AgentModels(
            chat=chat_model(bedrock, settings.chat_model, max_tokens=settings.model_max_tokens),
            fast=chat_model(bedrock, settings.fast_model, max_tokens=settings.fast_max_tokens),
            arrange=arrangement(settings.chat_model),
        ),
        recall=recall,
        remember=Remember(profiles, clock, settings.memory_profile_max_bytes),
        knowledge=knowledge,
        threads=threads,
        metrics=metrics,
        settings=settings,
    )
)
runner = GraphRunner(
    graph,
    checkpointers=partial(checkpointer_for, dynamodb, settings.checkpoint_table),
    store=DynamoStore(dynamodb, settings.memory_table),
    recall=recall,
    ports=RunPorts(
        threads=threads,
        runs=runs,
        turn_events=EventBridgeTurnEvents(aws.client("events"), settings.event_bus),
        clock=clock,
        metrics=metrics,
        turn_end=TRIGGER_BACKGROUND_AGENT,
        traces=traces,
    ),
    timing=RunTiming(
        hold=timedelta(seconds=settings.lease_seconds),
        renew_every=timedelta(seconds=settings.lease_renew_seconds),
        wait=timedelta(seconds=settings.enqueue_seconds),
    ),
    take_in=knowledge.files.take_in,
)
purge_queue = SqsPurgeQueue(aws.client("sqs"), settings.purge_queue_url)
manage_threads = ManageThreads(threads, purge_queue, clock, metrics)
chat = Chat(
    threads=manage_threads,
    copies=CopyThread(threads, runner, manage_threads, clock),
    runs=ManageRuns(threads, runs, clock),
    follow=FollowRun(threads, runs, clock),
    runner=runner,
    clock=clock,
    heartbeat_seconds=settings.heartbeat_seconds,
)
gateway = AsgiRunner(app_of(chat, max_body_bytes=settings.max_body_bytes), streams=streams)
gateway.start()
handler = observed(gateway.handle, metrics)
