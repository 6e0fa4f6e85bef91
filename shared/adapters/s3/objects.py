"""The uploads: read by version, deleted, and offered to be written."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.domain.errors import StoreError
from shared.domain.kb.failures import DocumentTooLargeError
from shared.domain.kb.ingestion import ObjectGoneError
from shared.kb_ports import UploadTicket

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

OFFER_FOR: Final = timedelta(minutes=15)

_GONE: Final = frozenset({"NoSuchKey", "NoSuchVersion", "404", "NotFound", "MethodNotAllowed", "405"})
"""The last two: what is there is a delete marker."""


_THERE: Final = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict", "409"})
"""The last two: somebody else is writing it at this moment; keys are made so that it is the same object."""


class S3Objects:
    """The port ``ObjectStore`` on one bucket.

    Parameters
    ----------
    client : S3Client
        A low-level client.
    bucket : str
        The bucket of the uploads.
    """

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    async def read(self, key: str, version: str | None, *, max_bytes: int) -> bytes:
        """Read an object, as the event that spoke of it says, and not a byte more than may be."""
        return await in_thread(self._read, key, version, max_bytes)

    async def exists(self, key: str, version: str | None) -> bool:
        """Ask for the object's head."""
        return await in_thread(self._exists, key, version)

    async def delete(self, key: str) -> None:
        """Delete the object; in a versioned bucket its versions stay until the bucket's own rules remove them."""
        await in_thread(self._delete, key)

    async def purge(self, prefix: str) -> None:
        """Delete every version, and every marker of a deletion, a thousand a call."""
        await in_thread(self._purge, prefix)

    def _read(self, key: str, version: str | None, max_bytes: int) -> bytes:
        try:
            reply = self._client.get_object(**self._object(key, version))
            if reply["ContentLength"] > max_bytes:
                reply["Body"].close()
                raise DocumentTooLargeError(_too_large(max_bytes))
            with closing(reply["Body"]) as body:
                return body.read()
        except ClientError as error:
            raise _meant(error) from error
        except BotoCoreError as error:
            raise _silent(error) from error

    def _exists(self, key: str, version: str | None) -> bool:
        try:
            self._client.head_object(**self._object(key, version))
        except ClientError as error:
            meant = _meant(error)
            if isinstance(meant, ObjectGoneError):
                return False
            raise meant from error
        except BotoCoreError as error:
            raise _silent(error) from error
        return True

    def _delete(self, key: str) -> None:
        try:
            self._client.delete_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            raise _meant(error) from error
        except BotoCoreError as error:
            raise _silent(error) from error

    def _purge(self, prefix: str) -> None:
        try:
            pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=prefix)
            for page in pages:
                if doomed := list(_versions(page)):
                    reply = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": doomed, "Quiet": True})
                    if failed := reply.get("Errors", []):
                        raise StoreError(f"S3 did not delete {len(failed)} objects: {failed[0].get('Code', '')}.")
        except ClientError as error:
            raise _meant(error) from error
        except BotoCoreError as error:
            raise _silent(error) from error

    def _object(self, key: str, version: str | None) -> Any:  # noqa: ANN401 - arguments of several calls
        named = {"Bucket": self._bucket, "Key": key}
        return named if version is None else named | {"VersionId": version}


class S3UploadOffers:
    """The port ``UploadOffers``: presigned requests.

    Parameters
    ----------
    client : S3Client
        A low-level client; its role has to be allowed to put objects where it offers to.
    bucket : str
        The bucket of the uploads.
    """

    def __init__(self, client: "S3Client", bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    async def offer(self, key: str, *, size: int, media_type: str, now: datetime) -> UploadTicket:
        """Sign a ``PUT``; nothing is sent, so this takes no time."""
        try:
            url = self._client.generate_presigned_url(
                "put_object",
                Params={"Bucket": self._bucket, "Key": key, "ContentType": media_type, "ContentLength": size},
                ExpiresIn=int(OFFER_FOR.total_seconds()),
            )
        except BotoCoreError as error:
            raise _silent(error) from error
        headers = {"Content-Type": media_type, "Content-Length": str(size)}
        return UploadTicket(url=url, headers=headers, expires_at=now + OFFER_FOR)


class S3UploadWriter:
    """The port ``UploadWriter``: conditional puts, which need no leave to read.

    Parameters
    ----------
    client_of : callable
        Gives a low-level client, when the first file comes: most processes never see one.
    bucket : str
        The bucket of the uploads.
    """

    def __init__(self, client_of: "Callable[[], S3Client]", bucket: str) -> None:
        self._client_of = client_of
        self._bucket = bucket

    async def write(self, key: str, data: bytes, *, media_type: str, over: bool = False) -> bool:
        """Put the object, under the condition that there is none unless it is to be written over."""
        return await in_thread(self._write, key, data, media_type, over)

    def _write(self, key: str, data: bytes, media_type: str, over: bool) -> bool:
        condition: Any = {} if over else {"IfNoneMatch": "*"}
        try:
            self._client_of().put_object(Bucket=self._bucket, Key=key, Body=data, ContentType=media_type, **condition)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code", "") in _THERE:
                return False
            raise _meant(error) from error
        except BotoCoreError as error:
            raise _silent(error) from error
        return True


def _versions(page: Mapping[str, Any]) -> Iterator[Any]:
    for version in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
        yield {"Key": version["Key"], "VersionId": version["VersionId"]}


def _meant(error: ClientError) -> ObjectGoneError | StoreError:
    # The code only: the service's messages quote keys, and people write into file names what is nobody's business.
    code = error.response.get("Error", {}).get("Code", "")
    if code in _GONE:
        return ObjectGoneError("The object is not there.")
    return StoreError(f"S3 refused {error.operation_name}: {code}.")


def _silent(error: BotoCoreError) -> StoreError:
    return StoreError(f"S3 did not answer: {type(error).__name__}.")


def _too_large(max_bytes: int) -> str:
    return f"This file has more than {max_bytes // 2**20} MB."
