"""The queue of deletions that take a while."""

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from shared.adapters.aws import in_thread
from shared.domain.errors import StoreError
from shared.domain.ids import ThreadId, UserId
from shared.domain.purges import ThreadPurge

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsPurgeQueue:
    """Queues purges on SQS; implements the port ``PurgeQueue``.

    Parameters
    ----------
    client : SQSClient
        boto3's client of ``sqs``; it does the retries.
    queue_url : str
        The queue. Order does not matter: a purge is the same whenever it runs.
    """

    def __init__(self, client: "SQSClient", queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    async def purge_thread(self, user: UserId, thread: ThreadId) -> None:
        """Queue the removal of everything a deleted thread has.

        Raises
        ------
        StoreError
            When the queue did not take the request; deleting again queues it again.
        """
        body = ThreadPurge(user_id=user, thread_id=thread).model_dump_json(by_alias=True)
        try:
            await in_thread(self._client.send_message, QueueUrl=self._queue_url, MessageBody=body)
        except (ClientError, BotoCoreError) as error:
            raise StoreError("The purge queue did not take the request.") from error
