from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from shared.adapters.dynamodb.items import StoredItem, bytes_of, row_of, store_key, wire
from shared.adapters.dynamodb.rows import ConditionFailedError, Rows, TransactionRefusedError, jittered_pause
from shared.adapters.dynamodb.writes import ABSENT, EXISTS, Check, Put, Update
from shared.domain.errors import CorruptItemError, InvalidIdError, ItemTooLargeError, StoreError
from shared.domain.json_text import compact_json
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import tapped

NOW = FixedClock().now()
EPOCH = int(NOW.timestamp())
SECRET = "my pin is 4711"


class Pauses:
    def __init__(self):
        self.tries = []

    async def __call__(self, tries):
        self.tries.append(tries)


@pytest.fixture
def wire_tap(client):
    with tapped(client) as tap:
        yield tap


@pytest.fixture
def pauses():
    return Pauses()


@pytest.fixture
def rows(client, pauses):
    return Rows(client, "memory", clock=FixedClock(), pause=pauses)


def put(name, **attributes):
    return Put(key=("anna", name), attributes={"value": name, **attributes})


async def read(pages):
    return [item.key[1] async for page in pages for item in page]


# Reading


async def test_every_read_is_consistent(rows, wire_tap):
    await rows.get(("anna", "a"))
    await rows.get_many([("anna", "a")])
    await read(rows.pages("anna", "a"))
    await read(rows.index_pages("by_last_message", "anna", descending=True))
    await rows.index_count("by_last_message", "anna")
    await read(rows.scan())

    bodies = [
        body["RequestItems"]["memory"] if operation == "BatchGetItem" else body for operation, body in wire_tap.requests
    ]
    assert len(bodies) == 6
    assert all(body["ConsistentRead"] is True for body in bodies)


async def test_expired_items_read_as_absent_before_dynamodb_removes_them(rows):
    await rows.write_all([put("a", ttl=EPOCH), put("b", ttl=EPOCH + 1), put("c")])

    assert await rows.get(("anna", "a")) is None
    assert list(await rows.get_many([("anna", name) for name in "abcd"])) == [("anna", "b"), ("anna", "c")]
    assert await read(rows.pages("anna", "")) == ["b", "c"]
    assert await read(rows.scan()) == ["b", "c"]
    assert await read(rows.pages("anna", "", attributes=("value",), expired=True)) == ["a", "b", "c"]
    assert await read(rows.pages("anna", "", attributes=("value",))) == ["b", "c"]


async def test_a_query_follows_every_page(rows, wire_tap):
    await rows.write_all([put(f"k{number}") for number in range(7)])

    assert await read(rows.pages("anna", "k", page_size=2)) == [f"k{number}" for number in range(7)]
    assert wire_tap.counts["Query"] == 4


async def test_a_scan_and_a_count_follow_every_page(rows, wire_tap):
    await rows.write_all([put(f"k{number}") for number in range(3)])
    last = {"pk": {"S": "anna"}, "sk": {"S": "k0"}}
    wire_tap.answer("Scan", {"Items": [], "LastEvaluatedKey": last})
    wire_tap.answer("Query", {"Items": [], "Count": 5, "LastEvaluatedKey": last}, {"Items": [], "Count": 2})

    assert await read(rows.scan()) == ["k1", "k2"]
    assert await rows.index_count("by_last_message", "anna") == 7
    assert wire_tap.bodies("Query")[1]["ExclusiveStartKey"] == last


async def test_an_empty_prefix_gives_store_items_and_no_row_of_our_own(rows):
    await rows.write_all([put('"@'), put("a"), put("!thread!1")])

    assert await read(rows.pages("anna", "")) == ['"@', "a"]


async def test_many_items_are_read_a_hundred_a_request(rows, wire_tap):
    await rows.write_all([put(f"{number:03}") for number in range(120)])
    keys = [("anna", f"{number:03}") for number in range(130)]

    assert len(await rows.get_many([*keys, keys[0]])) == 120
    assert [len(body["RequestItems"]["memory"]["Keys"]) for body in wire_tap.bodies("BatchGetItem")] == [100, 30]


