"""What a user does with their documents: upload, look, delete, have them gone over again."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from shared.domain.documents import document_id_for
from shared.domain.errors import InvalidInputError, StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.folders import FolderId, Folders
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep
from shared.domain.kb.records import EXPECTED_RUN, DocumentRecord, StaleRunError
from shared.domain.kb.reprocess import ProcessingError, ReprocessMode, reprocess
from shared.domain.kb.states import DocumentState, IllegalTransitionError
from shared.domain.spans import Span, settled
from shared.domain.uploads import UploadTooLargeError, legal_media_type, upload_key
from shared.kb_ports import DocumentRecords, FolderStore, IngestionQueue, ObjectStore, Spans, UploadOffers, UploadTicket
from shared.ports import Clock

_NOT_QUEUED = "The request to process this document again was lost. Please repeat it."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToUpload:
    """A file that somebody wants to upload.

    Parameters
    ----------
    name : str
        What it is called.
    size : int
        Its bytes.
    media_type : str
        Its type, as the client sees it; what it is shows when it is read.
    sha256 : str or None
        Of its bytes, for those that are there already not to be sent again.
    folder : str or None
        Where it is to be; in the default folder without.
    """

    name: str
    size: int
    media_type: str
    sha256: str | None = None
    folder: FolderId | None = None


@dataclass(frozen=True, slots=True)
class OfferedUpload:
    """Leave to upload a file.

    Parameters
    ----------
    document : str
        The document that it will be, from the moment that it has arrived.
    ticket : UploadTicket
        Where and how to send it.
    """

    document: DocumentId
    ticket: UploadTicket


class ManageDocuments:
    """The documents of one user, and of no other.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    folders : FolderStore
        Where they may be put.
    spans : Spans
        What happened to them.
    objects : ObjectStore
        The uploads.
    offers : UploadOffers
        Gives leave to upload.
    queue : IngestionQueue
        Where work on documents waits.
    clock : Clock
        The time of day.
    max_bytes : int
        What a document may have.
    new_id : callable
        Gives an id that was never given.
    """

    def __init__(
        self,
        *,
        records: DocumentRecords,
        folders: FolderStore,
        spans: Spans,
        objects: ObjectStore,
        offers: UploadOffers,
        queue: IngestionQueue,
        clock: Clock,
        max_bytes: int,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._records = records
        self._folders = folders
        self._spans = spans
        self._objects = objects
        self._offers = offers
        self._queue = queue
        self._clock = clock
        self._max_bytes = max_bytes
        self._new_id = new_id

    async def offer(self, user: UserId, file: FileToUpload) -> OfferedUpload | DocumentRecord:
        """Give leave to upload a file, or the document that has its bytes already (row KB22).

        Raises
        ------
        InvalidInputError
            When name, size or type are none.
        FolderNotFoundError
            When the user has no such folder.
        UploadTooLargeError
            When it is larger than a document may be.
        StoreError
            When the database cannot answer.
        """
        key = upload_key(user, self._new_id(), file.name, folder=file.folder)
        media_type = legal_media_type(file.media_type)
        if file.size < 1:
            raise InvalidInputError("A file that is uploaded has one byte at least.")
        if file.size > self._max_bytes:
            raise UploadTooLargeError(self._max_bytes)
        if file.folder is not None:
            (await self._folders.of_user(user)).get(file.folder)
        if file.sha256 is not None and (known := await self._of_bytes(user, file.sha256.lower())) is not None:
            return known
        ticket = await self._offers.offer(key, size=file.size, media_type=media_type, now=self._clock.now())
        return OfferedUpload(document_id_for(user, key), ticket)

    async def all(self, user: UserId, *, folder: FolderId | None = None) -> tuple[Sequence[DocumentRecord], Folders]:
        """Give all documents, the newest first, and the folders that they are in.

        Parameters
        ----------
        user : str
            Whose.
        folder : str, optional
            Only those in it.

        Raises
        ------
        FolderNotFoundError
            When the user has no such folder.
        StoreError
            When the database cannot answer.
        """
        records, folders = await asyncio.gather(self._records.of_user(user), self._folders.of_user(user))
        if folder is None:
            return records, folders
        wanted = folders.get(folder).id
        return [record for record in records if folders.of(record.folder) == wanted], folders

    async def folders(self, user: UserId) -> Folders:
        """Give the folders that documents may be in. Raises ``StoreError``."""
        return await self._folders.of_user(user)

    async def one(self, user: UserId, document: DocumentId) -> DocumentRecord:
        """Give one document.

        Raises
        ------
        DocumentNotFoundError
            When the user has none of this id.
        """
        return await self._records.get(user, document)

    async def history(self, user: UserId, document: DocumentId) -> Sequence[Span]:
        """Give what happened to a document, by the time at which it began.

        Raises
        ------
        DocumentNotFoundError
            When the user has none of this id.
        """
        await self._records.get(user, document)
        now = self._clock.now()
        return [settled(span, now) for span in await self._spans.of_document(user, document)]

    async def delete(self, user: UserId, document: DocumentId) -> None:
        """Delete a document: nobody finds it from now on, and what it has is removed by and by.

        Raises
        ------
        DocumentNotFoundError
            When the user has none of this id.
        StaleRunError
            When it was uploaded again at this moment.
        ProcessingError
            When its file has come with a message and the event of the object has not: that would bring it back.
        StoreError
            When database or queue cannot answer; deleting it again does the rest.
        """
        record = await self._records.get(user, document)
        if record.run == EXPECTED_RUN and not record.is_stuck(self._clock.now()):
            raise ProcessingError("The document has only just arrived. Try again in a moment.")
        # First: once the row says so, nobody would ask again for what was not queued.
        removal = DocumentRemoval(
            user_id=user, document_id=document, run=record.run, key=record.key, sha256=record.sha256
        )
        await self._queue.remove(removal)
        if record.sha256:
            await self._records.release_bytes(user, record.sha256, document)
        await self._records.remove(user, document, run=record.run, now=self._clock.now())

    async def reprocess(self, user: UserId, document: DocumentId, mode: ReprocessMode) -> DocumentRecord:
        """Have a document gone over again (row KB20).

        Raises
        ------
        DocumentNotFoundError
            When the user has none of this id.
        ReprocessRefusedError
            When that mode may not, now. Nothing was changed.
        StoreError
            When something cannot answer.
        """
        record = await self._records.get(user, document)
        has_object = await self._objects.exists(record.key, record.object_version)
        now = self._clock.now()
        begin = reprocess(mode, record.standing(has_object=has_object, now=now))
        again = record.restarted(mode, begin, self._new_id())
        try:
            await self._records.save(user, again, now=now, run=record.run)
        except (StaleRunError, IllegalTransitionError):
            raise ProcessingError("The document is being processed.") from None
        try:
            await self._queue.take_on(IngestionStep(user_id=user, document_id=document, run=again.run))
        except StoreError:
            failed = replace(again, state=DocumentState.FAILED, reason=_NOT_QUEUED)
            await self._records.save(user, failed, now=now)
            raise
        _log.info("document is processed again", extra={"document_id": document, "mode": mode})
        return replace(again, updated_at=now)

    async def _of_bytes(self, user: UserId, sha256: str) -> DocumentRecord | None:
        for record in await self._records.of_user(user):
            if record.sha256 == sha256 and record.stands_for_its_bytes:
                return record
        return None
