"""KB23 to KB25, HID-13."""

import asyncio
import logging

import pytest

from shared.domain import counters
from shared.domain.errors import ModelThrottledError, StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.hits import LiveDocument
from shared.services.search_knowledge import SearchKnowledge, SearchLimits
from tests.fakes.embedder import WordEmbedder
from tests.fakes.index import InMemoryIndex
from tests.fakes.live_documents import InMemoryLiveDocuments
from tests.fakes.metrics import CountingMetrics

ANNA, BEN = UserId("anna"), UserId("ben")
TEA, CATS = (DocumentId(f"d-00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))


class Library:
    def __init__(self, **limits):
        self.index, self.embedder = InMemoryIndex(256), WordEmbedder(256)
        self.documents, self.metrics = InMemoryLiveDocuments(), CountingMetrics()
        self.service = SearchKnowledge(
            index=self.index,
            embedder=self.embedder,
            documents=self.documents,
            chunks=self.documents,
            metrics=self.metrics,
            limits=SearchLimits(**limits),
        )

    async def add(self, user, document, *texts, version=1, live=True):
        chunks = [
            Chunk(
                id=chunk_id(document, version, n),
                text=text,
                heading_path=(),
                page_from=n + 1,
                page_to=n + 1,
                start=0,
                end=len(text),
            )
            for n, text in enumerate(texts)
        ]
        await self.index.upsert(user, chunks, [self.embedder.of(text) for text in texts])
        self.documents.chunks.setdefault(user, []).extend(chunks)
        if live:
            self.documents.rows.setdefault(user, {})[document] = LiveDocument(f"{document[-1]}.pdf", version)

    async def texts(self, question, document_ids=None, *, user=ANNA, **more):
        return [
            passage.text for passage in (await self.service.search(user, question, document_ids, **more)).found.passages
        ]


@pytest.fixture
async def library():
    library = Library()
    await library.add(ANNA, TEA, "green tea is steeped at seventy degrees", "black tea takes boiling water")
    await library.add(ANNA, CATS, "cats sleep sixteen hours", "cats do not drink tea")
    await library.add(BEN, TEA, "the secret of tea is patience")
    return library


async def test_the_best_passage_comes_first_and_says_where_it_is(library):
    result = await library.service.search(ANNA, "How many degrees for steeped green tea?", k=2, first=4)
    first, second = result.found.passages
    assert first.text == "green tea is steeped at seventy degrees"
    assert (first.number, first.document, first.page_from, first.chunk_id) == (4, "1.pdf", 1, f"{TEA}:1:0")
    assert second.number == 5
    assert (result.basis, result.degraded) == ("hybrid", False)
    assert library.metrics.counts[counters.SEARCH_DEGRADED] == 0


async def test_nobody_finds_what_another_has(library):
    """Also where both have a document of the same id: HID-13."""
    found = await library.texts("secret patience", user=ANNA, k=50)
    assert len(found) == 4
    assert not any("secret" in text for text in found)
    assert await library.texts("secret patience", user=BEN, k=50) == ["the secret of tea is patience"]
    assert await library.texts("tea", user=UserId("carl")) == []


async def test_a_search_can_be_narrowed_to_documents(library):
    assert set(await library.texts("tea", [CATS])) == {"cats sleep sixteen hours", "cats do not drink tea"}
    assert await library.texts("tea", []) == []


async def test_ids_of_nothing_and_of_other_users_find_nothing(library):
    """KB25."""
    await library.add(BEN, other := DocumentId("d-00000000-0000-4000-8000-000000000009"), "tea")
    assert await library.texts("tea", [other]) == []
    assert await library.texts("", [other]) == []


async def test_mentions_are_searched_by_their_label(library):
    await library.service.search(ANNA, f"Does :kb-document[Cats at home]{{documentId={CATS}}} say?")
    assert library.embedder.texts == ["Does “Cats at home” say?"]


async def test_versions_that_are_not_live_are_dropped_and_counted(library):
    await library.add(ANNA, CATS, "cats sleep twelve hours", version=2)
    texts = await library.texts("cats sleep hours", k=50)
    assert "cats sleep twelve hours" in texts
    assert "cats sleep sixteen hours" not in texts
    assert library.metrics.counts[counters.SEARCH_HITS_DROPPED] == 2


async def test_a_deleted_document_is_not_found_though_the_index_still_has_it(library):
    del library.documents.rows[ANNA][CATS]
    assert await library.texts("cats", k=50) == [
        "green tea is steeped at seventy degrees",
        "black tea takes boiling water",
    ]


async def test_many_stale_hits_do_not_hide_the_live_ones(library):
    await library.add(ANNA, CATS, *["cats cats"] * 40, version=7, live=False)
    assert "cats sleep sixteen hours" in await library.texts("cats", k=4)
    assert library.index.calls["query"] == 2


async def test_without_the_embedding_model_words_alone_are_searched(library):
    library.embedder.failure = ModelThrottledError("over quota")
    result = await library.service.search(ANNA, "green")
    assert [passage.text for passage in result.found.passages] == ["green tea is steeped at seventy degrees"]
    assert (result.basis, result.degraded) == ("words", True)
    assert library.metrics.counts[counters.SEARCH_DEGRADED] == 1


async def test_an_embedding_model_that_hangs_is_not_waited_for():
    library = Library(embed_seconds=0.01)
    await library.add(ANNA, TEA, "green tea")

    async def hang(text):
        await asyncio.Event().wait()

    library.embedder.embed = hang
    assert (await library.service.search(ANNA, "green")).basis == "words"


@pytest.mark.parametrize("broken", ["index", "documents"])
async def test_a_search_that_cannot_be_answered_says_so(library, broken):
    getattr(library, broken).failure = StoreError("down")
    result = await library.service.search(ANNA, "tea")
    assert (result.found.passages, result.basis, result.degraded) == ((), "none", True)
    assert library.metrics.counts[counters.SEARCH_DEGRADED] == 1


async def test_nothing_asked_reads_the_documents_from_their_beginning(library):
    """KB23: an empty query dumps the scope."""
    assert await library.texts(" ", [CATS, TEA], k=3) == [
        "cats sleep sixteen hours",
        "cats do not drink tea",
        "green tea is steeped at seventy degrees",
    ]
    assert library.embedder.texts == []
    assert await library.texts("") == []


async def test_passages_stay_within_the_budget():
    library = Library(token_budget=100)
    await library.add(ANNA, TEA, *["tea " * 80] * 3)
    found = (await library.service.search(ANNA, "tea")).found
    assert len(found.passages) == 1
    assert found.left_out == 2


async def test_a_long_question_is_cut():
    library = Library(question_chars=10)
    await library.service.search(ANNA, "abcdefghijklmnop")
    assert library.embedder.texts == ["abcdefghij"]


def test_index_and_model_must_be_of_one_dimension():
    with pytest.raises(ValueError, match="3 dimensions"):
        SearchKnowledge(
            index=InMemoryIndex(3),
            embedder=WordEmbedder(4),
            documents=InMemoryLiveDocuments(),
            chunks=InMemoryLiveDocuments(),
            metrics=CountingMetrics(),
        )


async def test_logs_hold_neither_question_nor_passage(library, caplog):
    caplog.set_level(logging.DEBUG)
    await library.service.search(ANNA, "green tea hush-hush")
    library.index.failure = StoreError("down")
    await library.service.search(ANNA, "green tea hush-hush")
    said = " ".join(str(vars(record)) for record in caplog.records)
    assert "passages" in said
    assert "hush" not in said
    assert "steeped" not in said
