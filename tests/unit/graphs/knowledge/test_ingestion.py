"""Documents through the whole graph, over fakes: the parser is the product's own, in this process."""

from datetime import timedelta

import pytest

from shared.domain import counters
from shared.domain.errors import MissingUserIdError, ModelRefusedError, ModelThrottledError, StoreError
from shared.domain.ids import UserId
from shared.domain.kb.records import DocumentNotFoundError, RunOrigin
from shared.domain.kb.reprocess import Reprocess, ReprocessMode
from shared.domain.kb.states import DocumentState
from shared.domain.spans import SpanKind, SpanStatus
from shared.graphs.agent.envelope import Envelope
from shared.graphs.ids import KB_AGENT
from shared.graphs.knowledge.runner import MAX_STALLS, Bounds
from shared.graphs.knowledge.topology import build
from tests.fakes.knowledge import ANNA, KnowledgeBase
from tests.fakes.made_files import PdfPage, pdf

BEN = UserId("ben")
NODES = ["prepareKBDataNode", "ocrNode", "pageToMarkdownNode", "generateChunkEmbedNode"]


def prose(topic, paragraphs=1):
    """A Markdown file that makes about one chunk of each paragraph."""
    return "\n\n".join(f"# {topic} {n}\n\n" + f"The {topic} number {n} is told here. " * 30 for n in range(paragraphs))


@pytest.fixture
def kb():
    return KnowledgeBase()


async def test_an_upload_becomes_searchable(kb):
    record = await kb.upload("notes.md", prose("heron", 3).encode())
    assert (record.state, record.reason) == (DocumentState.READY, "")
    assert (record.pages, record.pages_done, record.chunks) == (1, 1, len(record.embedded))
    assert record.chunks >= 3
    assert record.live_version == record.version == 1
    found = await kb.found("heron number 2")
    assert found
    assert "heron 2" in found[0]
    assert kb.metrics.counts[counters.DOCUMENT_READY] == 1


async def test_the_nodes_run_in_the_seed_s_order_and_are_noted(kb):
    # G22, KB07, OB01, OB02
    record = await kb.upload("notes.md", prose("heron").encode())
    spans = await kb.spans.of_document(ANNA, record.id)
    assert [span.name for span in spans if span.kind is SpanKind.NODE] == NODES
    root = next(span for span in spans if span.kind is SpanKind.RUN)
    assert (root.name, root.status, root.parent) == (KB_AGENT, SpanStatus.OK, None)
    assert root.facts == {"origin": "kb-upload", "mode": "full", "version": 1, "state": "READY"}
    assert {span.parent for span in spans if span.kind is SpanKind.NODE} == {root.id}
    assert {span.kind for span in spans} >= {SpanKind.CHUNKS}


async def test_the_graph_has_the_seed_s_nodes_and_keeps_nothing(kb):
    # G22, G24, G26
    graph = build(kb.pipeline())
    assert graph.name == KB_AGENT
    assert [name for name in graph.nodes if name != "__start__"] == [*NODES, "rewriteMessagesNode"]
    assert (graph.checkpointer, graph.store) == (False, None)


async def test_a_run_for_nobody_or_for_somebody_else_does_nothing(kb):
    # KB01
    await kb.uploads.note(kb.change("notes.md", b"text"))
    record = await kb.record("notes.md")
    begun = kb.runner._ingestion(ANNA, record, Bounds(seconds_left=lambda: 600.0))
    for envelope in (Envelope(), Envelope(user=BEN)):
        with pytest.raises(MissingUserIdError):
            await build(kb.pipeline()).ainvoke({"ingestion": begun}, envelope.into({}))
    assert (await kb.record("notes.md")).state is DocumentState.PENDING


async def test_a_row_is_there_before_anything_is_read(kb):
    # KB06
    seen = []
    parse = kb.parser.parse

    async def look(data, name):
        seen.append((await kb.record("notes.md")).state)
        return await parse(data, name)

    kb.parser.parse = look
    await kb.upload("notes.md", b"some text")
    assert seen == [DocumentState.PENDING]


async def test_two_users_may_upload_the_same_bytes(kb):
    # KB05
    data = prose("heron").encode()
    first, second = await kb.upload("a.md", data), await kb.upload("a.md", data, user=BEN)
    assert (first.state, second.state) == (DocumentState.READY, DocumentState.READY)
    assert first.id != second.id
    assert second.duplicate_of is None
    await kb.deliver(kb.change("a.md", None))
    assert await kb.found("heron") == []
    assert await kb.found("heron", user=BEN)


