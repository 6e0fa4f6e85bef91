"""What the knowledge base needs from outside, as small protocols; the rules of ``shared.ports`` hold here too."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.folders import FolderId, Folders
from shared.domain.kb.hits import Hit, LiveDocument, Vector
from shared.domain.kb.ingestion import DocumentRemoval, IngestionStep, UserRemoval
from shared.domain.kb.ocr import OcrText
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import PageScan, ParsedDocument
from shared.domain.kb.records import DocumentRecord
from shared.domain.spans import Span

if TYPE_CHECKING:
    # As in ``shared.ports``.
    from langchain_core.messages import AnyMessage

MAX_HITS: Final = 100
"""How many hits one query may ask for."""


class Index(Protocol):
    """Finds the chunks of a user that fit a question.

    A chunk is kept under its id. Written chunks are found by every query that begins after the write has ended, and
    removed ones by none. An index holds vectors of one dimension: another model needs another index.
    """

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        ...

    async def upsert(self, user: UserId, chunks: Sequence[Chunk], vectors: Sequence[Vector]) -> None:
        """Keep chunks with their vectors, one for each; a chunk that is there already is replaced.

        Raises
        ------
        InvalidInputError
            When there are not as many vectors as chunks, or one has another dimension; nothing was written.
        StoreError
            When the index cannot answer; some of the chunks may have been written.
        """
        ...

    async def delete(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Remove chunks; ids that are not there, or belong to another user, change nothing. Raises ``StoreError``."""
        ...

    async def query(
        self,
        user: UserId,
        *,
        vector: Vector | None = None,
        text: str = "",
        k: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> Sequence[Hit]:
        """Find the chunks nearest to a vector, or with the words of a text, or both fused (row KB24).

        Parameters
        ----------
        user : str
            Whose chunks; looked at before anything is ranked.
        vector : sequence of float, optional
            Of the question, for a search by meaning.
        text : str
            The question, for a search by words. With both, the two rankings are fused by reciprocal rank.
        k : int
            How many hits at most; at most ``MAX_HITS``.
        documents : sequence of str, optional
            Only chunks of these documents; of all when ``None``, of none when empty.

        Returns
        -------
        sequence of Hit
            The best first; a higher score is a better hit, and scores of one query can be compared.

        Raises
        ------
        InvalidInputError
            When the vector has another dimension.
        StoreError
            When the index cannot answer.
        """
        ...

    async def purge(self, user: UserId) -> None:
        """Remove every chunk of a user. Raises ``StoreError``."""
        ...


class Embedder(Protocol):
    """Turns a text into a vector: texts that mean alike get vectors that point alike."""

    @property
    def dimension(self) -> int:
        """How many numbers each vector has."""
        ...

    async def embed(self, text: str) -> Vector:
        """Give the vector of one text, after as many tries as the implementation sees fit.

        Raises
        ------
        ModelError
            When the model gives none; ``retryable`` says whether it may later.
        """
        ...


class LiveDocuments(Protocol):
    """Which documents of a user can be searched."""

    async def live(self, user: UserId, documents: Iterable[DocumentId]) -> Mapping[DocumentId, LiveDocument]:
        """Give those that have a live version; the others, and other users', are left out. Raises ``StoreError``."""
        ...


class ChunkReader(Protocol):
    """The chunks of a document in the order in which they stand in it."""

    async def of_document(self, user: UserId, document: DocumentId, version: int, *, limit: int) -> Sequence[Chunk]:
        """Read the first chunks of one version; empty when there is none for this user. Raises ``StoreError``."""
        ...


class ChunkStore(ChunkReader, Protocol):
    """The chunks of documents: what the index is filled from, and what tells which of its keys are old."""

    async def save(self, user: UserId, chunks: Sequence[Chunk]) -> None:
        """Keep chunks under their ids. Raises ``StoreError``; some of them may have been written."""
        ...

    async def ids(self, user: UserId, document: DocumentId) -> Sequence[str]:
        """Give the ids of every chunk of a document, of whichever version. Raises ``StoreError``."""
        ...

    async def remove(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        """Remove chunks; ids that are not there change nothing. Raises ``StoreError``."""
        ...

    async def purge(self, user: UserId) -> None:
        """Remove every chunk of a user. Raises ``StoreError``."""
        ...


class PageStore(Protocol):
    """The pages of documents, kept from the first look at the file until the next reading has taken their place."""

    async def save(self, user: UserId, document: DocumentId, reading: int, pages: Sequence[Page]) -> None:
        """Keep pages of a reading; those that are there already are replaced. Raises ``StoreError``."""
        ...

    async def of_reading(
        self, user: UserId, document: DocumentId, reading: int, *, characters: int | None = None
    ) -> Sequence[Page]:
        """Read the pages of a reading in order; empty when there are none for this user. Raises ``StoreError``.

        With ``characters`` it may stop after the first pages that have so many together.
        """
        ...

    async def remove(self, user: UserId, document: DocumentId, *, before: int | None = None) -> None:
        """Remove the pages of every reading, or of those below a number. Raises ``StoreError``."""
        ...

    async def purge(self, user: UserId) -> None:
        """Remove every page of a user. Raises ``StoreError``."""
        ...


class OcrTexts(Protocol):
    """What OCR has read for a user, by the bytes of the file and the page: nothing is paid for twice."""

    async def get(self, user: UserId, sha256: str, numbers: Iterable[int]) -> Mapping[int, OcrText]:
        """Give the texts of those pages that were read. Raises ``StoreError``."""
        ...

    async def save(self, user: UserId, sha256: str, texts: Mapping[int, OcrText]) -> None:
        """Keep texts by their pages; those that are there already are replaced. Raises ``StoreError``."""
        ...

    async def has_any(self, user: UserId, sha256: str = "") -> bool:
        """Say whether there is any text of a file; of whichever without one. Raises ``StoreError``."""
        ...

    async def keep_only(self, user: UserId, digests: Iterable[str]) -> None:
        """Remove the texts of all other files. Raises ``StoreError``; done again, it goes on."""
        ...

    async def purge(self, user: UserId) -> None:
        """Remove every text of a user. Raises ``StoreError``."""
        ...


class DocumentRecords(Protocol):
    """What is known of each document of a user. A deleted document reads as missing."""

    async def get(self, user: UserId, document: DocumentId) -> DocumentRecord:
        """Read one.

        Raises
        ------
        DocumentNotFoundError
            When there is none for this user.
        """
        ...

    async def of_user(self, user: UserId) -> Sequence[DocumentRecord]:
        """Read all, the newest first. Raises ``StoreError``."""
        ...

    async def save(self, user: UserId, record: DocumentRecord, *, now: datetime, run: str | None = None) -> None:
        """Write everything but what the upload itself says: key, object version, size, the time of the upload.

        Parameters
        ----------
        user : str
            Whose document.
        record : DocumentRecord
            As it is to be, from ``now`` on.
        now : datetime
            The present moment.
        run : str, optional
            The run that has the document until now; the record's own unless a new one takes over.

        Raises
        ------
        StaleRunError
            When another run has the document, or it is gone.
        IllegalTransitionError
            When its state cannot become the record's.
        """
        ...

    async def remove(self, user: UserId, document: DocumentId, *, run: str, now: datetime) -> int:
        """Leave a marker for a while, so that late events of the object change nothing; done already, do nothing.

        Returns
        -------
        int
            The highest version that the document was given: what is above it belongs to a later upload.

        Raises
        ------
        StaleRunError
            When another run has the document: it was uploaded again.
        """
        ...

    async def claim_bytes(self, user: UserId, sha256: str, document: DocumentId) -> DocumentId:
        """Say who has these bytes: the first that claimed them, which is this document if nobody had (row KB05)."""
        ...

    async def release_bytes(self, user: UserId, sha256: str, document: DocumentId) -> None:
        """Take the claim back, if it is this document's."""
        ...

    async def purge(self, user: UserId) -> None:
        """Remove all that is known of any document of a user, markers too."""
        ...


class MessageDocuments(Protocol):
    """Shows what is in the files of messages."""

    async def shown(self, user: UserId | None, messages: "Sequence[AnyMessage]") -> "Sequence[AnyMessage]":
        """Give the messages, one for one, with the texts of their documents. Raises ``StoreError``."""
        ...


class FolderStore(Protocol):
    """The folders that users made."""

    async def of_user(self, user: UserId) -> Folders:
        """Read them. Raises ``StoreError``."""
        ...

    async def save(self, folders: Folders) -> None:
        """Write them over the version before theirs.

        Raises
        ------
        VersionConflictError
            When that is not the one that is stored; nothing was written.
        StoreError
            When the database cannot answer.
        """
        ...

    async def purge(self, user: UserId) -> None:
        """Remove all of a user. Raises ``StoreError``."""
        ...


class FolderContents(Protocol):
    """Which documents are in folders."""

    async def documents_in(self, user: UserId, folders: Iterable[FolderId]) -> Sequence[DocumentId]:
        """Give what has to be searched for a search of folders.

        A folder that is missing or another user's has none, and a duplicate is found by what it is a duplicate of.
        Raises ``StoreError``.
        """
        ...


class Spans(Protocol):
    """What happened in the runs of documents; kept for a while only."""

    async def save(self, user: UserId, document: DocumentId, spans: Sequence[Span]) -> None:
        """Write spans; one that is there already is replaced (row OB03). Raises ``StoreError``."""
        ...

    async def of_document(self, user: UserId, document: DocumentId) -> Sequence[Span]:
        """Read all that have not expired, by the time they began. Raises ``StoreError``."""
        ...

    async def remove(self, user: UserId, document: DocumentId) -> None:
        """Remove all of a document. Raises ``StoreError``."""
        ...

    async def purge(self, user: UserId) -> None:
        """Remove all of a user. Raises ``StoreError``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTicket:
    """Leave to upload one object.

    Parameters
    ----------
    url : str
        Where to send it with ``PUT``.
    headers : mapping
        What has to be sent along, as it is: size and type are part of what is signed.
    expires_at : datetime
        Until when.
    """

    url: str
    headers: Mapping[str, str]
    expires_at: datetime


class ObjectStore(Protocol):
    """The objects that users uploaded."""

    async def read(self, key: str, version: str | None, *, max_bytes: int) -> bytes:
        """Read an object.

        Raises
        ------
        ObjectGoneError
            When it, or this version of it, is not there.
        DocumentTooLargeError
            When it has more bytes; no more than these were read.
        StoreError
            When the store cannot answer.
        """
        ...

    async def exists(self, key: str, version: str | None) -> bool:
        """Say whether an object is there. Raises ``StoreError``."""
        ...

    async def delete(self, key: str) -> None:
        """Delete an object, if it is there. Raises ``StoreError``."""
        ...

    async def purge(self, prefix: str) -> None:
        """Delete every version of every object whose key starts with a prefix. Raises ``StoreError``."""
        ...


class UploadOffers(Protocol):
    """Gives leave to upload."""

    async def offer(self, key: str, *, size: int, media_type: str, now: datetime) -> UploadTicket:
        """Let one object of exactly this size and type be uploaded. Raises ``StoreError``."""
        ...


class UploadWriter(Protocol):
    """Writes uploads itself, for files that come by another way than a presigned request."""

    async def write(self, key: str, data: bytes, *, media_type: str, over: bool = False) -> bool:
        """Write an object, unless there is one of this key; say whether it was written. Raises ``StoreError``.

        With ``over`` it takes the place of the one that is there.
        """
        ...


class IngestionQueue(Protocol):
    """Where work on documents waits."""

    async def take_on(self, step: IngestionStep, *, after_seconds: int = 0) -> None:
        """Queue the next step of a run. Raises ``StoreError``."""
        ...

    async def remove(self, removal: DocumentRemoval) -> None:
        """Queue the removal of what a document has. Raises ``StoreError``."""
        ...

    async def remove_user(self, removal: UserRemoval) -> None:
        """Queue the removal of everything that a user has. Raises ``StoreError``."""
        ...


class DocumentParser(Protocol):
    """Turns the bytes of a file into pages. What comes in may be anything."""

    async def parse(self, data: bytes, name: str) -> ParsedDocument:
        """Read a file's pages, at least one of which has text or needs OCR.

        Parameters
        ----------
        data : bytes
            The file.
        name : str
            What it is called; its ending tells apart the kinds of text, which have no signature.

        Raises
        ------
        DocumentError
            When it cannot be read; its ``state`` is where the document ends.
        """
        ...

    async def scans(self, data: bytes, name: str, numbers: Sequence[int]) -> Sequence[PageScan]:
        """Give pages of a file for OCR, each in a file of its own; a few at a time, for they are all held in memory.

        Raises
        ------
        DocumentError
            When one of them cannot be given.
        """
        ...


class Ocr(Protocol):
    """Reads pictures of text."""

    async def read(self, scan: PageScan) -> OcrText:
        """Read one page; a page without words gives an empty text.

        Raises
        ------
        OcrDeniedError
            When OCR may not be used at all: documents that need it end as ``NEEDS_OCR``.
        OcrRefusedError
            When this page cannot be read.
        OcrError
            When it could not be read this time; ``retryable``.
        """
        ...
