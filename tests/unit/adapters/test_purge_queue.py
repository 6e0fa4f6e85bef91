import json

import boto3
import pytest
from moto import mock_aws

from shared.adapters.purge_queue import SqsPurgeQueue
from shared.domain.errors import StoreError
from shared.domain.purges import ThreadPurge

THREAD = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def sqs():
    with mock_aws():
        yield boto3.client("sqs", region_name="eu-west-1")


async def test_the_message_is_what_the_consumer_reads(sqs):
    url = sqs.create_queue(QueueName="purges")["QueueUrl"]
    await SqsPurgeQueue(sqs, url).purge_thread("u1", THREAD)
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(message["Body"]) == {"version": 1, "userId": "u1", "threadId": THREAD}
    assert ThreadPurge.model_validate_json(message["Body"]) == ThreadPurge(user_id="u1", thread_id=THREAD)


async def test_a_queue_that_is_not_there_is_an_error(sqs):
    url = sqs.create_queue(QueueName="purges")["QueueUrl"]
    sqs.delete_queue(QueueUrl=url)
    with pytest.raises(StoreError):
        await SqsPurgeQueue(sqs, url).purge_thread("u1", THREAD)