async def test_the_same_event_again_does_nothing(kb):
    change = kb.change("notes.md", prose("heron").encode())
    await kb.deliver(change)
    before, embedded = await kb.record("notes.md"), len(kb.embedder.texts)
    kb.clock.advance(timedelta(hours=1))
    assert await kb.deliver(change) == "ended"
    assert await kb.record("notes.md") == before
    assert (len(kb.embedder.texts), kb.objects.calls["read"]) == (embedded, 1)


async def test_an_event_that_comes_late_does_nothing(kb):
    old, new = kb.change("notes.md", prose("heron").encode()), kb.change("notes.md", prose("egret").encode())
    await kb.deliver(new)
    assert await kb.deliver(old) is None
    assert await kb.found("egret")
    assert await kb.found("heron") == []


async def test_a_deletion_that_comes_before_its_upload_leaves_nothing(kb):
    created, deleted = kb.change("notes.md", prose("heron").encode()), kb.change("notes.md", None)
    await kb.deliver(deleted)
    assert await kb.deliver(created) is None
    assert (kb.chunks.kept, kb.index.kept, kb.pages.kept) == ({}, {}, {})


async def test_a_deleted_object_leaves_nothing_of_its_document(kb):
    record = await kb.upload("notes.md", prose("heron", 3).encode())
    await kb.upload("other.md", prose("egret").encode())
    await kb.deliver(kb.change("notes.md", None))
    with pytest.raises(DocumentNotFoundError):
        await kb.record("notes.md")
    assert not await kb.chunks.ids(ANNA, record.id)
    assert {chunk.place.document_id for chunk, _ in kb.index.kept[ANNA].values()} == {kb.id_of("other.md")}
    assert {key[1] for key in kb.pages.kept} == {kb.id_of("other.md")}
    assert await kb.spans.of_document(ANNA, record.id) == []
    assert await kb.found("egret")


async def test_a_new_version_replaces_the_old_one_even_with_fewer_chunks(kb):
    first = await kb.upload("notes.md", prose("heron", 9).encode())
    second = await kb.upload("notes.md", prose("egret", 2).encode())
    assert second.chunks < first.chunks
    assert (second.live_version, second.state) == (2, DocumentState.READY)
    assert await kb.found("heron") == []
    assert await kb.found("egret")
    assert len(await kb.chunks.ids(ANNA, second.id)) == len(kb.index.kept[ANNA]) == second.chunks
    assert {key[2] for key in kb.pages.kept} == {2}


async def test_readers_see_the_old_version_until_the_new_one_is_complete(kb):
    await kb.upload("notes.md", prose("heron", 3).encode())
    kb.embedder.failures["embed"] = ModelThrottledError("slow down")
    half = await kb.upload("notes.md", prose("egret", 30).encode())
    assert (half.state, half.live_version, half.version) == (DocumentState.EMBEDDING, 1, 2)
    assert await kb.found("heron")
    assert await kb.found("egret") == []
    kb.embedder.failures.clear()
    assert await kb.next_step() == "ended"
    assert await kb.found("egret")
    assert await kb.found("heron") == []


async def test_a_version_that_cannot_be_read_leaves_readers_what_they_have(kb):
    await kb.upload("notes.md", prose("heron").encode())
    record = await kb.upload("notes.md", b"")
    assert (record.state, record.live_version) == (DocumentState.EMPTY, 1)
    assert await kb.found("heron")
    assert [page for key, page in kb.pages.kept.items() if key[2] == record.text_reading]


async def test_the_same_bytes_under_the_same_name_are_not_processed_again(kb):
    # KB04
    before = await kb.upload("notes.md", prose("heron", 3).encode())
    embedded = len(kb.embedder.texts)
    after = await kb.upload("notes.md", prose("heron", 3).encode())
    assert (after.state, after.live_version, after.chunks) == (DocumentState.READY, 1, before.chunks)
    assert (after.has_markdown, after.is_whole) == (True, True)
    assert len(kb.embedder.texts) == embedded
    assert await kb.found("heron")


async def test_the_same_bytes_under_another_name_are_found_by_the_first(kb):
    # KB04, KB05
    first = await kb.upload("a.md", prose("heron", 3).encode())
    found = await kb.found("heron")
    second = await kb.upload("b.md", prose("heron", 3).encode())
    assert (second.state, second.duplicate_of, second.live_version) == (DocumentState.READY, first.id, 0)
    assert await kb.found("heron") == found
    assert not await kb.chunks.ids(ANNA, second.id)


