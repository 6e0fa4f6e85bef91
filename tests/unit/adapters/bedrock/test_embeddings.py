import json
from io import BytesIO

import boto3
import pytest
from botocore.config import Config
from botocore.response import StreamingBody
from botocore.stub import Stubber

from shared.adapters.bedrock.attempts import Attempts
from shared.adapters.bedrock.embeddings import TitanEmbeddings
from shared.domain.errors import ModelError, ModelRefusedError, ModelThrottledError

TITAN = "amazon.titan-embed-text-v2:0"


class Waits:
    def __init__(self):
        self.waited = []

    async def pause(self, seconds):
        self.waited.append(seconds)

    def attempts(self):
        return Attempts(most=3, first_wait=1, pause=self.pause, spread=lambda _low, high: high)


@pytest.fixture
def waits():
    return Waits()


@pytest.fixture
def titan(waits):
    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-central-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield TitanEmbeddings(client, TITAN, dimension=3, attempts=waits.attempts()), stubber
        stubber.assert_no_pending_responses()


def answers(stubber, body, expected=None):
    raw = json.dumps(body).encode()
    stubber.add_response(
        "invoke_model",
        {"body": StreamingBody(BytesIO(raw), len(raw)), "contentType": "application/json"},
        expected,
    )


async def test_a_text_is_sent_as_titan_takes_it(titan):
    embedder, stubber = titan
    sent = {"inputText": "Grüner Tee", "dimensions": 3, "normalize": True}
    answers(
        stubber,
        {"embedding": [0.6, 0.8, 0.0], "inputTextTokenCount": 4},
        {
            "modelId": TITAN,
            "body": json.dumps(sent),
            "contentType": "application/json",
            "accept": "application/json",
        },
    )
    assert await embedder.embed("Grüner Tee") == [0.6, 0.8, 0.0]
    assert embedder.dimension == 3


async def test_a_throttled_text_is_tried_again_after_a_growing_wait(titan, waits):
    embedder, stubber = titan
    stubber.add_client_error("invoke_model", "ThrottlingException", http_status_code=429)
    stubber.add_client_error("invoke_model", "ServiceUnavailableException", http_status_code=503)
    answers(stubber, {"embedding": [1, 0, 0]})
    assert await embedder.embed("tea") == [1, 0, 0]
    assert waits.waited == [1, 2]


async def test_throttling_that_does_not_end_is_told(titan):
    embedder, stubber = titan
    for _ in range(3):
        stubber.add_client_error("invoke_model", "ThrottlingException", "of tea", http_status_code=429)
    with pytest.raises(ModelThrottledError) as raised:
        await embedder.embed("tea")
    assert "tea" not in str(raised.value)


async def test_a_refused_text_is_not_tried_again(titan, waits):
    embedder, stubber = titan
    stubber.add_client_error("invoke_model", "ValidationException", "Too many input tokens.", http_status_code=400)
    with pytest.raises(ModelRefusedError):
        await embedder.embed("tea " * 9_000)
    assert waits.waited == []


@pytest.mark.parametrize("body", [{}, [], {"embedding": None}, {"embedding": [1.0, 2.0]}])
async def test_an_answer_without_a_fitting_vector_is_none(titan, body):
    embedder, stubber = titan
    answers(stubber, body)
    with pytest.raises(ModelError, match="3 numbers"):
        await embedder.embed("tea")
