"""Requests and replies checked against botocore's description of the service."""

import subprocess
import sys

import boto3
import numpy
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from shared.adapters.s3vectors.index import S3VectorsIndex
from shared.adapters.s3vectors.schema import NON_FILTERABLE, SEARCHABLE
from shared.domain.errors import StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id
from tests.fakes.s3vectors import ARN, VectorService, s3vectors

ANNA = UserId("anna")
TEA = DocumentId("d-00000000-0000-4000-8000-000000000001")
EAST = [1.0, 0.0, 0.0]
PLACE = '{"h":["Über"],"p":[3,4],"o":[30,39]}'
CHUNK = Chunk(
    id=chunk_id(TEA, 1, 7),
    text="tea",
    heading_path=("Über",),
    page_from=3,
    page_to=4,
    start=30,
    end=39,
)
METADATA = {"user_id": "anna", "document_id": TEA, "text": "tea", "place": PLACE}
KEY = f"anna {TEA}:1:7"


@pytest.fixture
def stubbed():
    client = boto3.client(
        "s3vectors",
        region_name="eu-central-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stubber:
        yield S3VectorsIndex(client, ARN, dimension=3), stubber
        stubber.assert_no_pending_responses()


async def test_a_put_carries_text_and_place_beside_what_filters_name(stubbed):
    index, stubber = stubbed
    stubber.add_response(
        "put_vectors",
        {},
        {"indexArn": ARN, "vectors": [{"key": KEY, "data": {"float32": EAST}, "metadata": METADATA}]},
    )
    await index.upsert(ANNA, [CHUNK], [EAST])


async def test_a_hybrid_query_is_one_call_that_filters_by_user(stubbed):
    """KB24."""
    index, stubber = stubbed
    stubber.add_response(
        "query_vectors",
        {
            "vectors": [
                {
                    "key": KEY,
                    "metadata": METADATA,
                    "scores": {
                        "fused": 0.03,
                        "vectorDistance": 0.2,
                        "bm25Scores": [{"metadataKey": "text", "score": 4.2}],
                    },
                }
            ],
            "distanceMetric": "cosine",
        },
        {
            "indexArn": ARN,
            "topK": 5,
            "filter": {"user_id": {"$eq": "anna"}},
            "queryVector": {"float32": EAST},
            "queryTexts": [{"text": "tea?", "metadataKey": "text"}],
            "returnMetadata": True,
            "returnScores": True,
            "returnDistance": True,
        },
    )
    (hit,) = await index.query(ANNA, vector=EAST, text="tea?", k=5)
    assert hit.chunk == CHUNK
    assert hit.score == 0.03


async def test_documents_narrow_the_filter(stubbed):
    index, stubber = stubbed
    stubber.add_response(
        "query_vectors",
        {"vectors": [{"key": KEY, "metadata": METADATA, "distance": 0.25}], "distanceMetric": "cosine"},
        {
            "indexArn": ARN,
            "topK": 100,
            "filter": {"$and": [{"user_id": {"$eq": "anna"}}, {"document_id": {"$in": [TEA]}}]},
            "queryVector": {"float32": EAST},
            "returnMetadata": True,
            "returnDistance": True,
        },
    )
    (hit,) = await index.query(ANNA, vector=EAST, k=5_000, documents=[TEA])
    assert hit.score == 0.75


async def test_a_query_by_words_needs_no_vector(stubbed):
    index, stubber = stubbed
    scores = {"bm25Scores": [{"metadataKey": "text", "score": 4.2}]}
    stubber.add_response(
        "query_vectors",
        {"vectors": [{"key": KEY, "metadata": METADATA, "scores": scores}], "distanceMetric": "cosine"},
        {
            "indexArn": ARN,
            "topK": 5,
            "filter": {"user_id": {"$eq": "anna"}},
            "queryTexts": [{"text": "tea", "metadataKey": "text"}],
            "returnMetadata": True,
            "returnScores": True,
        },
    )
    (hit,) = await index.query(ANNA, text="tea", k=5)
    assert hit.score == 4.2


async def test_vectors_go_out_as_plain_floats(stubbed):
    """JSON has no 32-bit floats, and a list of whole numbers is none of floats."""
    index, stubber = stubbed
    sent = {"float32": [1.0, 0.0, 0.5]}
    for vector in (numpy.asarray(sent["float32"], dtype=numpy.float32), [1, 0, 0.5]):
        stubber.add_response(
            "put_vectors", {}, {"indexArn": ARN, "vectors": [{"key": KEY, "data": sent, "metadata": METADATA}]}
        )
        await index.upsert(ANNA, [CHUNK], [vector])


@pytest.mark.parametrize(
    "code", ["TooManyRequestsException", "ServiceUnavailableException", "AccessDeniedException", "NotFoundException"]
)
async def test_what_the_service_refuses_is_no_absence(stubbed, code):
    index, stubber = stubbed
    for operation in ("put_vectors", "delete_vectors", "query_vectors"):
        stubber.add_client_error(operation, code, "something of tea", 429)
    for call in (index.upsert(ANNA, [CHUNK], [EAST]), index.delete(ANNA, [CHUNK.id]), index.query(ANNA, text="x", k=1)):
        with pytest.raises(StoreError, match=code) as raised:
            await call
        assert "tea" not in str(raised.value)


async def test_a_service_that_does_not_answer_is_no_absence(stubbed):
    index, _ = stubbed

    def unreachable(**_):
        raise EndpointConnectionError(endpoint_url="nowhere")

    index._client.query_vectors = unreachable
    with pytest.raises(StoreError, match="EndpointConnectionError"):
        await index.query(ANNA, vector=EAST, k=1)


@pytest.mark.parametrize("metadata", [METADATA | {"place": "?"}, {"user_id": "anna"}])
async def test_metadata_that_another_program_wrote_is_skipped(stubbed, metadata):
    index, stubber = stubbed
    vectors = [{"key": key, "metadata": each, "distance": 0} for key, each in (("anna x", metadata), (KEY, METADATA))]
    stubber.add_response("query_vectors", {"vectors": vectors, "distanceMetric": "cosine"})
    (hit,) = await index.query(ANNA, vector=EAST, k=2)
    assert hit.chunk == CHUNK


# Against the double behind the wire


@pytest.fixture
async def served():
    service = VectorService(3, non_filterable=NON_FILTERABLE, searchable=SEARCHABLE)
    async with s3vectors(service) as client:
        yield S3VectorsIndex(client, ARN, dimension=3), service


async def test_writes_and_deletes_go_in_calls_of_five_hundred(served):
    index, service = served
    chunks = [
        Chunk(id=chunk_id(TEA, 1, n), text="t", heading_path=(), page_from=1, page_to=1, start=0, end=1)
        for n in range(1_001)
    ]
    await index.upsert(ANNA, chunks, [EAST] * 1_001)
    await index.delete(ANNA, [chunk.id for chunk in chunks])
    assert [len(body.get("vectors", body.get("keys"))) for _, body in service.requests] == [500, 500, 1] * 2
    assert service.vectors == {}


async def test_a_purge_that_gets_nowhere_ends(served):
    index, service = served
    await index.upsert(ANNA, [CHUNK], [EAST])
    service.deletes_lag = True
    with pytest.raises(StoreError, match="still finds"):
        await index.purge(ANNA)


async def test_errors_of_the_wire_keep_their_code(served):
    index, service = served
    service.failures = [("TooManyRequestsException", 429)]
    with pytest.raises(StoreError, match="TooManyRequestsException"):
        await index.query(ANNA, vector=EAST, k=1)


def test_the_cloud_index_and_the_search_need_no_numpy():
    """Thirty megabytes that the chat function would carry for nothing."""
    script = (
        "import sys, shared.adapters.s3vectors.index, shared.services.search_knowledge; "
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-c", script], check=True)  # noqa: S603
