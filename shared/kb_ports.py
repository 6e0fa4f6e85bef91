"""What the knowledge base needs from outside, as small protocols; the rules of ``shared.ports`` hold here too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.hits import Hit, LiveDocument, Vector
from shared.domain.kb.ocr import OcrText
from shared.domain.kb.parsed import PageScan, ParsedDocument

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