async def test_keys_that_were_not_processed_are_asked_for_again(rows, wire_tap, pauses):
    await rows.write_all([put("a"), put("b")])
    unprocessed = {"memory": {"Keys": [{"pk": {"S": "anna"}, "sk": {"S": "b"}}]}}
    a = {"pk": {"S": "anna"}, "sk": {"S": "a"}, "value": {"S": "a"}}
    wire_tap.answer("BatchGetItem", {"Responses": {"memory": [a]}, "UnprocessedKeys": unprocessed})

    found = await rows.get_many([("anna", "a"), ("anna", "b")], attributes=("value",))

    assert [item.text("value") for item in found.values()] == ["a", "b"]
    again = wire_tap.bodies("BatchGetItem")[1]["RequestItems"]["memory"]
    assert again["Keys"] == unprocessed["memory"]["Keys"]
    assert again["ConsistentRead"] is True
    assert pauses.tries == [1]


# Writing


async def test_every_item_carries_the_version_of_its_shape(rows):
    await rows.put(put("a"))
    await rows.write_all([put("b")])
    await rows.update(Update(key=("anna", "c"), sets=("#value = :value",), values={"value": "c"}))

    for name in "abc":
        assert (await rows.get(("anna", name))).number("schema_version") == 1


async def test_a_condition_that_fails_tells_what_is_there(rows, wire_tap):
    await rows.put(put("a"))
    absent = Put(key=("anna", "a"), attributes={"value": "new"}, condition=ABSENT)
    exists = Update(key=("anna", "b"), sets=("#value = :value",), condition=EXISTS, values={"value": "new"})

    with pytest.raises(ConditionFailedError) as refused:
        await rows.put(absent)
    assert refused.value.current.text("value") == "a"
    with pytest.raises(ConditionFailedError) as refused:
        await rows.update(exists)
    assert refused.value.current is None
    assert wire_tap.counts["GetItem"] == 0


async def test_a_transaction_tells_which_conditions_failed_and_writes_nothing(rows):
    await rows.put(put("a"))

    with pytest.raises(TransactionRefusedError) as refused:
        await rows.transact(
            put("new"),
            Put(key=("anna", "a"), attributes={"value": "x"}, condition=ABSENT),
            Update(key=("anna", "c"), sets=("#value = :value",), values={"value": "c"}),
            Check(key=("anna", "b"), condition=EXISTS),
        )

    assert set(refused.value.refused) == {1, 3}
    assert refused.value.refused[1].text("value") == "a"
    assert refused.value.refused[3] is None
    assert await read(rows.pages("anna", "")) == ["a"]


async def test_a_transaction_is_marked_so_that_its_repeat_is_no_second_one(rows, wire_tap):
    await rows.transact(put("a"), put("b"))
    assert wire_tap.bodies("TransactWriteItems")[0]["ClientRequestToken"]


async def test_items_that_were_not_processed_are_written_again(rows, wire_tap, pauses):
    left = {"memory": [{"PutRequest": {"Item": {"pk": {"S": "anna"}, "sk": {"S": "later"}}}}]}
    wire_tap.answer("BatchWriteItem", {"UnprocessedItems": left}, {"UnprocessedItems": left})

    await rows.write_all([put(f"{number:02}") for number in range(27)])

    assert await read(rows.pages("anna", "")) == ["25", "26", "later"]
    sizes = [len(body["RequestItems"]["memory"]) for body in wire_tap.bodies("BatchWriteItem")]
    assert sizes == [25, 1, 1, 2]
    assert pauses.tries == [1, 2]


async def test_what_is_never_processed_is_an_error(rows, wire_tap, pauses):
    left = {"memory": [{"DeleteRequest": {"Key": {"pk": {"S": "anna"}, "sk": {"S": "a"}}}}]}
    wire_tap.answer("BatchWriteItem", *[{"UnprocessedItems": left}] * 20)

    with pytest.raises(StoreError):
        await rows.write_all(deletes=[("anna", "a")])
    assert len(pauses.tries) < 10


async def test_nothing_to_write_asks_nothing(rows, wire_tap):
    await rows.write_all()
    assert await rows.get_many([]) == {}
    assert not wire_tap.requests


