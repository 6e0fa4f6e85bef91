"""The adapter against botocore's own model of the wire: what is sent, what is read, what goes wrong."""

import json

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.chat_models import chat_model
from shared.adapters.bedrock.summarizer import INSTRUCTIONS, BedrockSummarizer
from shared.domain.errors import (
    ModelError,
    ModelForbiddenError,
    ModelRefusedError,
    ModelThrottledError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from shared.domain.summary import QuestionAnswer, SummaryOutput

WITH_SCHEMA = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
WITHOUT_SCHEMA = "eu.amazon.nova-lite-v1:0"
TRANSCRIPT = '{"id": "#1", "messages": [{"role": "user", "content": "Where do I live?"}]}'
RECORD = {"entries": [{"question": "Where does the user live?", "answer": "Ulm.", "refs": ["#1", "#2-#3"]}]}
EXPECTED = SummaryOutput(
    entries=[QuestionAnswer(question="Where does the user live?", answer="Ulm.", refs=["#1", "#2-#3"])]
)


def answer(*content, stop="end_turn"):
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def as_text(record):
    return answer({"text": json.dumps(record)})


def as_tool(record):
    use = {"toolUseId": "t-1", "name": "ThreadRecord", "input": record}
    return answer({"toolUse": use}, stop="tool_use")


@pytest.fixture
def client():
    return boto3.client(
        "bedrock-runtime", region_name="eu-west-1", aws_access_key_id="test", aws_secret_access_key="test"
    )


@pytest.fixture
def sent(client):
    """The requests, as they leave the SDK."""
    requests = []
    client.meta.events.register(
        "before-parameter-build.bedrock-runtime.Converse", lambda params, **_: requests.append(params)
    )
    return requests


@pytest.fixture
def wire(client):
    with Stubber(client) as stub:
        yield stub


def summarizer(client, model_id=WITH_SCHEMA):
    return BedrockSummarizer(chat_model(client, model_id, max_tokens=1024, attempts=Attempts(most=1)))


async def test_a_model_that_can_is_held_to_the_schema(client, sent, wire):
    # TP07
    wire.add_response("converse", as_text(RECORD))
    assert await summarizer(client).summarize(TRANSCRIPT) == EXPECTED
    (request,) = sent
    schema = json.loads(request["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])
    assert set(schema["properties"]) == {"entries"}
    assert "toolConfig" not in request


async def test_a_model_that_cannot_is_made_to_call_a_tool_of_the_schema(client, sent, wire):
    # TP07, AWS20
    wire.add_response("converse", as_tool(RECORD))
    assert await summarizer(client, WITHOUT_SCHEMA).summarize(TRANSCRIPT) == EXPECTED
    (request,) = sent
    assert request["toolConfig"]["toolChoice"] == {"tool": {"name": "ThreadRecord"}}
    schema = request["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]
    assert set(schema["properties"]["entries"]["items"]["properties"]) == {"question", "answer", "refs"}


async def test_the_transcript_is_the_one_user_message_and_the_rules_are_the_system_prompt(client, sent, wire):
    # TP17: the prompt's topics; HID-29: the transcript is data.
    wire.add_response("converse", as_text(RECORD))
    await summarizer(client).summarize(TRANSCRIPT)
    (request,) = sent
    assert request["messages"] == [{"role": "user", "content": [{"text": TRANSCRIPT}]}]
    (block,) = request["system"]
    assert block["text"] == INSTRUCTIONS
    for topic in ("refs", "range", "third person", "one topic each", "tool", "language", "greeting", "every id"):
        assert topic in INSTRUCTIONS


async def test_entries_with_empty_parts_are_left_out(client, wire):
    # TP11
    good = RECORD["entries"][0]
    bad = [{**good, "question": " "}, {**good, "answer": ""}, {**good, "refs": []}, {**good, "refs": [" "]}]
    wire.add_response("converse", as_text({"entries": [*bad, good]}))
    assert await summarizer(client).summarize(TRANSCRIPT) == EXPECTED


async def test_no_entries_is_an_answer(client, wire):
    # TP10: what to do about it is the service's business.
    wire.add_response("converse", as_text({"entries": []}))
    assert await summarizer(client).summarize(TRANSCRIPT) == SummaryOutput(entries=[])


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingException", ModelThrottledError),
        ("ServiceUnavailableException", ModelUnavailableError),
        ("ModelTimeoutException", ModelTimeoutError),
        ("ValidationException", ModelRefusedError),
        ("AccessDeniedException", ModelForbiddenError),
        ("InternalServerException", ModelUnavailableError),
    ],
)
async def test_refusals_are_told_apart(client, wire, code, kind):
    # TP09
    wire.add_client_error("converse", code, "the user's words")
    with pytest.raises(ModelError) as raised:
        await summarizer(client).summarize(TRANSCRIPT)
    assert type(raised.value) is kind
    assert "the user's words" not in str(raised.value)


async def test_a_silent_model_is_a_timeout(client):
    def hang(**_):
        raise ReadTimeoutError(endpoint_url="https://bedrock")

    client.meta.events.register("before-send.bedrock-runtime.Converse", hang)
    with pytest.raises(ModelTimeoutError):
        await summarizer(client).summarize(TRANSCRIPT)


@pytest.mark.parametrize(
    ("model_id", "reply"),
    [
        (WITH_SCHEMA, answer({"text": "Sure! Here is your summary."})),
        (WITH_SCHEMA, answer({"text": '{"entries": [{"question": "cut off'}, stop="max_tokens")),
        (WITHOUT_SCHEMA, answer({"text": "I would rather not."})),
        (WITHOUT_SCHEMA, as_tool({"entries": "none"})),
    ],
)
async def test_an_answer_in_another_form_is_a_model_error(client, wire, model_id, reply):
    wire.add_response("converse", reply)
    with pytest.raises(ModelError):
        await summarizer(client, model_id).summarize(TRANSCRIPT)
