"""The handlers as Lambda imports them: wired from their variables, over mocked tables."""

import asyncio
import importlib
import json
import logging
import sys
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from botocore.awsrequest import AWSResponse
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from shared.adapters import aws
from shared.adapters.dynamodb.checkpointer import DynamoThreadMessages, checkpointer_for
from shared.adapters.dynamodb.documents import DynamoDocuments
from shared.adapters.dynamodb.exact_index import DynamoExactIndex
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.adapters.observability import OWN_PACKAGES
from shared.domain.ids import UserId
from shared.domain.kb.states import DocumentState
from shared.domain.threads import ThreadRow
from shared.settings import KbIngestSettings, MemoryApiSettings, PurgeSettings, SummarizeSettings
from tests.fakes.dynamodb import mocked_dynamodb
from tests.fakes.embedder import WordEmbedder
from tests.fakes.made_files import pdf

EVENTS = Path(__file__).parents[2] / "events"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SETTINGS = {
    "summarize": SummarizeSettings(
        memory_table="memory",
        checkpoint_table="checkpoints",
        summary_model="eu.anthropic.claude-haiku-4-5-20251001-v1:0",
        memory_thread_summary_keep_recent=3,
    ),
    "memory_api": MemoryApiSettings(
        memory_table="memory",
        purge_queue_url="https://sqs/purges",
        bucket="everthread-uploads",
        ingestion_queue_url="https://sqs/object-events",
    ),
    "purge": PurgeSettings(memory_table="memory", checkpoint_table="checkpoints"),
    "kb_ingest": KbIngestSettings(
        memory_table="memory",
        bucket="everthread-uploads",
        ingestion_queue_url="https://sqs/object-events",
        embedding_dimension=256,
    ),
}


def recorded(name):
    return json.loads((EVENTS / name).read_text())


@pytest.fixture
def dynamodb():
    with mocked_dynamodb() as client:
        yield client


@pytest.fixture
def handler_of(monkeypatch, dynamodb):
    """Import a function's handler with the variables that CDK would give it, and leave no trace of it."""
    root = logging.getLogger()
    handlers, levels = root.handlers, [(each, each.level) for each in (root, *map(logging.getLogger, OWN_PACKAGES))]
    for name, value in {
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }.items():
        monkeypatch.setenv(name, value)
    aws.client.cache_clear()
    aws.session.cache_clear()

    def import_handler(function):
        for name, value in SETTINGS[function].environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delitem(sys.modules, f"functions.{function}.handler", raising=False)
        # Mangum takes the loop it finds, or makes one that nobody closes.
        asyncio.set_event_loop(runner.get_loop())
        return importlib.import_module(f"functions.{function}.handler").handler

    with asyncio.Runner() as runner:
        yield import_handler
    asyncio.set_event_loop(None)
    root.handlers = handlers
    for logger, level in levels:
        logger.setLevel(level)
    aws.client.cache_clear()
    aws.session.cache_clear()


def thread(user, thread_id):
    return ThreadRow(user_id=user, thread_id=thread_id, created_at=NOW, updated_at=NOW, last_message_at=NOW)


async def converse(dynamodb, user, thread_id, turns):
    """Have a chat checkpointed as the chat function does."""

    def reply(state):
        number = len(state["messages"]) // 2 + 1
        return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")]}

    graph = StateGraph(MessagesState).add_node("chat", reply).add_edge(START, "chat").add_edge("chat", END)
    chat = graph.compile(checkpointer=checkpointer_for(dynamodb, "checkpoints", user))
    for number in range(1, turns + 1):
        message = HumanMessage(f"question {number}", id=f"h{number}")
        await chat.ainvoke({"messages": [message]}, {"configurable": {"thread_id": thread_id, "userId": user}})


