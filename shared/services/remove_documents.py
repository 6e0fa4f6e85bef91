"""Removing everything that a document, or a user, has in the knowledge base."""

import logging
from uuid import uuid4

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import parse_chunk_id
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep
from shared.domain.kb.records import DocumentNotFoundError, StaleRunError
from shared.domain.kb.reprocess import Reprocess, ReprocessMode
from shared.domain.uploads import user_prefix
from shared.kb_ports import (
    ChunkStore,
    DocumentRecords,
    FolderStore,
    Index,
    IngestionQueue,
    ObjectStore,
    OcrTexts,
    PageStore,
    Spans,
)
from shared.ports import Clock

_log = logging.getLogger(__name__)


async def remove_versions(index: Index, chunks: ChunkStore, user: UserId, document: DocumentId, *, below: int) -> int:
    """Remove a document's chunks of every version below one, from the index and then from the list that names them.

    Parameters
    ----------
    index, chunks : Index, ChunkStore
        From where.
    user, document : str
        Whose document, and which.
    below : int
        The first version that stays.

    Returns
    -------
    int
        How many there were.

    Raises
    ------
    StoreError
        When one of the two cannot answer; done again, it goes on.
    """
    old = [each for each in await chunks.ids(user, document) if parse_chunk_id(each).version < below]
    if old:
        await index.delete(user, old)
        await chunks.remove(user, old)
    return len(old)


async def forget_unused_texts(records: DocumentRecords, texts: OcrTexts, user: UserId, sha256: str = "") -> None:
    """Remove what OCR has read of files that are no document of the user any more.

    Of most files it has read nothing: the user's documents are looked at only when there is a text.

    Parameters
    ----------
    records, texts : DocumentRecords, OcrTexts
        Where to look.
    user : str
        Whose.
    sha256 : str
        The file that is a document less, where it is known.

    Raises
    ------
    StoreError
        When the database cannot answer; the next removal of a document goes on.
    """
    if not await texts.has_any(user, sha256):
        return
    await texts.keep_only(user, {record.sha256 for record in await records.of_user(user)})


class RemoveDocuments:
    """Removes documents with everything they have; every step may be done again.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    folders : FolderStore
        What they are in; goes with the user only.
    chunks, pages, spans : ChunkStore, PageStore, Spans
        What they are made of, and what happened to them.
    texts : OcrTexts
        What was read of them.
    index : Index
        Finds them.
    objects : ObjectStore
        The uploads.
    queue : IngestionQueue
        A duplicate takes the place of what it was a duplicate of.
    clock : Clock
        The time of day.
    """

    def __init__(
        self,
        *,
        records: DocumentRecords,
        folders: FolderStore,
        chunks: ChunkStore,
        pages: PageStore,
        spans: Spans,
        texts: OcrTexts,
        index: Index,
        objects: ObjectStore,
        queue: IngestionQueue,
        clock: Clock,
    ) -> None:
        self._records = records
        self._folders = folders
        self._chunks = chunks
        self._pages = pages
        self._spans = spans
        self._texts = texts
        self._index = index
        self._objects = objects
        self._queue = queue
        self._clock = clock

    async def remove(self, removal: DocumentRemoval) -> None:
        """Remove what its owner deleted: the object, and everything made of it.

        A document that was uploaded again since stays.

        Raises
        ------
        StoreError
            When something cannot answer; done again, it goes on.
        """
        user, document = removal.user_id, removal.document_id
        known = await self.forget_bytes(user, document)
        try:
            last = await self._records.remove(user, document, run=removal.run, now=self._clock.now())
        except StaleRunError:
            _log.info("document was uploaded again and stays", extra={"document_id": document})
            return
        await self._objects.delete(removal.key)
        await self.clear(user, document, last=last, sha256=removal.sha256 or known)

    async def forget_bytes(self, user: UserId, document: DocumentId) -> str:
        """Let the bytes of a document be another's; before it is gone, because then nobody knows them.

        Returns
        -------
        str
            Their sha256; empty when it is not known.

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        try:
            record = await self._records.get(user, document)
        except DocumentNotFoundError:
            return ""
        if record.sha256:
            await self._records.release_bytes(user, record.sha256, document)
        return record.sha256

    async def clear(self, user: UserId, document: DocumentId, *, last: int, sha256: str = "") -> None:
        """Remove what a deleted document has left.

        Parameters
        ----------
        user, document : str
            Whose document, and which.
        last : int
            Its highest version; what is above it is of a later upload.
        sha256 : str
            Of its bytes, where it is known.

        Raises
        ------
        StoreError
            When something cannot answer; done again, it goes on.
        """
        chunks = await remove_versions(self._index, self._chunks, user, document, below=last + 1)
        await self._pages.remove(user, document, before=last + 1)
        await self._spans.remove(user, document)
        await self._promote_duplicates(user, document)
        await forget_unused_texts(self._records, self._texts, user, sha256)
        _log.info("document removed", extra={"document_id": document, "chunks": chunks})

    async def purge(self, user: UserId) -> None:
        """Remove everything that a user has here: objects, vectors, rows.

        The events of these deletions come afterwards and leave markers for a while; there is no name in them.

        Raises
        ------
        StoreError
            When something cannot answer; done again, it goes on.
        """
        await self._objects.purge(user_prefix(user))
        await self._index.purge(user)
        for rows in (self._chunks, self._pages, self._spans, self._texts, self._folders):
            await rows.purge(user)
        # Last: what is not listed here would be looked for by nobody.
        await self._records.purge(user)
        _log.info("knowledge base of a user removed")

    async def _promote_duplicates(self, user: UserId, document: DocumentId) -> None:
        """Process what was found by way of the document that is gone."""
        for record in await self._records.of_user(user):
            if record.duplicate_of != document:
                continue
            again = record.restarted(ReprocessMode.FULL, Reprocess.FROM_OBJECT, uuid4().hex)
            try:
                await self._records.save(user, again, now=self._clock.now(), run=record.run)
            except StaleRunError:
                continue
            await self._queue.take_on(IngestionStep(user_id=user, document_id=record.id, run=again.run))