async def test_a_duplicate_takes_the_place_of_what_it_was_a_duplicate_of(kb):
    await kb.upload("a.md", prose("heron").encode())
    await kb.upload("b.md", prose("heron").encode())
    await kb.deliver(kb.change("a.md", None))
    assert await kb.found("heron") == []
    assert await kb.next_step() == "ended"
    assert await kb.found("heron")
    assert (await kb.record("b.md")).duplicate_of is None


async def test_bytes_that_failed_before_are_tried_again_under_another_name(kb):
    kb.embedder.failures["embed"] = ModelRefusedError("no")
    assert (await kb.upload("a.md", prose("heron").encode())).state is DocumentState.FAILED
    kb.embedder.failures.clear()
    second = await kb.upload("b.md", prose("heron").encode())
    assert (second.state, second.duplicate_of) == (DocumentState.READY, None)


async def test_a_document_that_becomes_a_duplicate_leaves_nothing_of_its_own(kb):
    await kb.upload("a.md", prose("heron").encode())
    await kb.upload("b.md", prose("egret").encode())
    record = await kb.upload("b.md", prose("heron").encode())
    assert record.duplicate_of == kb.id_of("a.md")
    assert await kb.found("egret") == []
    assert not await kb.chunks.ids(ANNA, record.id)


class Throttled:
    """Lets so many texts through, then refuses one that it did not take before, and takes the others."""

    def __init__(self, embedder, at, error):
        self._embedder, self._left, self._error = embedder, at, error

    @property
    def dimension(self):
        return self._embedder.dimension

    async def embed(self, text):
        self._left -= 1
        if self._left == 0:
            raise self._error
        return await self._embedder.embed(text)


async def test_throttling_at_one_text_keeps_what_was_embedded_before_and_beside_it(kb):
    texts = kb.embedder
    kb.embedder = Throttled(texts, 41, ModelThrottledError("slow down"))
    half = await kb.upload("notes.md", prose("heron", 50).encode())
    assert half.state is DocumentState.EMBEDDING
    assert len(half.embedded) in range(40, half.chunks)
    assert 40 not in half.embedded
    (step, wait), *others = kb.queue.steps
    assert (step.run, step.stalls, wait > 0, others) == (half.run, 0, True, [])

    assert await kb.next_step() == "ended"
    record = await kb.record("notes.md")
    assert record.state is DocumentState.READY
    assert len(texts.texts) == record.chunks == len(record.embedded), "no text was paid for twice"


async def test_little_time_left_in_the_middle_of_a_document_queues_the_rest(kb):
    left = iter([600.0] * 2 + [29.0] * 99)
    half = await kb.upload("notes.md", prose("heron", 40).encode(), seconds_left=lambda: next(left))
    assert (half.state, half.live_version) == (DocumentState.EMBEDDING, 0)
    assert 0 < len(half.embedded) < half.chunks
    assert await kb.found("heron") == []
    ((step, wait),) = kb.queue.steps
    assert (step.document_id, wait) == (half.id, 0)

    assert await kb.next_step() == "ended"
    record = await kb.record("notes.md")
    assert (record.state, kb.objects.calls["read"]) == (DocumentState.READY, 1)
    assert len(kb.embedder.texts) == record.chunks


async def test_a_model_that_stays_over_its_quota_ends_the_document_at_last(kb):
    kb.embedder.failures["embed"] = ModelThrottledError("slow down")
    await kb.upload("notes.md", prose("heron").encode())
    waits = []
    while kb.queue.steps:
        waits.append(kb.queue.steps[0][1])
        await kb.next_step()
    record = await kb.record("notes.md")
    assert (record.state, record.state.may_be_retried) == (DocumentState.FAILED, True)
    assert len(waits) <= MAX_STALLS + 1
    assert waits == sorted(waits)
    assert waits[-1] <= 900, "as SQS takes"
    assert kb.metrics.counts[counters.DOCUMENT_GIVEN_UP] == 1


async def test_a_chunk_that_the_model_refuses_does_not_keep_the_others_from_being_found(kb):
    # KB14, HID-32, HID-33
    kb.embedder = Throttled(kb.embedder, 2, ModelRefusedError("no"))
    record = await kb.upload("notes.md", prose("heron", 5).encode())
    assert (record.state, record.refused) == (DocumentState.FAILED, frozenset({1}))
    assert record.reason == f"1 of {record.chunks} passages could not be indexed; the others can be found."
    assert len(await kb.found("heron")) == record.chunks - 1

    again = record.restarted(ReprocessMode.RETRY_FAILED_CHUNKS, Reprocess.FROM_CHUNKS, "again")
    await kb.documents.save(ANNA, again, now=kb.clock.now(), run=record.run)
    await kb.runner.run(ANNA, record.id, Bounds(seconds_left=lambda: 600.0, run="again"))
    after = await kb.record("notes.md")
    assert (after.state, after.live_version, after.reason) == (DocumentState.READY, 1, "")
    assert len(await kb.found("heron")) == record.chunks