# Failures


async def test_a_write_that_meets_a_transaction_is_tried_again(rows, wire_tap, pauses):
    wire_tap.fail("UpdateItem", "TransactionConflictException", times=2)
    wire_tap.fail("TransactWriteItems", "TransactionInProgressException")
    reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
    wire_tap.fail("TransactWriteItems", "TransactionCanceledException", CancellationReasons=reasons)

    await rows.update(Update(key=("anna", "a"), sets=("#value = :value",), values={"value": "a"}))
    await rows.transact(put("b"), put("c"))

    assert await read(rows.pages("anna", "")) == ["a", "b", "c"]
    assert pauses.tries == [1, 2, 1, 2]


async def test_a_conflict_beside_a_failed_condition_is_not_tried_again(rows, wire_tap):
    reasons = [{"Code": "TransactionConflict"}, {"Code": "ConditionalCheckFailed"}]
    wire_tap.fail("TransactWriteItems", "TransactionCanceledException", CancellationReasons=reasons)

    with pytest.raises(TransactionRefusedError) as refused:
        await rows.transact(put("b"), put("c"))
    assert refused.value.refused == {1: None}


async def test_a_conflict_that_does_not_end_is_an_error(rows, wire_tap):
    wire_tap.fail("DeleteItem", "TransactionConflictException", times=20)

    with pytest.raises(StoreError) as failure:
        await rows.delete(("anna", "a"))
    assert isinstance(failure.value.__cause__, ClientError)


CALLS = {
    "GetItem": lambda rows: rows.get(("anna", SECRET)),
    "BatchGetItem": lambda rows: rows.get_many([("anna", SECRET)]),
    "Query": lambda rows: read(rows.pages("anna", SECRET)),
    "Scan": lambda rows: read(rows.scan()),
    "PutItem": lambda rows: rows.put(put(SECRET)),
    "UpdateItem": lambda rows: rows.update(Update(key=("anna", SECRET))),
    "DeleteItem": lambda rows: rows.delete(("anna", SECRET)),
    "TransactWriteItems": lambda rows: rows.transact(put(SECRET), put("b")),
    "BatchWriteItem": lambda rows: rows.write_all([put(SECRET)]),
}


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "InternalServerError", "AccessDenied"])
async def test_a_refusal_of_dynamodb_is_an_error_without_what_was_written(rows, wire_tap, operation, code):
    wire_tap.fail(operation, code, message=f"no, not {SECRET}")

    with pytest.raises(StoreError) as failure:
        await CALLS[operation](rows)

    assert code in str(failure.value)
    assert SECRET not in str(failure.value)
    assert isinstance(failure.value.__cause__, ClientError)


@pytest.mark.parametrize("operation", CALLS)
async def test_no_answer_is_an_error(rows, wire_tap, operation):
    wire_tap.answer(operation, EndpointConnectionError(endpoint_url="http://127.0.0.1:1"))

    with pytest.raises(StoreError) as failure:
        await CALLS[operation](rows)
    assert isinstance(failure.value.__cause__, EndpointConnectionError)


async def test_a_cancelled_transaction_without_a_failed_condition_is_an_error(rows, wire_tap):
    reasons = [{"Code": "None"}, {"Code": "ItemCollectionSizeLimitExceeded"}]
    wire_tap.fail("TransactWriteItems", "TransactionCanceledException", CancellationReasons=reasons)

    with pytest.raises(StoreError, match="ItemCollectionSizeLimitExceeded"):
        await rows.transact(put("a"), put("b"))


async def test_a_missing_table_is_an_error_and_no_absence(client):
    with pytest.raises(StoreError):
        await Rows(client, "missing").get(("anna", "a"))


# Sizes


async def test_an_item_over_the_limit_is_refused_before_it_is_sent(rows, wire_tap):
    large = {"value": "ü" * 210_000}
    for write in (
        rows.put(Put(key=("anna", "a"), attributes=large)),
        rows.write_all([put("b"), Put(key=("anna", "a"), attributes=large)]),
        rows.transact(put("b"), Put(key=("anna", "a"), attributes=large)),
        rows.update(Update(key=("anna", "a"), sets=("#value = :value",), values=large)),
    ):
        with pytest.raises(ItemTooLargeError) as refused:
            await write
        assert refused.value.size > refused.value.limit == 400 * 1024
    assert not wire_tap.requests


