"""Uploads: which objects of the bucket are somebody's documents, and what happens to them."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from shared.domain.errors import EverthreadError, InvalidInputError
from shared.domain.ids import UserId, user_id_or_none
from shared.domain.json_text import has_utf8_form
from shared.domain.kb.folders import FolderId, folder_id_or_none

USERS_PREFIX: Final = "users/"
"""What every key starts with that belongs to a user; events of other keys are not even delivered."""

MAX_NAME_CHARS: Final = 255
_MAX_KEY_BYTES: Final = 1024

# No slash, which would be a folder, and nothing that a person does not see.
_NAME: Final = re.compile(r"[^/\\\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}", re.ASCII)

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


class UploadTooLargeError(EverthreadError):
    """More bytes are to be uploaded than a document may have.

    Parameters
    ----------
    max_bytes : int
        How many it may have.
    """

    code = "TOO_LARGE"

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"A document may have up to {max_bytes} bytes.")


def folder_in(key: str) -> FolderId | None:
    """Give the folder that an upload's key names, be there such a folder or not; ``None`` when it names none."""
    match = _UPLOAD.fullmatch(key)
    first, slash, _ = match["name"].partition("/") if match else ("", "", "")
    return folder_id_or_none(first) if slash else None


def upload_key(user: UserId, unique: str, name: str, *, folder: FolderId | None = None) -> str:
    """Give the key that a file is to be uploaded to.

    Parameters
    ----------
    user : str
        Whose it is.
    unique : str
        What keeps it apart from other files of that name.
    name : str
        What its user calls it.
    folder : str, optional
        The folder that it is to be in; the default one without.

    Raises
    ------
    InvalidInputError
        When that is no name of a file.
    """
    name = unicodedata.normalize("NFC", name).strip() if has_utf8_form(name) else ""
    if not _NAME.fullmatch(name) or name in {".", ".."} or len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(
            f"A file's name has 1 to {MAX_NAME_CHARS} characters, without slashes and control characters."
        )
    parts = (unique, name) if folder is None else (folder, unique, name)
    key = f"{USERS_PREFIX}{user}/uploads/{'/'.join(parts)}"
    if len(key.encode()) > _MAX_KEY_BYTES:
        raise InvalidInputError("The file's name is too long.")
    return key


def legal_media_type(value: str) -> str:
    """Read a media type without parameters, in lower case.

    Raises
    ------
    InvalidInputError
        When it is none.
    """
    media_type = value.lower()
    if not _MEDIA_TYPE.fullmatch(media_type):
        raise InvalidInputError("A media type is written as in application/pdf.")
    return media_type
