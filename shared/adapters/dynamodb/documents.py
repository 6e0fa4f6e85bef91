"""Document rows of the knowledge base, ordered by what S3 says of their objects."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from shared.adapters.dynamodb.items import Plain, row_of
from shared.adapters.dynamodb.rows import ConditionFailedError, Pause, Rows, jittered_pause
from shared.adapters.dynamodb.schema import (
    CREATED_AT,
    DOCUMENT_ROW,
    OBJECT_KEY,
    OBJECT_VERSION,
    SEQUENCER,
    SIZE,
    STATUS,
    TTL,
    UPDATED_AT,
    row_key,
)
from shared.adapters.dynamodb.writes import Update
from shared.domain.documents import document_id_for, sequencer_order
from shared.domain.ids import DocumentId, UserId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PENDING: Final = "PENDING"
_DELETED: Final = "DELETED"

# Longer than any event is on its way: SQS keeps one for at most 14 days, here and in the dead letters.
_REMEMBER_DELETION = timedelta(days=30)


class DynamoDocuments:
    """The port ``Documents`` on the memory table.

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

    async def record_upload(
        self, user: UserId, key: str, *, version_id: str | None, sequencer: str, size: int, now: datetime
    ) -> DocumentId | None:
        """Keep a ``PENDING`` row, in one conditional write."""
        sets = [f"#{CREATED_AT} = if_not_exists(#{CREATED_AT}, :now)", f"#{OBJECT_KEY} = :object", f"#{SIZE} = :size"]
        values: dict[str, Plain] = {"object": key, "size": size}
        if version_id is not None:
            sets.append(f"#{OBJECT_VERSION} = :object_version")
            values["object_version"] = version_id
        removes = (TTL,) if version_id is not None else (TTL, OBJECT_VERSION)
        taken = await self._record(user, key, sequencer, _PENDING, now, sets=sets, removes=removes, values=values)
        return document_id_for(user, key) if taken else None

    async def record_delete(self, user: UserId, key: str, *, sequencer: str, now: datetime) -> bool:
        """Leave a marker for a while, without anything of the document, in one conditional write."""
        return await self._record(
            user,
            key,
            sequencer,
            _DELETED,
            now,
            sets=(f"#{TTL} = :forgotten",),
            removes=(CREATED_AT, OBJECT_KEY, OBJECT_VERSION, SIZE),
            values={"forgotten": int((now + _REMEMBER_DELETION).timestamp())},
        )

    async def _record(
        self,
        user: UserId,
        key: str,
        sequencer: str,
        status: str,
        now: datetime,
        *,
        sets: Sequence[str],
        removes: Sequence[str],
        values: Mapping[str, Plain],
    ) -> bool:
        order = sequencer_order(sequencer)
        write = Update(
            # The id stands for the object's key, which may be as long as a sort key and longer once encoded.
            key=row_of(user, row_key(DOCUMENT_ROW, document_id_for(user, key))),
            sets=(*sets, f"#{STATUS} = :status", f"#{SEQUENCER} = :order", f"#{UPDATED_AT} = :now"),
            removes=removes,
            condition=f"attribute_not_exists(#{SEQUENCER}) OR #{SEQUENCER} < :order",
            values={**values, "status": status, "order": order, "now": now},
        )
        try:
            await self._rows.update(write)
        except ConditionFailedError as failed:
            current = failed.current
            # The same event again, or the SDK's own repeat of a write whose answer was lost. What has become of the
            # document since is none of its business.
            return (
                current is not None
                and current.text(SEQUENCER) == order
                and (current.text(STATUS) == _DELETED) == (status == _DELETED)
            )
        return True
