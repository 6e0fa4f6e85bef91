"""What every implementation of ``Index`` gives: the fake, the exact index on DynamoDB, and the one on S3 Vectors.

The last runs against a double of the service behind botocore's wire.
"""

import pytest

from shared.adapters.dynamodb.exact_index import DynamoExactIndex
from shared.adapters.s3vectors.index import S3VectorsIndex
from shared.adapters.s3vectors.schema import NON_FILTERABLE, SEARCHABLE
from shared.domain.errors import InvalidInputError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.fusion import RANK_OFFSET
from shared.kb_ports import MAX_HITS
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.index import InMemoryIndex
from tests.fakes.s3vectors import ARN, VectorService, s3vectors

ANNA, BEN = UserId("anna"), UserId("ben")
TEA, CATS = (DocumentId(f"d-00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
EAST, NORTH, UP = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


@pytest.fixture(params=["fake", "dynamodb", "s3vectors"])
async def index(request):
    match request.param:
        case "fake":
            yield InMemoryIndex(3)
        case "dynamodb":
            with mocked_dynamodb() as client:
                yield DynamoExactIndex(client, "memory", dimension=3, pause=no_pause)
        case "s3vectors":
            service = VectorService(3, non_filterable=NON_FILTERABLE, searchable=SEARCHABLE)
            async with s3vectors(service) as client:
                yield S3VectorsIndex(client, ARN, dimension=3)


def chunk(number, text="", *, document=TEA, version=1):
    return Chunk(
        id=chunk_id(document, version, number),
        text=text or f"text {number}",
        heading_path=("Über", 'Tea "and" cake'),
        page_from=number,
        page_to=number + 1,
        start=number * 10,
        end=number * 10 + 9,
    )


def found(hits):
    return [hit.chunk for hit in hits]


# Writing and finding


async def test_an_empty_index_finds_nothing(index):
    assert list(await index.query(ANNA, vector=EAST, text="tea", k=5)) == []


async def test_a_chunk_comes_back_as_it_went_in(index):
    await index.upsert(ANNA, [chunk(7, "Grüner 🍵\n\n| a | b |")], [EAST])
    (hit,) = await index.query(ANNA, vector=EAST, text="grüner", k=5)
    assert hit.chunk == chunk(7, "Grüner 🍵\n\n| a | b |")


async def test_meaning_alone_ranks_by_cosine(index):
    chunks = [chunk(0), chunk(1), chunk(2), chunk(3)]
    await index.upsert(ANNA, chunks, [UP, [0.9, 0.1, 0.0], [2.0, 2.0, 0.0], [-1.0, 0.0, 0.0]])
    hits = await index.query(ANNA, vector=EAST, k=10)
    assert found(hits) == [chunks[1], chunks[2], chunks[0], chunks[3]]
    assert [hit.score for hit in hits] == pytest.approx([0.994, 0.707, 0, -1], abs=0.01)


async def test_words_alone_rank_by_bm25_and_leave_out_the_rest(index):
    chunks = [chunk(0, "tea and cake"), chunk(1, "tea tea"), chunk(2, "coffee")]
    await index.upsert(ANNA, chunks, [EAST, EAST, EAST])
    hits = await index.query(ANNA, text="tea", k=10)
    assert found(hits) == [chunks[1], chunks[0]]
    assert hits[0].score > hits[1].score > 0


async def test_both_are_fused_by_reciprocal_rank(index):
    """KB24: the first by one, the second by the other, and one that is second by both."""
    by_words, by_meaning, by_both = chunk(0, "tea tea tea"), chunk(1, "coffee"), chunk(2, "tea and cake")
    await index.upsert(ANNA, [by_words, by_meaning, by_both], [UP, EAST, [0.9, 0.3, 0.0]])
    hits = await index.query(ANNA, vector=EAST, text="tea", k=3)
    assert found(hits) == [by_words, by_both, by_meaning]
    assert [hit.score for hit in hits] == pytest.approx(
        [1 / (RANK_OFFSET + 1) + 1 / (RANK_OFFSET + 3), 2 / (RANK_OFFSET + 2), 1 / (RANK_OFFSET + 1)], abs=1e-6
    )


async def test_nothing_asked_finds_nothing(index):
    await index.upsert(ANNA, [chunk(0)], [EAST])
    assert list(await index.query(ANNA, k=5)) == []
    assert list(await index.query(ANNA, text="—", k=5)) == []


async def test_no_more_than_k_hits_are_given(index):
    await index.upsert(ANNA, [chunk(n, "tea") for n in range(9)], [EAST] * 9)
    assert len(await index.query(ANNA, vector=EAST, text="tea", k=4)) == 4


async def test_more_than_one_write_holds_can_be_kept_and_removed(index):
    chunks = [chunk(n, "tea") for n in range(510)]
    await index.upsert(ANNA, chunks, [EAST] * 510)
    assert len(await index.query(ANNA, vector=EAST, k=MAX_HITS)) == MAX_HITS
    await index.delete(ANNA, [each.id for each in chunks[:505]])
    assert set(found(await index.query(ANNA, vector=EAST, k=MAX_HITS))) == set(chunks[505:])


async def test_a_chunk_that_is_written_again_is_replaced(index):
    await index.upsert(ANNA, [chunk(0, "tea")], [EAST])
    await index.query(ANNA, vector=EAST, k=1)
    await index.upsert(ANNA, [chunk(0, "coffee"), chunk(0, "cocoa")], [NORTH, UP])
    (hit,) = await index.query(ANNA, vector=UP, k=5)
    assert hit.chunk.text == "cocoa"
    assert hit.score == pytest.approx(1)
    assert list(await index.query(ANNA, text="tea", k=5)) == []


async def test_what_was_written_since_the_last_query_is_found(index):
    await index.upsert(ANNA, [chunk(0, "tea")], [EAST])
    assert len(await index.query(ANNA, text="tea", k=5)) == 1
    await index.upsert(ANNA, [chunk(1, "tea")], [EAST])
    await index.upsert(ANNA, [chunk(0, "tea", version=2)], [EAST])
    await index.upsert(ANNA, [chunk(0, "tea", document=CATS)], [EAST])
    assert len(await index.query(ANNA, text="tea", k=5)) == 4


async def test_nothing_to_write_writes_nothing(index):
    await index.upsert(ANNA, [], [])
    await index.delete(ANNA, [])
    assert list(await index.query(ANNA, vector=EAST, k=5)) == []


# Removing


async def test_removed_chunks_are_not_found(index):
    await index.upsert(ANNA, [chunk(0, "tea"), chunk(1, "tea")], [EAST, EAST])
    await index.query(ANNA, text="tea", k=5)
    await index.delete(ANNA, [chunk(0).id])
    assert found(await index.query(ANNA, vector=EAST, text="tea", k=5)) == [chunk(1, "tea")]
    await index.delete(ANNA, [chunk(1).id, chunk(1).id])
    assert list(await index.query(ANNA, vector=EAST, text="tea", k=5)) == []


async def test_removing_what_is_not_there_changes_nothing(index):
    await index.upsert(ANNA, [chunk(0)], [EAST])
    await index.delete(ANNA, [chunk(5).id, chunk(0, document=CATS).id])
    assert len(await index.query(ANNA, vector=EAST, k=5)) == 1


async def test_a_document_can_come_back_after_all_of_it_was_removed(index):
    await index.upsert(ANNA, [chunk(0, "tea")], [EAST])
    await index.delete(ANNA, [chunk(0).id])
    await index.upsert(ANNA, [chunk(0, "more tea")], [EAST])
    assert found(await index.query(ANNA, text="tea", k=5)) == [chunk(0, "more tea")]


async def test_purging_removes_everything_of_the_user_and_nothing_of_others(index):
    await index.upsert(ANNA, [chunk(n) for n in range(120)], [EAST] * 120)
    await index.upsert(ANNA, [chunk(0, document=CATS)], [NORTH])
    await index.upsert(BEN, [chunk(0)], [EAST])
    await index.query(ANNA, vector=EAST, k=5)
    await index.purge(ANNA)
    assert list(await index.query(ANNA, vector=EAST, k=5)) == []
    assert len(await index.query(BEN, vector=EAST, k=5)) == 1
    await index.purge(ANNA)


# Whose


async def test_users_never_see_each_other(index):
    """HID-13: also under the same chunk id, and when one's id is the start of the other's."""
    users = [ANNA, BEN, UserId("ann"), UserId("anna/x"), UserId("a$b")]
    for n, user in enumerate(users):
        await index.upsert(user, [chunk(0, f"tea number{n}")], [EAST])
    for n, user in enumerate(users):
        for hits in (
            await index.query(user, vector=EAST, k=50),
            await index.query(user, text="tea", k=50),
            await index.query(user, vector=EAST, text="tea", documents=[TEA], k=50),
        ):
            assert [each.text for each in found(hits)] == [f"tea number{n}"]


async def test_nobody_removes_what_another_has(index):
    await index.upsert(ANNA, [chunk(0)], [EAST])
    await index.delete(BEN, [chunk(0).id])
    await index.purge(BEN)
    assert len(await index.query(ANNA, vector=EAST, k=5)) == 1


async def test_a_query_can_be_narrowed_to_documents(index):
    await index.upsert(ANNA, [chunk(0, "tea"), chunk(1, "tea", version=2)], [EAST, EAST])
    await index.upsert(ANNA, [chunk(0, "tea", document=CATS)], [EAST])
    assert {each.place.document_id for each in found(await index.query(ANNA, text="tea", documents=[TEA], k=9))} == {
        TEA
    }
    assert len(await index.query(ANNA, vector=EAST, text="tea", documents=[CATS, TEA], k=9)) == 3
    assert list(await index.query(ANNA, vector=EAST, text="tea", documents=[], k=9)) == []


async def test_a_query_can_be_narrowed_to_very_many_documents(index):
    many = [DocumentId(f"d-00000000-0000-4000-8000-{n:012d}") for n in range(200)]
    for document, words, vector in (
        (many[0], "tea", UP),
        (many[99], "tea tea", [0.9, 0.3, 0.0]),
        (many[199], "cocoa", EAST),
    ):
        await index.upsert(ANNA, [chunk(0, words, document=document)], [vector])
    await index.upsert(ANNA, [chunk(0, "tea tea tea", document=CATS)], [EAST])
    narrow = [document for document in many if document != CATS]
    for question, best in (
        ({"vector": EAST}, many[199]),
        ({"text": "tea"}, many[99]),
        ({"vector": EAST, "text": "tea"}, many[99]),
    ):
        hits = await index.query(ANNA, **question, documents=narrow, k=9)
        assert found(hits)[0].place.document_id == best
        assert CATS not in {each.place.document_id for each in found(hits)}


# Legal and illegal


@pytest.mark.parametrize("vector", [[], [1.0], [1.0] * 4])
async def test_vectors_of_another_dimension_are_refused(index, vector):
    with pytest.raises(InvalidInputError):
        await index.upsert(ANNA, [chunk(0), chunk(1)], [EAST, vector])
    with pytest.raises(InvalidInputError):
        await index.query(ANNA, vector=vector, k=5)
    assert list(await index.query(ANNA, vector=EAST, k=5)) == []


async def test_each_chunk_needs_its_vector(index):
    with pytest.raises(InvalidInputError):
        await index.upsert(ANNA, [chunk(0), chunk(1)], [EAST])


async def test_a_text_of_any_length_can_be_searched_for(index):
    await index.upsert(ANNA, [chunk(0, "tea")], [EAST])
    assert len(await index.query(ANNA, text="tea " * 2000, k=5)) == 1
