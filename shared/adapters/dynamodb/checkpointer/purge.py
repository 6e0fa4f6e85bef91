"""Removal of a thread's checkpoints, for those who do nothing else with them."""

from typing import TYPE_CHECKING

from shared.adapters.aws import in_thread
from shared.adapters.dynamodb.checkpointer.cache import Cache, process_cache
from shared.adapters.dynamodb.checkpointer.keys import Place
from shared.adapters.dynamodb.checkpointer.reader import Reader
from shared.adapters.dynamodb.checkpointer.removal import Removal
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable, Pause, jittered_pause
from shared.domain.ids import ThreadId, UserId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoCheckpoints:
    """Implements ``Checkpoints`` on the checkpoint table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The checkpoint table.
    cache : Cache, optional
        What the process keeps; by default one for all that read checkpoints.
    pause : callable
        Waits between tries of what DynamoDB leaves unprocessed.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        cache: Cache | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        table = CheckpointTable(client, table_name, pause=pause)
        cache = cache or process_cache()
        self._removal = Removal(table, cache, Reader(table, cache))

    async def purge(self, user: UserId, thread: ThreadId) -> None:
        """Remove every checkpoint, write, segment and blob of the thread, and refuse what still comes.

        Raises
        ------
        StoreError
            When the database cannot answer. What is left then is not shown to anybody; done again, the purge
            completes.
        """
        await in_thread(self._removal.thread, Place(user, thread))
