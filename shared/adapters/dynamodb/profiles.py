"""The profile as a store item of the seed's namespace, with its version beside it, and the log of its changes."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shared.adapters.dynamodb.items import Key, StoredItem, store_key
from shared.adapters.dynamodb.rows import Pause, Rows, TransactionRefusedError, jittered_pause
from shared.adapters.dynamodb.schema import (
    CREATED_AT,
    ORIGINS,
    TOMBSTONES,
    TTL,
    TTL_SECONDS,
    UPDATED_AT,
    VALUE,
    VERSION,
    encode_prefix,
)
from shared.adapters.dynamodb.writes import Put, Update
from shared.domain.errors import CorruptItemError, VersionConflictError
from shared.domain.ids import UserId
from shared.domain.json_text import compact_json
from shared.domain.namespaces import MEMORY_KEY, log_key, memory_log_namespace, memory_namespace
from shared.domain.profile import Origin, ProfileChange, StoredProfile
from shared.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoProfiles:
    """The port ``Profiles`` on the memory table.

    LangGraph code sees the profile as the store item ``main`` of ``(user, "memory")`` and each log line as an item of
    ``(user, "memory", "log")``.

    Parameters
    ----------
    client : DynamoDBClient
        A low-level client.
    table_name : str
        The memory table.
    clock : Clock, optional
        Tells whether a profile that other code gave a time to live has expired.
    pause : callable
        Waits between tries.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        table_name: str,
        *,
        clock: Clock | None = None,
        pause: Pause = jittered_pause,
    ) -> None:
        self._rows = Rows(client, table_name, clock=clock, pause=pause)

    async def load(self, user: UserId) -> StoredProfile:
        """Read the profile, in one request.

        Raises
        ------
        CorruptItemError
            When there is an item that is no profile.
        """
        item = await self._rows.get(_profile_key(user))
        return StoredProfile() if item is None else _profile_of(item)

    async def save(self, user: UserId, profile: StoredProfile, change: ProfileChange) -> None:
        """Write the profile and its log line in one transaction."""
        at = change.origin.at
        # Code that writes through the store leaves no version, or a time to live that has run out.
        first = f"attribute_not_exists(#{VERSION}) OR #{TTL} <= :epoch"
        try:
            await self._rows.transact(
                Update(
                    key=_profile_key(user),
                    sets=(
                        f"#{VALUE} = :value",
                        f"#{VERSION} = :version",
                        f"#{TOMBSTONES} = :tombstones",
                        f"#{ORIGINS} = :origins",
                        f"#{CREATED_AT} = if_not_exists(#{CREATED_AT}, :at)",
                        f"#{UPDATED_AT} = :at",
                    ),
                    removes=(TTL, TTL_SECONDS),
                    condition=first if profile.version == 1 else f"#{VERSION} = :replaced",
                    values={
                        "value": compact_json(profile.doc),
                        "version": profile.version,
                        "replaced": profile.version - 1,
                        "tombstones": sorted(profile.tombstones),
                        "origins": compact_json({key: _stored(each) for key, each in profile.origins.items()}),
                        "at": at,
                        "epoch": int(at.timestamp()),
                    },
                ),
                # The version is this write's alone. Should other code have removed the profile, the log starts anew.
                Put(
                    key=store_key(memory_log_namespace(user), log_key(profile.version)),
                    attributes={
                        VALUE: compact_json(
                            {
                                "version": profile.version,
                                "actor": change.actor,
                                "patches": [dict(patch) for patch in change.patches],
                                "origin": _stored(change.origin),
                            }
                        ),
                        CREATED_AT: at,
                        UPDATED_AT: at,
                    },
                ),
            )
        except TransactionRefusedError:
            message = f"Version {profile.version - 1} of the profile is not the stored one."
            raise VersionConflictError(message) from None

    async def purge(self, user: UserId) -> None:
        """Remove the profile and its log; other items of the namespace stay."""
        profile = _profile_key(user)
        log = encode_prefix(memory_log_namespace(user)[1:])
        async for page in self._rows.pages(profile[0], log, attributes=(VERSION,), expired=True):
            await self._rows.write_all(deletes=[line.key for line in page])
        await self._rows.delete(profile)


def _profile_key(user: UserId) -> Key:
    return store_key(memory_namespace(user), MEMORY_KEY)


def _profile_of(item: StoredItem) -> StoredProfile:
    doc, origins = item.json_object(VALUE), item.json_object(ORIGINS, "{}")
    try:
        return StoredProfile(
            doc=doc,
            version=item.number(VERSION, 0),
            tombstones=frozenset(item.texts(TOMBSTONES)),
            # Code that writes through the store does not keep the origins.
            origins={key: _origin(each) for key, each in origins.items() if key in doc},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptItemError("The origins of the profile cannot be read.") from error


def _stored(origin: Origin) -> dict[str, Any]:
    return {
        "at": origin.at.isoformat(),
        "threadId": origin.thread_id,
        "humanMessageId": origin.human_message_id,
        "toolCallId": origin.tool_call_id,
    }


def _origin(stored: Mapping[str, Any]) -> Origin:
    return Origin(
        at=datetime.fromisoformat(stored["at"]),
        thread_id=stored["threadId"],
        human_message_id=stored["humanMessageId"],
        tool_call_id=stored["toolCallId"],
    )
