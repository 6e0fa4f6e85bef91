"""The folders of a user's documents, all in one row: that no two have one name is settled by one conditional write."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.adapters.dynamodb.items import Key, row_of
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import BODY, FOLDERS_ROW, VERSION, row_key
from shared.adapters.dynamodb.writes import ABSENT, Put
from shared.domain.errors import CorruptItemError, VersionConflictError
from shared.domain.ids import UserId
from shared.domain.json_text import compact_json
from shared.domain.kb.folders import Folder, FolderId, Folders

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ALL = "all"


class DynamoFolders:
    """The port ``FolderStore`` on the memory table.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    pause : callable
        Waits between tries.
    """

    def __init__(self, client: "DynamoDBClient", table_name: str, *, pause: Pause = jittered_pause) -> None:
        self._rows = Rows(client, table_name, pause=pause)

    async def of_user(self, user: UserId) -> Folders:
        """Read the row; a user who made none has no row.

        Raises
        ------
        CorruptItemError
            When it cannot be understood.
        """
        item = await self._rows.get(_key(user))
        if item is None:
            return Folders(user=user)
        made = item.json_object(BODY).get("folders", [])
        return Folders(user=user, made=tuple(_read(made)), version=item.number(VERSION))

    async def save(self, folders: Folders) -> None:
        """Write the row, in one conditional write."""
        made = [[each.id, each.name, each.created_at and each.created_at.isoformat()] for each in folders.made]
        body, before = compact_json({"folders": made}), folders.version - 1
        write = Put(
            key=_key(folders.user),
            attributes={BODY: body, VERSION: folders.version},
            condition=ABSENT if before == 0 else f"#{VERSION} = :before",
            values={"before": before},
        )
        try:
            await self._rows.put(write)
        except ConditionFailedError as failed:
            current = failed.current
            if current is not None and (current.number(VERSION), current.text(BODY)) == (folders.version, body):
                # The SDK's own repeat of a write whose answer was lost.
                return
            raise VersionConflictError(f"Version {before} of the folders is not the stored one.") from None

    async def purge(self, user: UserId) -> None:
        """Remove the row."""
        await self._rows.delete(_key(user))


def _key(user: UserId) -> Key:
    return row_of(user, row_key(FOLDERS_ROW, _ALL))


def _read(made: Sequence[Any]) -> list[Folder]:
    try:
        return [
            Folder(id=FolderId(folder), name=name, created_at=datetime.fromisoformat(at)) for folder, name, at in made
        ]
    except (TypeError, ValueError) as error:
        raise CorruptItemError("The folders cannot be understood.") from error
