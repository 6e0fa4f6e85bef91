"""What S3 says of its objects, in the two ways it has of saying it.

Through EventBridge keys arrive as they are; in S3's own notifications they are URL-encoded, with ``+`` for a space.
Powertools' classes decode both, which turns ``c++ notes.pdf`` into ``c   notes.pdf``; so the fields are read here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast
from urllib.parse import unquote_plus

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.domain.errors import MalformedEventError
from shared.domain.uploads import ObjectChange

_NOTIFIED: Final = "aws:s3"
_ANNOUNCED: Final = "aws.s3"

Kind = Literal["created", "deleted"]


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str


class _Object(BaseModel):
    # Both ways' names: they differ in the version only.
    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    key: str = Field(min_length=1)
    sequencer: str
    size: int = 0
    version_id: str | None = None


class _EventBridgeObject(_Object):
    version_id: str | None = Field(None, alias="version-id")


class _EventBridgeDetail(BaseModel):
    model_config = ConfigDict(extra="ignore")

    bucket: _Named
    object: _EventBridgeObject
    deletion_type: str | None = Field(None, alias="deletion-type")


class _NotificationObject(_Object):
    version_id: str | None = Field(None, alias="versionId")


class _Notification(BaseModel):
    model_config = ConfigDict(extra="ignore")

    bucket: _Named
    object: _NotificationObject


def object_changes_in(event: object) -> Iterator[ObjectChange]:
    """Read an event.

    Parameters
    ----------
    event : object
        An EventBridge event, or an S3 notification with its records. What says nothing about an object being there
        or not (tags, restores, S3's test message) gives no change.

    Raises
    ------
    MalformedEventError
        When it is neither.
    """
    fields = _object(event)
    try:
        if fields.get("source") == _ANNOUNCED:
            yield from _announced(fields)
        elif isinstance(fields.get("Records"), list):
            for record in cast("list[object]", fields["Records"]):
                yield from _notified(_object(record))
        elif fields.get("Event") != "s3:TestEvent":
            raise MalformedEventError("The event is not S3's.")
    except ValidationError:
        raise MalformedEventError("S3's event does not fit its model.") from None


def _announced(event: Mapping[str, Any]) -> Iterator[ObjectChange]:
    kinds: dict[object, Kind] = {"Object Created": "created", "Object Deleted": "deleted"}
    kind = kinds.get(event.get("detail-type"))
    if kind is None:
        return
    detail = _EventBridgeDetail.model_validate(event.get("detail"))
    permanently = detail.deletion_type == "Permanently Deleted"
    yield from _change(kind, detail.bucket.name, detail.object.key, detail.object, permanently=permanently)


def _notified(record: Mapping[str, Any]) -> Iterator[ObjectChange]:
    if record.get("eventSource") != _NOTIFIED:
        raise MalformedEventError("The record is not S3's.")
    group, _, action = str(record.get("eventName")).removeprefix("s3:").partition(":")
    kinds: dict[str, Kind] = {
        "ObjectCreated": "created",
        "ObjectRemoved": "deleted",
        "LifecycleExpiration": "deleted",
    }
    kind = kinds.get(group)
    if kind is None:
        return
    notification = _Notification.model_validate(record.get("s3"))
    key = unquote_plus(notification.object.key)
    yield from _change(kind, notification.bucket.name, key, notification.object, permanently=action == "Delete")


def _change(kind: Kind, bucket: str, key: str, thing: _Object, *, permanently: bool) -> Iterator[ObjectChange]:
    if kind == "deleted" and permanently and thing.version_id is not None:
        # An old version went for good, as the lifecycle has it. The object is what its newest version says.
        return
    created = kind == "created"
    yield ObjectChange(
        kind=kind,
        bucket=bucket,
        key=key,
        sequencer=thing.sequencer,
        version_id=thing.version_id if created else None,
        size=thing.size if created else 0,
    )


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise MalformedEventError("The event is no object.")
    return cast("Mapping[str, Any]", value)
