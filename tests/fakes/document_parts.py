"""What documents are made of, kept in memory: pages, chunks, and what happened to them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, parse_chunk_id
from shared.domain.kb.ocr import OcrText
from shared.domain.kb.pages import Page
from shared.domain.spans import KEEP, Span
from tests.fakes.clock import FixedClock
from tests.fakes.faults import Faults


class InMemoryChunks(Faults):
    """Implements ``ChunkStore``; ``kept`` holds every user's chunks by their ids."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[UserId, dict[str, Chunk]] = {}

    async def save(self, user: UserId, chunks: Sequence[Chunk]) -> None:
        self._called("save")
        self.kept.setdefault(user, {}).update({chunk.id: chunk for chunk in chunks})

    async def of_document(self, user: UserId, document: DocumentId, version: int, *, limit: int) -> Sequence[Chunk]:
        self._called("of_document")
        of_version = [
            chunk
            for chunk in self.kept.get(user, {}).values()
            if (chunk.place.document_id, chunk.place.version) == (document, version)
        ]
        return sorted(of_version, key=lambda chunk: chunk.place.number)[:limit]

    async def ids(self, user: UserId, document: DocumentId) -> Sequence[str]:
        self._called("ids")
        return [each for each in self.kept.get(user, {}) if parse_chunk_id(each).document_id == document]

    async def remove(self, user: UserId, chunk_ids: Iterable[str]) -> None:
        self._called("remove")
        for each in chunk_ids:
            self.kept.get(user, {}).pop(each, None)

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept.pop(user, None)


class InMemoryPages(Faults):
    """Implements ``PageStore``.

    ``kept`` holds pages by user, document, reading and number, ``pages_read`` says how many were read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pages_read = 0
        self.kept: dict[tuple[UserId, DocumentId, int, int], Page] = {}

    async def save(self, user: UserId, document: DocumentId, reading: int, pages: Sequence[Page]) -> None:
        self._called("save")
        self.kept |= {(user, document, reading, page.number): page for page in pages}

    async def of_reading(
        self, user: UserId, document: DocumentId, reading: int, *, characters: int | None = None
    ) -> Sequence[Page]:
        self._called("of_reading")
        pages: list[Page] = []
        for key in sorted(key for key in self.kept if key[:3] == (user, document, reading)):
            pages.append(self.kept[key])
            if characters is not None and sum(len(page.text) for page in pages) >= characters:
                break
        self.pages_read += len(pages)
        return pages

    async def remove(self, user: UserId, document: DocumentId, *, before: int | None = None) -> None:
        self._called("remove")
        for key in [key for key in self.kept if key[:2] == (user, document) and (before is None or key[2] < before)]:
            del self.kept[key]

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept = {key: page for key, page in self.kept.items() if key[0] != user}


class InMemoryOcrTexts(Faults):
    """Implements ``OcrTexts``; ``kept`` holds texts by user, file and page."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[UserId, str, int], OcrText] = {}

    async def get(self, user: UserId, sha256: str, numbers: Iterable[int]) -> Mapping[int, OcrText]:
        self._called("get")
        return {n: self.kept[user, sha256, n] for n in numbers if (user, sha256, n) in self.kept}

    async def save(self, user: UserId, sha256: str, texts: Mapping[int, OcrText]) -> None:
        self._called("save")
        self.kept |= {(user, sha256, number): text for number, text in texts.items()}

    async def has_any(self, user: UserId, sha256: str = "") -> bool:
        self._called("has_any")
        return any(owner == user and sha256 in ("", digest) for owner, digest, _ in self.kept)

    async def keep_only(self, user: UserId, digests: Iterable[str]) -> None:
        self._called("keep_only")
        wanted = set(digests)
        self.kept = {key: text for key, text in self.kept.items() if key[0] != user or key[1] in wanted}

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept = {key: text for key, text in self.kept.items() if key[0] != user}


class InMemorySpans(Faults):
    """Implements ``Spans``; ``kept`` holds spans by user, document, run and id."""

    def __init__(self, clock: FixedClock | None = None, keep: timedelta = KEEP) -> None:
        super().__init__()
        self._clock = clock or FixedClock()
        self._keep = keep
        self.kept: dict[tuple[UserId, DocumentId, str, str], Span] = {}

    async def save(self, user: UserId, document: DocumentId, spans: Sequence[Span]) -> None:
        self._called("save")
        self.kept |= {(user, document, span.run, span.id): span for span in spans}

    async def of_document(self, user: UserId, document: DocumentId) -> Sequence[Span]:
        self._called("of_document")
        living = [
            span
            for key, span in self.kept.items()
            if key[:2] == (user, document) and span.started_at + self._keep > self._clock.now()
        ]
        return sorted(living, key=lambda span: span.started_at)

    async def remove(self, user: UserId, document: DocumentId) -> None:
        self._called("remove")
        self.kept = {key: span for key, span in self.kept.items() if key[:2] != (user, document)}

    async def purge(self, user: UserId) -> None:
        self._called("purge")
        self.kept = {key: span for key, span in self.kept.items() if key[0] != user}
