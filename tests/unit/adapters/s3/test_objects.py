"""The bucket of the uploads, on a mocked S3."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import EndpointConnectionError
from moto import mock_aws

from shared.adapters import aws
from shared.adapters.s3.objects import S3Objects, S3UploadOffers, S3UploadWriter
from shared.domain.errors import StoreError
from shared.domain.kb.failures import DocumentTooLargeError
from shared.domain.kb.ingestion import ObjectGoneError

BUCKET = "everthread-uploads"
KEY = "users/anna/uploads/7/c++ notes über 100%.pdf"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def client():
    with mock_aws():
        client = boto3.client(
            "s3",
            region_name="eu-central-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=aws._CONFIGS["s3"],
        )
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def objects(client):
    return S3Objects(client, BUCKET)


def put(client, data, key=KEY):
    return client.put_object(Bucket=BUCKET, Key=key, Body=data)["VersionId"]


async def test_an_object_is_read_in_the_version_that_was_asked_for(objects, client):
    first = put(client, b"first")
    put(client, b"second")
    assert await objects.read(KEY, first, max_bytes=10) == b"first"
    assert await objects.read(KEY, None, max_bytes=10) == b"second"


async def test_an_object_of_too_many_bytes_is_not_read(objects, client):
    put(client, b"12345")
    assert await objects.read(KEY, None, max_bytes=5) == b"12345"
    with pytest.raises(DocumentTooLargeError):
        await objects.read(KEY, None, max_bytes=4)


async def test_what_is_not_there_is_gone(objects, client):
    version = put(client, b"first")
    assert await objects.exists(KEY, None)
    assert await objects.exists(KEY, version)
    await objects.delete(KEY)
    assert not await objects.exists(KEY, None)
    assert await objects.read(KEY, version, max_bytes=10) == b"first", "versions outlive a deletion"
    for key, which in ((KEY, None), ("users/anna/uploads/none", None)):
        with pytest.raises(ObjectGoneError):
            await objects.read(key, which, max_bytes=10)
        assert not await objects.exists(key, which)


async def test_deleting_what_is_not_there_does_nothing(objects):
    await objects.delete(KEY)


async def test_a_purge_leaves_no_version_of_the_user_and_every_one_of_others(objects, client):
    put(client, b"first")
    put(client, b"second")
    put(client, b"other", "users/anna/exports/all.json")
    await objects.delete(KEY)
    put(client, b"theirs", "users/annabel/uploads/notes.pdf")
    await objects.purge("users/anna/")
    left = client.list_object_versions(Bucket=BUCKET)
    assert [version["Key"] for version in left["Versions"]] == ["users/annabel/uploads/notes.pdf"]
    assert "DeleteMarkers" not in left


async def test_a_refusal_and_a_silence_are_errors_that_name_no_key(objects, client):
    def refuse(**_):
        parsed = {"Error": {"Code": "SlowDown", "Message": KEY}, "ResponseMetadata": {"HTTPStatusCode": 503}}
        return AWSResponse("http://loopback", 503, {}, None), parsed

    def be_silent(**_):
        raise EndpointConnectionError(endpoint_url=f"https://s3/{KEY}")

    for answer in (refuse, be_silent):
        client.meta.events.register("before-call.s3", answer)
        for call in (
            objects.read(KEY, None, max_bytes=1),
            objects.exists(KEY, None),
            objects.delete(KEY),
            objects.purge("users/anna/"),
        ):
            with pytest.raises(StoreError) as error:
                await call
            assert "notes" not in str(error.value)
        client.meta.events.unregister("before-call.s3", answer)


async def test_what_a_purge_could_not_delete_is_an_error(objects, client):
    put(client, b"first")

    def refuse(**_):
        return AWSResponse("http://loopback", 200, {}, None), {"Errors": [{"Key": KEY, "Code": "AccessDenied"}]}

    client.meta.events.register("before-call.s3.DeleteObjects", refuse)
    with pytest.raises(StoreError, match="AccessDenied"):
        await objects.purge("users/anna/")


async def test_an_offer_is_for_one_object_of_one_size_and_type(client):
    ticket = await S3UploadOffers(client, BUCKET).offer(KEY, size=5, media_type="application/pdf", now=AT)
    url = urlsplit(ticket.url)
    assert url.netloc == f"{BUCKET}.s3.eu-central-1.amazonaws.com"
    assert url.path == "/users/anna/uploads/7/c%2B%2B%20notes%20%C3%BCber%20100%25.pdf"
    query = parse_qs(url.query)
    assert query["X-Amz-SignedHeaders"] == ["content-length;content-type;host"]
    assert query["X-Amz-Expires"] == ["900"]
    assert ticket.headers == {"Content-Type": "application/pdf", "Content-Length": "5"}
    assert ticket.expires_at.isoformat() == "2026-03-01T12:15:00+00:00"


async def test_a_file_is_written_once(client):
    made = []
    writer = S3UploadWriter(lambda: made.append(1) or client, BUCKET)
    assert made == []
    assert await writer.write(KEY, b"first", media_type="text/markdown") is True
    assert await writer.write(KEY, b"second", media_type="text/markdown") is False
    found = client.get_object(Bucket=BUCKET, Key=KEY)
    assert (found["Body"].read(), found["ContentType"]) == (b"first", "text/markdown")
    assert await writer.write(KEY, b"third", media_type="text/plain", over=True) is True
    assert client.get_object(Bucket=BUCKET, Key=KEY)["Body"].read() == b"third"


async def test_a_deleted_file_can_be_written_again(client):
    writer = S3UploadWriter(lambda: client, BUCKET)
    await writer.write(KEY, b"first", media_type="text/markdown")
    client.delete_object(Bucket=BUCKET, Key=KEY)
    assert await writer.write(KEY, b"again", media_type="text/markdown") is True


async def test_a_bucket_that_refuses_is_a_store_error_that_names_no_key(client):
    writer = S3UploadWriter(lambda: client, "no-such-bucket")
    with pytest.raises(StoreError) as refused:
        await writer.write(KEY, b"x", media_type="text/markdown")
    assert "notes" not in str(refused.value)
