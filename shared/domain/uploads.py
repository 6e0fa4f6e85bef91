"""Uploads: which objects of the bucket are somebody's documents, and what happens to them."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from shared.domain.ids import UserId, user_id_or_none

USERS_PREFIX: Final = "users/"
"""What every key starts with that belongs to a user; events of other keys are not even delivered."""

_UPLOAD: Final = re.compile(USERS_PREFIX + r"(?P<owner>[^/]+)/uploads/(?P<name>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """An object was written or went away.

    Parameters
    ----------
    kind : {'created', 'deleted'}
        What happened.
    bucket : str
        Where.
    key : str
        The object's key, as it is (not URL-encoded).
    sequencer : str
        Orders the changes of one key.
    version_id : str or None
        Of a created object in a versioned bucket.
    size : int
        Bytes of a created object.
    """

    kind: Literal["created", "deleted"]
    bucket: str
    key: str
    sequencer: str
    version_id: str | None = None
    size: int = 0


def user_prefix(user: UserId) -> str:
    """Give what the keys of a user's objects, and of nobody else's, start with."""
    return f"{USERS_PREFIX}{user}/"


def owner_of(key: str) -> UserId | None:
    """Give the user whose upload an object is.

    Parameters
    ----------
    key : str
        ``users/<user>/uploads/<name>``.

    Returns
    -------
    str or None
        ``None`` for every other key, and for the folder markers that consoles leave (a name ending in ``/``).
    """
    match = _UPLOAD.fullmatch(key)
    return None if match is None or key.endswith("/") else user_id_or_none(match["owner"])