def test_an_item_of_exactly_the_limit_is_sent():
    overhead = bytes_of(wire({"pk": "anna", "sk": "a", "schema_version": 1, "value": ""}))
    assert Put(key=("anna", "a"), attributes={"value": "x" * (400 * 1024 - overhead)}).item()
    with pytest.raises(ItemTooLargeError):
        Put(key=("anna", "a"), attributes={"value": "x" * (400 * 1024 - overhead + 1)}).item()


async def test_dynamodb_has_the_last_word_on_sizes(rows, wire_tap):
    await rows.put(put("a"))
    for operation in ("PutItem", "UpdateItem"):
        wire_tap.fail(operation, "ValidationException", message="Item size to update has exceeded the maximum allowed")
    for write in (rows.put(put("a")), rows.update(Update(key=("anna", "a")))):
        with pytest.raises(ItemTooLargeError) as refused:
            await write
        assert refused.value.size > refused.value.limit


def test_attributes_are_measured_as_dynamodb_does():
    # A name and its text in UTF-8 bytes; a list three bytes and one for each member; a truth value one.
    assert bytes_of(wire({"ü": "€"})) == 2 + 3
    assert bytes_of(wire({"l": ["ab", ""]})) == 1 + 3 + (1 + 2) + 1
    assert bytes_of(wire({"b": True})) == 2
    assert bytes_of(wire({"n": 1234})) >= 1 + 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: store_key(("u" * 2049, "memory"), "main"),
        lambda: store_key(("anna", "memory"), "k" * 1024),
        lambda: store_key(("anna", "n" * 600, "n" * 600), "main"),
        # Each of these takes two characters in a key.
        lambda: store_key(("anna",), "!" * 513),
        lambda: row_of("anna", "!thread!" + "t" * 1020),
        lambda: store_key(("anna", "memory"), "\ud800"),
    ],
)
def test_a_key_the_database_does_not_take_is_refused(make):
    with pytest.raises(InvalidIdError):
        make()


# Values


def test_attributes_come_back_by_type():
    at = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC)
    item = StoredItem(wire({"s": "x", "n": -7, "b": True, "l": ["a", "b"], "at": at, "j": compact_json({"ü": [1.5]})}))

    assert (item.text("s"), item.number("n"), item.flag("b"), item.texts("l")) == ("x", -7, True, ("a", "b"))
    assert (item.moment("at"), item.json_object("j")) == (at, {"ü": [1.5]})
    assert (item.text("?", "-"), item.number("?", 3), item.flag("?"), item.texts("?")) == ("-", 3, False, ())
    assert item.text_or_none("?") is None
    assert item.json_object("?", "{}") == {}


@pytest.mark.parametrize(
    "read_it",
    [
        lambda item: item.text("missing"),
        lambda item: item.text("number"),
        lambda item: item.number("text"),
        lambda item: item.number("fraction"),
        lambda item: item.flag("text"),
        lambda item: item.texts("text"),
        lambda item: item.texts("mixed"),
        lambda item: item.moment("text"),
        lambda item: item.json_object("text"),
        lambda item: item.json_object("array"),
    ],
)
def test_what_is_not_as_expected_is_corrupt(read_it):
    item = StoredItem(
        {
            "text": {"S": "no"},
            "number": {"N": "1"},
            "fraction": {"N": "1.5"},
            "mixed": {"L": [{"S": "a"}, {"N": "1"}]},
            "array": {"S": "[]"},
        }
    )
    with pytest.raises(CorruptItemError):
        read_it(item)


async def test_pauses_end(monkeypatch):
    """The wait between tries grows and has an upper end."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    for tries in (1, 5, 50):
        await jittered_pause(tries)
    assert all(0 <= seconds <= 1 for seconds in waited)
    assert len(waited) == 3
