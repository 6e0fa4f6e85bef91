"""The messages of a thread, for those who only read them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.adapters.aws import in_thread
from shared.adapters.dynamodb.checkpointer.cache import Cache, process_cache
from shared.adapters.dynamodb.checkpointer.keys import ROOT, Place
from shared.adapters.dynamodb.checkpointer.reader import Reader
from shared.adapters.dynamodb.checkpointer.table import CheckpointTable
from shared.adapters.dynamodb.checkpointer.values import deserialize
from shared.domain.errors import CorruptCheckpointError
from shared.domain.ids import ThreadId, UserId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_CHANNEL: Final = "messages"


class DynamoThreadMessages:
    """Implements ``ThreadMessages`` on the checkpoint table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The checkpoint table.
    cache : Cache, optional
        What the process keeps; by default one for all that read checkpoints.
    """

    def __init__(self, client: "DynamoDBClient", table_name: str, *, cache: Cache | None = None) -> None:
        self._reader = Reader(CheckpointTable(client, table_name), cache or process_cache())
        self._serde = JsonPlusSerializer(allowed_msgpack_modules=None)

    async def load(self, user: UserId, thread: ThreadId) -> Sequence[AnyMessage]:
        """Read all messages, oldest first; empty when there is no checkpoint.

        Raises
        ------
        CorruptCheckpointError
            When the newest checkpoint cannot be read as it was written.
        StoreError
            When the database cannot answer.
        """
        return await in_thread(self._load, user, thread)

    def _load(self, user: UserId, thread: ThreadId) -> Sequence[AnyMessage]:
        newest = self._reader.newest(Place(user, thread), ROOT)
        if newest is None or _CHANNEL not in newest.values:
            return []
        try:
            return deserialize(self._serde, newest.values[_CHANNEL])
        except (NotImplementedError, ValueError) as error:
            raise CorruptCheckpointError(thread, newest.checkpoint, "its messages cannot be read.") from error
