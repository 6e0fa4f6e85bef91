"""The ingestion's queue: S3's events come to it by way of EventBridge, and these messages of our own."""

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.domain.errors import StoreError
from shared.domain.kb.ingestion import DocumentRemoval, IngestionMessage, IngestionStep, UserRemoval

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsIngestionQueue:
    """Queues work on documents on SQS; implements the port ``IngestionQueue``.

    Parameters
    ----------
    client : SQSClient
        boto3's client of ``sqs``; it does the retries.
    queue_url : str
        The queue. Order does not matter: the document's record says whose turn it is.
    """

    def __init__(self, client: "SQSClient", queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    async def take_on(self, step: IngestionStep, *, after_seconds: int = 0) -> None:
        """Queue the next step of a run."""
        await self._send(step, after_seconds)

    async def remove(self, removal: DocumentRemoval) -> None:
        """Queue the removal of what a document has."""
        await self._send(removal, 0)

    async def remove_user(self, removal: UserRemoval) -> None:
        """Queue the removal of everything that a user has."""
        await self._send(removal, 0)

    async def _send(self, message: IngestionMessage, after_seconds: int) -> None:
        try:
            await in_thread(
                self._client.send_message,
                QueueUrl=self._queue_url,
                MessageBody=message.model_dump_json(by_alias=True),
                DelaySeconds=after_seconds,
            )
        except (ClientError, BotoCoreError) as error:
            raise StoreError("The ingestion's queue did not take the message.") from error