def answer_converse(client, record):
    """Let Bedrock answer every call with a record; give the list of the calls."""
    calls = []

    def answer(params, **_):
        calls.append(json.loads(params["body"]))
        return AWSResponse("http://loopback", 200, {}, None), {
            "output": {"message": {"role": "assistant", "content": [{"text": json.dumps(record)}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }

    client.meta.events.register("before-call.bedrock-runtime.Converse", answer)
    return calls


def test_a_turn_end_becomes_a_summary_of_the_checkpointed_messages(handler_of, dynamodb, context):
    event = recorded("turn_ended.json")
    user, thread_id = event["detail"]["user_id"], event["detail"]["thread_id"]
    threads, summaries = DynamoThreads(dynamodb, "memory"), DynamoSummaries(dynamodb, "memory")
    asyncio.run(threads.create(thread(user, thread_id)))
    asyncio.run(converse(dynamodb, user, thread_id, 3))
    before = dynamodb.scan(TableName="checkpoints")["Items"]

    handle = handler_of("summarize")
    record = {"entries": [{"question": "What was asked?", "answer": "Three things.", "refs": ["#1-#3"]}]}
    calls = answer_converse(aws.client("bedrock-runtime"), record)
    assert handle(event, context) == {"outcomes": ["written"]}
    assert handle([event, event], context) == {"outcomes": ["quiet", "quiet"]}

    assert len(calls) == 1
    assert "question 3" in json.dumps(calls[0]["messages"])
    (entry,) = asyncio.run(summaries.of_thread(user, thread_id)).entries
    assert entry.message_ids == ["h1", "h2", "h3"]
    assert entry.summary.model_dump() == record
    # G21, HID-09: not a checkpoint more, not a byte other.
    assert dynamodb.scan(TableName="checkpoints")["Items"] == before


def test_a_profile_is_shown_over_http(handler_of, context):
    request = recorded("rest_api_request.json") | {"httpMethod": "GET", "path": "/api/memory/profile"}
    reply = handler_of("memory_api")(request, context)
    assert reply["statusCode"] == 200
    assert json.loads(reply["body"])["auth"] == {"name": "Lin", "email": "lin@example.com"}


def test_a_deleted_thread_is_purged_from_both_tables(handler_of, dynamodb, context):
    # DL03
    event = recorded("purge_messages.json")
    bodies = [json.loads(record["body"]) for record in event["Records"]]
    threads = DynamoThreads(dynamodb, "memory")
    for body in bodies:
        asyncio.run(threads.create(thread(body["userId"], body["threadId"])))
        asyncio.run(converse(dynamodb, body["userId"], body["threadId"], 2))
    asyncio.run(threads.mark_deleting(bodies[0]["userId"], bodies[0]["threadId"], now=NOW))

    assert handler_of("purge")(event, context) == {"batchItemFailures": []}

    messages = DynamoThreadMessages(dynamodb, "checkpoints")
    left = [len(asyncio.run(messages.load(body["userId"], body["threadId"]))) for body in bodies]
    assert left == [0, 4], "the second thread was never deleted"


def answer_embeddings(client):
    """Let Bedrock embed by counting words; give the list of the texts."""
    embedder, texts = WordEmbedder(256), []

    def answer(params, **_):
        texts.append(json.loads(params["body"])["inputText"])
        body = json.dumps({"embedding": embedder.of(texts[-1]), "inputTextTokenCount": 1}).encode()
        return AWSResponse("http://loopback", 200, {}, None), {"body": BytesIO(body)}

    client.meta.events.register("before-call.bedrock-runtime.InvokeModel", answer)
    return texts


def test_an_upload_becomes_searchable_and_a_deletion_takes_everything_back(handler_of, dynamodb, context):
    sqs_batch = recorded("object_events_batch.json")
    created, deleted = sqs_batch["Records"]
    key = json.loads(created["body"])["detail"]["object"]["key"]
    user = UserId(key.split("/")[1])
    handle = handler_of("kb_ingest")
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="everthread-uploads", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    s3.put_bucket_versioning(Bucket="everthread-uploads", VersioningConfiguration={"Status": "Enabled"})
    file = pdf("All about the heron in the river.", "All about the egret on the shore.")
    version = s3.put_object(Bucket="everthread-uploads", Key=key, Body=file)["VersionId"]
    created["body"] = created["body"].replace("IYV3p45BT0ac8hjHg1houSdS1a.Mro8e", version)
    texts = answer_embeddings(aws.client("bedrock-runtime"))

    assert handle({"Records": [created]}, context) == {"batchItemFailures": []}

    documents, index = DynamoDocuments(dynamodb, "memory"), DynamoExactIndex(dynamodb, "memory", dimension=256)
    (record,) = asyncio.run(documents.of_user(user))
    assert (record.state, record.pages, record.chunks) == (DocumentState.READY, 2, len(texts))
    hits = asyncio.run(index.query(user, text="egret", vector=WordEmbedder(256).of("egret"), k=5))
    assert "egret" in hits[0].chunk.text
    assert hits[0].chunk.place.version == record.live_version == 1

    handle({"Records": [deleted]}, context)
    items = dynamodb.scan(TableName="memory")["Items"]
    # What is left expires: that there was a document, and how its events are ordered.
    assert all("ttl" in item for item in items)
    assert not [item for item in items if "heron" in json.dumps(item, default=str)]


@pytest.mark.parametrize("function", SETTINGS)
def test_a_missing_variable_is_noticed_at_cold_start(handler_of, monkeypatch, function):
    # CF04
    handler_of(function)
    monkeypatch.delenv("BUCKET" if function == "kb_ingest" else "MEMORY_TABLE")
    monkeypatch.delitem(sys.modules, f"functions.{function}.handler")
    with pytest.raises(ValueError, match="validation error"):
        importlib.import_module(f"functions.{function}.handler")
