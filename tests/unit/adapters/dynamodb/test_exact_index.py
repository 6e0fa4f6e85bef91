import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.adapters.dynamodb.exact_index import DynamoExactIndex
from shared.adapters.dynamodb.packed_vectors import pack, unpack
from shared.adapters.dynamodb.schema import INDEX_PART_ROW, INDEXED_CHUNK_ROW, PLACE, row_key
from shared.domain.errors import StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.chunks import Chunk, chunk_id
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause, tapped

ANNA, BEN = UserId("anna"), UserId("ben")
TEA, CATS = (DocumentId(f"d-00000000-0000-4000-8000-00000000000{n}") for n in (1, 2))
EAST, NORTH, UP = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


@pytest.fixture
def dynamodb():
    with mocked_dynamodb() as client:
        yield client


def index_on(client, **options):
    return DynamoExactIndex(client, "memory", dimension=3, pause=no_pause, **options)


def chunk(number, text="tea", *, document=TEA, version=1):
    return Chunk(
        id=chunk_id(document, version, number),
        text=text,
        heading_path=(),
        page_from=1,
        page_to=1,
        start=0,
        end=len(text),
    )


def texts(hits):
    return [hit.chunk.text for hit in hits]


async def test_a_query_of_what_is_known_is_one_read(dynamodb):
    index = index_on(dynamodb)
    await index.upsert(ANNA, [chunk(n) for n in range(30)], [EAST] * 30)
    await index.query(ANNA, text="tea", k=5)
    with tapped(dynamodb) as wire:
        assert len(await index.query(ANNA, vector=EAST, text="tea", k=5)) == 5
    assert wire.counts == {"Query": 1}
    assert wire.requests[0][1]["ConsistentRead"] is True


async def test_only_the_parts_that_changed_are_read_again(dynamodb):
    index, writer = index_on(dynamodb), index_on(dynamodb)
    for n in range(20):
        await writer.upsert(ANNA, [chunk(0, f"number{n}", version=n)], [EAST])
    assert len(await index.query(ANNA, vector=EAST, k=50)) == 20
    await writer.upsert(ANNA, [chunk(0, "changed", version=3)], [EAST])
    with tapped(dynamodb) as wire:
        assert "changed" in texts(await index.query(ANNA, vector=EAST, k=50))
    spans = [body["ExpressionAttributeValues"][":prefix"]["S"] for body in wire.bodies("Query")]
    assert spans == [f"!{INDEX_PART_ROW}!", f"!{INDEXED_CHUNK_ROW}!{TEA}!3!"]


async def test_many_unknown_parts_are_read_in_one_go(dynamodb):
    writer = index_on(dynamodb)
    for n in range(20):
        await writer.upsert(ANNA, [chunk(0, version=n)], [EAST])
    with tapped(dynamodb) as wire:
        assert len(await index_on(dynamodb).query(ANNA, vector=EAST, k=50)) == 20
    assert wire.counts == {"Query": 2}


async def test_what_another_process_writes_and_removes_is_seen_at_once(dynamodb):
    index, other = index_on(dynamodb), index_on(dynamodb)
    await other.upsert(ANNA, [chunk(0, "one"), chunk(1, "two")], [EAST, NORTH])
    assert texts(await index.query(ANNA, vector=EAST, k=5)) == ["one", "two"]
    await other.delete(ANNA, [chunk(0).id])
    assert texts(await index.query(ANNA, vector=EAST, k=5)) == ["two"]
    await other.purge(ANNA)
    assert texts(await index.query(ANNA, vector=EAST, k=5)) == []


async def test_a_write_that_died_half_way_is_made_whole_by_its_repetition(dynamodb):
    index = index_on(dynamodb)
    with tapped(dynamodb) as wire:
        wire.fail("UpdateItem", "InternalServerError")
        with pytest.raises(StoreError):
            await index.upsert(ANNA, [chunk(0)], [EAST])
    assert texts(await index.query(ANNA, vector=EAST, k=5)) == []
    await index.upsert(ANNA, [chunk(0)], [EAST])
    assert texts(await index.query(ANNA, vector=EAST, k=5)) == ["tea"]


async def test_what_a_dead_write_left_can_be_removed(dynamodb):
    index = index_on(dynamodb)
    with tapped(dynamodb) as wire:
        wire.fail("UpdateItem", "InternalServerError")
        with pytest.raises(StoreError):
            await index.upsert(ANNA, [chunk(0)], [EAST])
    await index.delete(ANNA, [chunk(0).id])
    assert dynamodb.scan(TableName="memory")["Items"] == []