async def test_a_run_stops_when_the_document_has_a_newer_one(kb):
    # AWS11
    change = kb.change("notes.md", prose("heron", 30).encode())
    newer = kb.change("notes.md", prose("egret", 3).encode())
    embed = kb.embedder.embed

    async def embed_and_be_overtaken(text):
        if len(kb.embedder.texts) == 10:
            await kb.uploads.note(newer)
        return await embed(text)

    kb.embedder.embed = embed_and_be_overtaken
    assert await kb.deliver(change) == "stale"
    assert (await kb.record("notes.md")).state is DocumentState.PENDING
    assert await kb.deliver(newer) == "ended"
    assert await kb.found("heron") == []
    assert await kb.found("egret")
    assert {chunk.place.version for chunk, _ in kb.index.kept[ANNA].values()} == {2}


async def test_a_run_whose_document_is_deleted_under_it_leaves_nothing(kb):
    created, deleted = kb.change("notes.md", prose("heron", 30).encode()), kb.change("notes.md", None)
    kb.objects.put(created.key, prose("heron", 30).encode())
    embed = kb.embedder.embed

    async def embed_and_be_deleted(text):
        if len(kb.embedder.texts) == 10:
            await kb.deliver(deleted)
        return await embed(text)

    kb.embedder.embed = embed_and_be_deleted
    assert await kb.deliver(created) == "stale"
    assert (kb.chunks.kept[ANNA], kb.index.kept[ANNA], kb.pages.kept) == ({}, {}, {})
    assert kb.metrics.counts[counters.INGESTION_STALE] == 1


async def test_a_queued_step_of_a_run_that_was_taken_over_does_nothing(kb):
    left = iter([600.0] * 2 + [29.0] * 99)
    await kb.upload("notes.md", prose("heron", 40).encode(), seconds_left=lambda: next(left))
    await kb.uploads.note(kb.change("notes.md", prose("egret").encode()))
    embedded = len(kb.embedder.texts)
    assert await kb.next_step() == "stale"
    assert len(kb.embedder.texts) == embedded


async def test_an_index_that_cannot_answer_leaves_the_rest_to_the_next_delivery(kb):
    kb.index.failures["upsert"] = StoreError("down")
    change = kb.change("notes.md", prose("heron", 3).encode())
    with pytest.raises(StoreError):
        await kb.deliver(change)
    assert (await kb.record("notes.md")).state is DocumentState.EMBEDDING
    kb.index.failures.clear()
    assert await kb.deliver(change) == "ended"
    assert (await kb.record("notes.md")).state is DocumentState.READY


async def test_a_delivery_that_died_before_it_removed_what_is_old_is_finished_by_the_next(kb):
    await kb.upload("notes.md", prose("heron", 3).encode())
    kb.index.failures["delete"] = StoreError("down")
    change = kb.change("notes.md", prose("egret").encode())
    with pytest.raises(StoreError):
        await kb.deliver(change)
    assert await kb.found("heron") == [], "the flip counts, not the removal"
    kb.index.failures.clear()
    await kb.deliver(change)
    assert {chunk.place.version for chunk, _ in kb.index.kept[ANNA].values()} == {2}


async def test_spans_that_cannot_be_written_do_not_break_the_run(kb):
    # OB03
    kb.spans.failure = StoreError("down")
    assert (await kb.upload("notes.md", prose("heron").encode())).state is DocumentState.READY
    assert kb.metrics.counts[counters.SPANS_LOST] > 0


async def test_what_is_going_on_is_noted_before_it_ends(kb):
    # OB04: a crash leaves it so, and whoever reads it later sees that nobody closed it.
    seen = {}
    embed = kb.embedder.embed

    async def look(text):
        seen.update({span.name: span.status for span in kb.spans.kept.values()})
        return await embed(text)

    kb.embedder.embed = look
    await kb.upload("notes.md", prose("heron").encode())
    assert seen == {
        KB_AGENT: SpanStatus.RUNNING,
        "prepareKBDataNode": SpanStatus.OK,
        "ocrNode": SpanStatus.OK,
        "pageToMarkdownNode": SpanStatus.OK,
        "generateChunkEmbedNode": SpanStatus.RUNNING,
    }
    assert {span.status for span in kb.spans.kept.values()} == {SpanStatus.OK}


