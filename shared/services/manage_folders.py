"""What a user does with the folders of their documents."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from shared.domain.errors import VersionConflictError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.folders import (
    DefaultFolderError,
    Folder,
    FolderId,
    FolderNotEmptyError,
    FolderNotFoundError,
    Folders,
)
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.domain.kb.states import DocumentState
from shared.kb_ports import DocumentRecords, FolderStore
from shared.ports import Clock
from shared.services.manage_documents import ManageDocuments

_ATTEMPTS: Final = 8
_DELETIONS_AT_ONCE: Final = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderView:
    """A folder and how far its documents have come.

    Parameters
    ----------
    folder : Folder
        The folder.
    documents : int
        How many are in it.
    ready, failed : int
        How many of these can be searched whole, and how many ended otherwise; the others are on their way.
    """

    folder: Folder
    documents: int = 0
    ready: int = 0
    failed: int = 0

    @property
    def in_progress(self) -> int:
        """How many are on their way."""
        return self.documents - self.ready - self.failed


class ManageFolders:
    """The folders of one user, and of no other.

    Parameters
    ----------
    folders : FolderStore
        Where they are.
    records : DocumentRecords
        What is in them.
    documents : ManageDocuments
        Deletes documents.
    clock : Clock
        The time of day.
    new_id : callable
        Gives an id that was never given.
    """

    def __init__(
        self,
        *,
        folders: FolderStore,
        records: DocumentRecords,
        documents: ManageDocuments,
        clock: Clock,
        new_id: Callable[[], FolderId] = lambda: FolderId(f"f-{uuid4()}"),
    ) -> None:
        self._folders = folders
        self._records = records
        self._documents = documents
        self._clock = clock
        self._new_id = new_id

    async def all(self, user: UserId) -> Sequence[FolderView]:
        """Give every folder with how far its documents have come, the default one first. Raises ``StoreError``."""
        folders, records = await asyncio.gather(self._folders.of_user(user), self._records.of_user(user))
        seen: Counter[tuple[FolderId, str]] = Counter()
        for record in records:
            seen.update([(folders.of(record.folder), what) for what in ("all", _stands(record))])
        return [
            FolderView(
                folder=folder,
                documents=seen[folder.id, "all"],
                ready=seen[folder.id, "ready"],
                failed=seen[folder.id, "failed"],
            )
            for folder in folders.all
        ]

    async def create(self, user: UserId, name: str) -> Folder:
        """Make a folder.

        Raises
        ------
        InvalidInputError
            When its name is none.
        FolderExistsError, TooManyFoldersError
            When it cannot be made.
        StoreError
            When the database cannot answer.
        """
        folder = self._new_id()
        changed = await self._change(user, lambda folders: folders.with_new(folder, name, self._clock.now()))
        return changed.get(folder)

    async def rename(self, user: UserId, folder: FolderId, name: str) -> Folder:
        """Give a folder another name.

        Raises
        ------
        InvalidInputError
            When the name is none.
        FolderNotFoundError, DefaultFolderError, FolderExistsError
            When it cannot have it.
        StoreError
            When the database cannot answer.
        """
        return (await self._change(user, lambda folders: folders.with_name(folder, name))).get(folder)

    async def delete(self, user: UserId, folder: FolderId, *, with_documents: bool = False) -> None:
        """Delete a folder (row DL11).

        What is uploaded into it at this moment is then in the default folder.

        Parameters
        ----------
        user, folder : str
            Whose folder, and which.
        with_documents : bool
            Whether the documents in it go too.

        Raises
        ------
        FolderNotFoundError, DefaultFolderError
            When it cannot be deleted.
        FolderNotEmptyError
            When documents are in it that are to stay. Nothing was changed.
        StoreError
            When something cannot answer; deleting it again does the rest.
        """
        folders, records = await asyncio.gather(self._folders.of_user(user), self._records.of_user(user))
        if folders.get(folder).is_default:
            raise DefaultFolderError
        inside = [record.id for record in records if record.folder == folder]
        if inside and not with_documents:
            raise FolderNotEmptyError(len(inside))
        await self._delete_all(user, inside)
        # Last: without it nobody could ask again for what was not deleted.
        with suppress(FolderNotFoundError):
            await self._change(user, lambda folders: folders.without(folder))
        _log.info("folder deleted", extra={"documents": len(inside)})

    async def _delete_all(self, user: UserId, documents: Sequence[DocumentId]) -> None:
        at_once = asyncio.Semaphore(_DELETIONS_AT_ONCE)

        async def delete(document: DocumentId) -> None:
            async with at_once:
                with suppress(DocumentNotFoundError):
                    await self._documents.delete(user, document)

        done = await asyncio.gather(*map(delete, documents), return_exceptions=True)
        for failure in done:
            if failure is not None:
                raise failure

    async def _change(self, user: UserId, edit: Callable[[Folders], Folders]) -> Folders:
        """Change the folders on condition that they are still what was read, else read them afresh."""
        for _ in range(_ATTEMPTS - 1):
            changed = edit(await self._folders.of_user(user))
            with suppress(VersionConflictError):
                await self._folders.save(changed)
                return changed
        changed = edit(await self._folders.of_user(user))
        await self._folders.save(changed)
        return changed


class ReadFolders:
    """Says which documents are in folders; implements the port ``FolderContents``.

    Parameters
    ----------
    folders : FolderStore
        Where they are.
    records : DocumentRecords
        What is in them.
    """

    def __init__(self, folders: FolderStore, records: DocumentRecords) -> None:
        self._folders = folders
        self._records = records

    async def documents_in(self, user: UserId, folders: Iterable[FolderId]) -> Sequence[DocumentId]:
        """Read the user's folders and documents."""
        wanted = set(folders)
        if not wanted:
            return ()
        known, records = await asyncio.gather(self._folders.of_user(user), self._records.of_user(user))
        inside = [record for record in records if known.of(record.folder) in wanted]
        return tuple(dict.fromkeys(record.duplicate_of or record.id for record in inside))


def _stands(record: DocumentRecord) -> str:
    if not record.state.is_final:
        return "on its way"
    return "ready" if record.state is DocumentState.READY else "failed"