async def test_a_part_that_lost_its_last_chunk_expires(dynamodb):
    clock = FixedClock()
    index = index_on(dynamodb, clock=clock)
    await index.upsert(ANNA, [chunk(0)], [EAST])
    await index.delete(ANNA, [chunk(0).id])
    (row,) = dynamodb.scan(TableName="memory")["Items"]
    assert row["sk"]["S"] == row_key(INDEX_PART_ROW, TEA, "1")
    assert int(row["ttl"]["N"]) <= clock.now().timestamp()
    await index.upsert(ANNA, [chunk(0)], [EAST])
    assert all("ttl" not in row for row in dynamodb.scan(TableName="memory")["Items"])


async def test_a_write_during_the_removal_of_the_rest_is_not_lost(dynamodb):
    """The part looks empty to the removal, and is not when it comes to forget it."""
    index = index_on(dynamodb)
    await index.upsert(ANNA, [chunk(0, "old")], [EAST])
    with tapped(dynamodb) as wire:
        wire.answer("Query", {"Items": [], "Count": 0, "ScannedCount": 0})
        get = index._rows.get

        async def get_then_write(key):
            item = await get(key)
            await index_on(dynamodb).upsert(ANNA, [chunk(1, "new")], [EAST])
            return item

        index._rows.get = get_then_write
        await index.delete(ANNA, [chunk(0).id])
    assert texts(await index_on(dynamodb).query(ANNA, vector=EAST, k=5)) == ["new"]


@pytest.mark.parametrize(
    "damage", [{PLACE: {"S": "{}"}}, {PLACE: {"S": "no json"}}, {PLACE: {"N": "1"}}, {"vector": {"B": b"12"}}]
)
async def test_a_chunk_that_cannot_be_read_is_skipped(dynamodb, damage, caplog):
    index = index_on(dynamodb)
    await index.upsert(ANNA, [chunk(0, "whole"), chunk(1, "broken")], [EAST, EAST])
    key = {"pk": {"S": "anna"}, "sk": {"S": row_key(INDEXED_CHUNK_ROW, TEA, "1", "1")}}
    item = dynamodb.get_item(TableName="memory", Key=key)["Item"]
    dynamodb.put_item(TableName="memory", Item=item | damage)
    assert texts(await index.query(ANNA, vector=EAST, text="broken", k=5)) == ["whole"]
    assert "skipped" in caplog.text
    assert "broken" not in caplog.text


async def test_users_searched_long_ago_make_room(dynamodb):
    index = index_on(dynamodb, cache_bytes=20_000)
    for user in (ANNA, BEN, UserId("carl")):
        await index.upsert(user, [chunk(0, "tea " * 1_000)], [EAST])
        await index.query(user, vector=EAST, k=1)
    with tapped(dynamodb) as wire:
        await index.query(UserId("carl"), vector=EAST, k=1)
        await index.query(BEN, vector=EAST, k=1)
        assert wire.counts == {"Query": 2}
        await index.query(ANNA, vector=EAST, k=1)
        assert wire.counts == {"Query": 4}


async def test_queries_at_the_same_time_are_all_answered(dynamodb):
    index = index_on(dynamodb)
    await index.upsert(ANNA, [chunk(0, "one"), chunk(1, "two")], [EAST, NORTH])
    answers = await asyncio.gather(*(index.query(ANNA, vector=NORTH, k=1) for _ in range(10)))
    assert {tuple(texts(hits)) for hits in answers} == {("two",)}


@settings(max_examples=12, deadline=None)
@given(kept=st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=4), question=st.text(min_size=1))
def test_any_text_can_be_kept_and_searched_for(kept, question):
    """What stands in documents is not chosen by us."""

    async def run():
        with mocked_dynamodb() as client:
            index = index_on(client)
            await index.upsert(ANNA, [chunk(n, text) for n, text in enumerate(kept)], [EAST] * len(kept))
            return await index.query(ANNA, vector=EAST, text=question, k=50)

    assert sorted(texts(asyncio.run(run()))) == sorted(kept)


# Packing


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=24).filter(lambda v: max(map(abs, v)) > 1e-6))
def test_a_packed_vector_points_where_it_pointed(vector):
    packed = pack(vector)
    assert len(packed) == len(vector)
    (direction,) = unpack([packed], len(vector))
    numbers = np.asarray(vector, dtype=np.float64)
    assert float(direction @ (numbers / np.linalg.norm(numbers))) > 0.999


def test_a_vector_without_a_direction_is_near_to_nothing():
    rows = unpack([pack([0.0] * 3), pack(EAST)], 3)
    assert rows.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert unpack([], 3).shape == (0, 3)
