"""Folders of the knowledge base: named groups of a user's documents (rows KB06, KB26, DL11).

A document's folder stands in its object's key: it is there before the document is, and no second write can be lost.
What is in no folder that there is, is in the default one.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NewType
from uuid import UUID, uuid5

from shared.domain.errors import ConflictError, InvalidInputError, NotFoundError
from shared.domain.ids import UserId
from shared.domain.json_text import has_utf8_form

FolderId = NewType("FolderId", str)
"""``f-`` followed by a UUID in its canonical lower-case form."""

DEFAULT_FOLDER_NAME: Final = "Attachments"
"""The folder that everybody has: of files from a chat, and of uploads that name no other."""

MAX_FOLDER_NAME_CHARS: Final = 64
MAX_FOLDERS: Final = 200
"""How many a user may make: all of them are one item of the database."""

_FOLDERS: Final = UUID("7a3c9f9e-52cf-4f3d-8d51-64f2f5a1f0c1")
_FOLDER_ID: Final = re.compile(r"f-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class FolderNotFoundError(NotFoundError):
    """No such folder for this user: it never was, is deleted, or is somebody else's."""

    code = "FOLDER_NOT_FOUND"

    def __init__(self) -> None:
        super().__init__("There is no such folder.")


class FolderExistsError(ConflictError):
    """Another folder has that name."""

    code = "FOLDER_EXISTS"

    def __init__(self) -> None:
        super().__init__("There is a folder of this name.")


class DefaultFolderError(ConflictError):
    """The default folder is neither renamed nor deleted."""

    code = "DEFAULT_FOLDER"

    def __init__(self) -> None:
        super().__init__("The default folder stays as it is.")


class TooManyFoldersError(ConflictError):
    """The user has as many folders as there may be."""

    code = "TOO_MANY_FOLDERS"

    def __init__(self) -> None:
        super().__init__(f"There may be {MAX_FOLDERS} folders.")


class FolderNotEmptyError(ConflictError):
    """Documents are in the folder, and nobody said that they go too.

    Parameters
    ----------
    documents : int
        How many.
    """

    code = "NON_EMPTY"

    def __init__(self, documents: int) -> None:
        super().__init__("The folder is not empty.")
        self.documents = documents

    @property
    def details(self) -> Mapping[str, int]:
        """How many documents there are, for the dialog that asks whether to delete them."""
        return {"docCount": self.documents}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder.

    Parameters
    ----------
    id : str
        Which.
    name : str
        What its user calls it.
    created_at : datetime or None
        When it was made; ``None`` for the default folder, which nobody made.
    """

    id: FolderId
    name: str
    created_at: datetime | None = None

    @property
    def is_default(self) -> bool:
        """Whether it is the one that everybody has."""
        return self.created_at is None


def folder_id_or_none(value: object) -> FolderId | None:
    """Read a folder id defensively; ``None`` for anything else."""
    return FolderId(value) if isinstance(value, str) and _FOLDER_ID.fullmatch(value) else None


def default_folder_id(user: UserId) -> FolderId:
    """Give the id of a user's default folder: the same each time, so that no write has to come first."""
    return FolderId(f"f-{uuid5(_FOLDERS, json.dumps([user]))}")


def legal_folder_name(name: str) -> str:
    """Read the name of a folder.

    Raises
    ------
    InvalidInputError
        When it is none.
    """
    name = unicodedata.normalize("NFC", name).strip() if has_utf8_form(name) else ""
    if not 1 <= len(name) <= MAX_FOLDER_NAME_CHARS or _UNSEEN.search(name):
        raise InvalidInputError(f"A folder's name has 1 to {MAX_FOLDER_NAME_CHARS} characters, no control characters.")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """All folders of a user, as one value: names are compared within it.

    Parameters
    ----------
    user : str
        Whose.
    made : tuple of Folder
        Those that the user made, in that order.
    version : int
        How often they were changed; a change is written only over the version that it was made of.
    """

    user: UserId
    made: tuple[Folder, ...] = ()
    version: int = 0

    @property
    def default(self) -> Folder:
        """The one that everybody has."""
        return Folder(id=default_folder_id(self.user), name=DEFAULT_FOLDER_NAME)

    @property
    def all(self) -> tuple[Folder, ...]:
        """The default folder, then the others by name."""
        return (self.default, *sorted(self.made, key=lambda folder: (_compared(folder.name), folder.id)))

    def get(self, folder: FolderId) -> Folder:
        """Give one.

        Raises
        ------
        FolderNotFoundError
            When the user has none of this id.
        """
        for each in self.all:
            if each.id == folder:
                return each
        raise FolderNotFoundError

    def of(self, folder: FolderId | None) -> FolderId:
        """Give the folder that a document is in: its own while it is there, else the default one."""
        return folder if folder is not None and any(each.id == folder for each in self.made) else self.default.id

    def with_new(self, folder: FolderId, name: str, now: datetime) -> "Folders":
        """Give them with one more.

        Raises
        ------
        InvalidInputError
            When the name is none.
        FolderExistsError, TooManyFoldersError
            When it cannot be.
        """
        name = self._free(name)
        if len(self.made) >= MAX_FOLDERS:
            raise TooManyFoldersError
        return self._changed((*self.made, Folder(id=folder, name=name, created_at=now)))

    def with_name(self, folder: FolderId, name: str) -> "Folders":
        """Give them with another name for one.

        Raises
        ------
        FolderNotFoundError, DefaultFolderError, FolderExistsError, InvalidInputError
            When it cannot have it.
        """
        self._own(folder)
        name = self._free(name, besides=folder)
        return self._changed(tuple(replace(each, name=name) if each.id == folder else each for each in self.made))

    def without(self, folder: FolderId) -> "Folders":
        """Give them without one.

        Raises
        ------
        FolderNotFoundError, DefaultFolderError
            When it cannot be deleted.
        """
        self._own(folder)
        return self._changed(tuple(each for each in self.made if each.id != folder))

    def _own(self, folder: FolderId) -> None:
        if self.get(folder).is_default:
            raise DefaultFolderError

    def _free(self, name: str, *, besides: FolderId | None = None) -> str:
        name = legal_folder_name(name)
        if any(_compared(each.name) == _compared(name) for each in self.all if each.id != besides):
            raise FolderExistsError
        return name

    def _changed(self, made: tuple[Folder, ...]) -> "Folders":
        return replace(self, made=made, version=self.version + 1)


def _compared(name: str) -> str:
    """Give a name as it is compared: people see no difference between these."""
    return unicodedata.normalize("NFKC", name).casefold()
