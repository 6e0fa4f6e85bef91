"""Finding what a user's documents say about a question."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from shared.domain import counters
from shared.domain.errors import ModelError, StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.hits import LiveDocument, Vector
from shared.domain.kb.mentions import readable
from shared.domain.kb.passages import Passages, passages_within
from shared.kb_ports import MAX_HITS, ChunkReader, Embedder, Index, LiveDocuments
from shared.ports import Metrics

Basis = Literal["hybrid", "words", "reading", "none"]
"""How passages were chosen. ``words``: without the vectors, because the embedding model did not answer. ``reading``:
the documents from their beginning, because nothing was asked. ``none``: the knowledge base did not answer; what is
not found may be there."""

# Asked for beyond what is wanted: some hits may be of versions that are being removed.
_SPARE: Final = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """What one search may take.

    Parameters
    ----------
    token_budget : int
        Estimated tokens of all passages together.
    question_chars : int
        Characters of a question that are looked at.
    embed_seconds : float
        How long the question's vector is waited for before the search goes on without it.
    """

    token_budget: int = 6_000
    question_chars: int = 2_000
    embed_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Parameters
    ----------
    found : Passages
        Numbered passages, the best first, and how many more there were.
    basis : str
        See :data:`Basis`.
    """

    found: Passages
    basis: Basis

    @property
    def degraded(self) -> bool:
        """Whether a better answer may be had later."""
        return self.basis in ("words", "none")


class SearchKnowledge:
    """Searches the live documents of one user, and of no other.

    Parameters
    ----------
    index : Index
        Finds chunks.
    embedder : Embedder
        The model that the index's vectors are of.
    documents : LiveDocuments
        Says which version of each document counts.
    chunks : ChunkReader
        Reads documents when nothing is asked.
    metrics : Metrics
        See ``shared.domain.counters``.
    limits : SearchLimits
        What one search may take.

    Raises
    ------
    ValueError
        When index and embedder are of different dimensions.
    """

    def __init__(
        self,
        *,
        index: Index,
        embedder: Embedder,
        documents: LiveDocuments,
        chunks: ChunkReader,
        metrics: Metrics,
        limits: SearchLimits | None = None,
    ) -> None:
        if index.dimension != embedder.dimension:
            raise ValueError(f"The index has {index.dimension} dimensions and the model {embedder.dimension}.")
        self._index = index
        self._embedder = embedder
        self._documents = documents
        self._chunks = chunks
        self._metrics = metrics
        self._limits = limits or SearchLimits()

    async def search(
        self,
        user: UserId,
        question: str,
        document_ids: Sequence[DocumentId] | None = None,
        k: int = 8,
        *,
        first: int = 1,
    ) -> SearchResult:
        """Find the passages that fit a question (rows KB23 and KB24).

        Never raises because something did not answer: a turn goes on without its documents, and says so.

        Parameters
        ----------
        user : str
            Whose documents. From the verified identity, never from what a model or a message says.
        question : str
            In the user's words or the model's; mentions in it count as their labels. When it is blank, the documents
            of ``document_ids`` are read from their beginning.
        document_ids : sequence of str, optional
            Look only in these. Ids of nothing, or of another user's documents, find nothing.
        k : int
            How many passages at most.
        first : int
            The first passage's number.
        """
        asked = readable(question).strip()[: self._limits.question_chars]
        wanted = max(1, min(k, MAX_HITS))
        try:
            if asked:
                vector = await self._vector_of(asked)
                basis: Basis = "words" if vector is None else "hybrid"
                chunks, live = await self._find(user, asked, vector, document_ids, wanted)
            else:
                basis = "reading"
                chunks, live = await self._read(user, document_ids or (), wanted)
            found = passages_within(self._limits.token_budget, chunks, live, first=first)
        except StoreError as error:
            basis, found = "none", Passages()
            _log.warning("knowledge base did not answer", extra={"code": error.code, "reason": str(error)})
        result = SearchResult(found, basis)
        if result.degraded:
            self._metrics.count(counters.SEARCH_DEGRADED)
        _log.info(
            "knowledge base searched",
            extra={"basis": basis, "passages": len(result.found.passages), "left_out": result.found.left_out},
        )
        return result

    async def _vector_of(self, question: str) -> Vector | None:
        try:
            async with asyncio.timeout(self._limits.embed_seconds):
                return await self._embedder.embed(question)
        except (ModelError, TimeoutError) as error:
            _log.warning("question not embedded", extra={"code": getattr(error, "code", "TIMEOUT")})
            return None

    async def _find(
        self,
        user: UserId,
        question: str,
        vector: Vector | None,
        scope: Sequence[DocumentId] | None,
        wanted: int,
    ) -> tuple[list[Chunk], Mapping[DocumentId, LiveDocument]]:
        # Twice at most: deletes that lag may have filled the first answer with what nobody is to see.
        asked = min(wanted + _SPARE, MAX_HITS)
        while True:
            hits = await self._index.query(user, vector=vector, text=question, k=asked, documents=scope)
            live = await self._documents.live(user, dict.fromkeys(hit.chunk.place.document_id for hit in hits))
            chunks = [hit.chunk for hit in hits if _is_live(hit.chunk, live)]
            if dropped := len(hits) - len(chunks):
                self._metrics.count(counters.SEARCH_HITS_DROPPED, dropped)
            if len(chunks) >= wanted or len(hits) < asked or asked == MAX_HITS:
                return chunks[:wanted], live
            asked = MAX_HITS

    async def _read(
        self, user: UserId, scope: Sequence[DocumentId], wanted: int
    ) -> tuple[list[Chunk], Mapping[DocumentId, LiveDocument]]:
        live = await self._documents.live(user, scope)
        chunks: list[Chunk] = []
        for document in scope:
            if document in live and len(chunks) < wanted:
                limit = wanted - len(chunks)
                chunks += await self._chunks.of_document(user, document, live[document].version, limit=limit)
        return chunks, live


def _is_live(chunk: Chunk, live: Mapping[DocumentId, LiveDocument]) -> bool:
    place = chunk.place
    return place.document_id in live and live[place.document_id].version == place.version
