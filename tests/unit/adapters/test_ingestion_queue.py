import json

import boto3
import pytest
from moto import mock_aws

from shared.adapters.ingestion_queue import SqsIngestionQueue
from shared.domain.documents import document_id_for
from shared.domain.errors import StoreError
from shared.domain.ids import UserId
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep, UserRemoval, message_of

ANNA = UserId("anna")
DOCUMENT = document_id_for(ANNA, "a")


@pytest.fixture
def sqs():
    with mock_aws():
        yield boto3.client(
            "sqs", region_name="eu-central-1", aws_access_key_id="testing", aws_secret_access_key="testing"
        )


async def test_what_is_queued_is_what_the_consumer_reads(sqs):
    url = sqs.create_queue(QueueName="ingestion")["QueueUrl"]
    queue = SqsIngestionQueue(sqs, url)
    step = IngestionStep(user_id=ANNA, document_id=DOCUMENT, run="r1", stalls=3)
    removal = DocumentRemoval(user_id=ANNA, document_id=DOCUMENT, run="r1", key="users/anna/uploads/a")
    await queue.take_on(step)
    await queue.remove(removal)
    user = UserRemoval(user_id=ANNA)
    await queue.remove_user(user)
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [message_of(json.loads(message["Body"])) for message in messages] == [step, removal, user]


async def test_a_step_may_be_put_off(sqs):
    url = sqs.create_queue(QueueName="ingestion")["QueueUrl"]
    step = IngestionStep(user_id=ANNA, document_id=DOCUMENT, run="r1")
    await SqsIngestionQueue(sqs, url).take_on(step, after_seconds=900)
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


async def test_a_queue_that_does_not_take_it_is_an_error(sqs):
    queue = SqsIngestionQueue(sqs, "https://sqs.eu-central-1.amazonaws.com/123456789012/missing")
    with pytest.raises(StoreError):
        await queue.take_on(IngestionStep(user_id=ANNA, document_id=DOCUMENT, run="r1"))