@pytest.mark.parametrize(
    ("name", "data", "state"),
    [
        ("nothing.pdf", b"", DocumentState.EMPTY),
        ("blank.txt", b" \n\n ", DocumentState.EMPTY),
        ("random.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 4, DocumentState.CORRUPT),
        ("program.exe", b"MZ\x90\x00" + bytes(200), DocumentState.UNSUPPORTED),
        ("large.txt", b"word " * 100, DocumentState.TOO_LARGE),
    ],
)
async def test_what_cannot_be_read_ends_with_a_reason(name, data, state):
    # KB15
    kb = KnowledgeBase(max_bytes=400 if state is DocumentState.TOO_LARGE else 10_000_000)
    data = data * (10 if state is DocumentState.CORRUPT else 1)
    record = await kb.upload(name, data)
    assert record.state is state
    assert record.reason
    assert (kb.index.kept, kb.queue.steps) == ({}, [])
    root = next(span for span in kb.spans.kept.values() if span.kind is SpanKind.RUN)
    assert (root.status, root.error) == (SpanStatus.FAILED, state)
    assert kb.metrics.counts[counters.DOCUMENT_ENDED] == 1


async def test_a_document_of_more_text_than_is_indexed_is_too_large():
    kb = KnowledgeBase(max_chunks=3)
    assert (await kb.upload("notes.md", prose("heron", 9).encode())).state is DocumentState.TOO_LARGE
    assert kb.chunks.kept == {}


async def test_an_object_that_is_gone_by_the_time_it_is_read_ends_the_document(kb):
    change = kb.change("notes.md", b"text")
    kb.objects.kept.clear()
    await kb.deliver(change)
    record = await kb.record("notes.md")
    assert (record.state, record.reason) == (DocumentState.FAILED, "The uploaded file is gone.")


async def test_a_document_that_was_delivered_too_often_is_given_up(kb):
    change = kb.change("notes.md", b"text")
    noted = await kb.uploads.note(change)
    await kb.runner.give_up(noted.user, noted.document)
    assert (await kb.record("notes.md")).state is DocumentState.FAILED
    # And what has come to an end is left as it is.
    await kb.upload("other.md", b"other text")
    await kb.runner.give_up(ANNA, kb.id_of("other.md"))
    await kb.runner.give_up(ANNA, kb.id_of("missing.md"))
    assert (await kb.record("other.md")).state is DocumentState.READY


async def test_every_page_of_a_pdf_is_counted_and_cited(kb):
    record = await kb.upload("pages.pdf", pdf("All about the heron.", PdfPage(["All about the egret."])))
    assert (record.kind, record.pages, record.pages_done) == ("pdf", 2, 2)
    chunks = await kb.chunks.of_document(ANNA, record.id, 1, limit=9)
    assert (chunks[0].page_from, chunks[-1].page_to) == (1, 2)


async def test_a_request_to_read_again_reads_again(kb):
    # KB04: unless forced.
    record = await kb.upload("notes.md", prose("heron").encode())
    again = record.restarted(ReprocessMode.FULL, Reprocess.FROM_OBJECT, "again")
    await kb.documents.save(ANNA, again, now=kb.clock.now(), run=record.run)
    await kb.runner.run(ANNA, record.id, Bounds(seconds_left=lambda: 600.0, run="again"))
    after = await kb.record("notes.md")
    assert (after.state, after.live_version, after.origin) == (DocumentState.READY, 2, RunOrigin.REPROCESS)
    assert kb.objects.calls["read"] == 2
    assert {chunk.place.version for chunk, _ in kb.index.kept[ANNA].values()} == {2}


async def test_a_request_to_cut_again_does_not_read_the_object(kb):
    record = await kb.upload("notes.md", prose("heron").encode())
    again = record.restarted(ReprocessMode.CHUNKS_ONLY, Reprocess.FROM_MARKDOWN, "again")
    await kb.documents.save(ANNA, again, now=kb.clock.now(), run=record.run)
    await kb.runner.run(ANNA, record.id, Bounds(seconds_left=lambda: 600.0, run="again"))
    after = await kb.record("notes.md")
    assert (after.state, after.live_version, after.reading, after.has_markdown) == (DocumentState.READY, 2, 1, True)
    assert kb.objects.calls["read"] == 1
    assert await kb.found("heron")
