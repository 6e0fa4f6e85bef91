"""Owners, ids, damaged items: nobody reaches another's thread, and nothing is ever silently shorter."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from shared.adapters.dynamodb.checkpointer import DynamoDBSaver, checkpointer_for
from shared.adapters.dynamodb.checkpointer.cache import Cache
from shared.domain.errors import CorruptCheckpointError, CorruptItemError, InvalidIdError, InvalidInputError
from shared.domain.ids import UserId
from tests.fakes.checkpointers import THREAD, config_of, items_of, put, saver_on, texts, values_of
from tests.fakes.dynamodb import mocked_dynamodb


@pytest.fixture
def client():
    with mocked_dynamodb() as client:
        yield client


class TestOwners:
    def test_two_users_may_have_threads_with_one_id(self, client):
        ada, bob = checkpointer_for(client, "checkpoints", UserId("ada")), saver_on(client, "bob")
        put(ada, {"messages": ["of ada"]}, run_id="r")
        assert bob.get_tuple(config_of()) is None
        put(bob, {"messages": ["of bob"]}, run_id="r")
        assert values_of(saver_on(client, "ada")) == {"messages": ["of ada"]}
        assert values_of(saver_on(client, "bob")) == {"messages": ["of bob"]}

    def test_nothing_reaches_anothers_thread(self, client):
        ada, bob = saver_on(client, "ada"), saver_on(client, "bob")
        config = put(ada, {"messages": ["of ada"]}, run_id="r")
        ada.put_writes(config, [("messages", "x")], "task")
        assert bob.get_tuple(config) is None
        assert list(bob.list(config_of())) == []
        bob.put_writes(config, [("messages", "y")], "task")
        bob.delete_for_runs(["r"])
        bob.prune([THREAD])
        bob.copy_thread(THREAD, "mine")
        assert bob.get_tuple(config_of("mine")) is None
        bob.delete_thread(THREAD)
        found = saver_on(client, "ada").get_tuple(config_of())
        assert found.checkpoint["channel_values"] == {"messages": ["of ada"]}
        assert found.pending_writes == [("task", "messages", "x")]

    @settings(max_examples=20, deadline=None)
    @given(st.lists(st.tuples(st.text('a!"#/', max_size=3), st.text('a!"#/é', min_size=1, max_size=4)), max_size=6))
    def test_owners_and_threads_with_any_characters_do_not_meet(self, pairs):
        pairs = list(dict.fromkeys((owner or "o", thread) for owner, thread in pairs))
        with mocked_dynamodb() as client:
            for owner, thread in pairs:
                put(saver_on(client, owner), {"messages": [f"{owner} {thread}"]}, thread_id=thread)
            for owner, thread in pairs:
                saver = saver_on(client, owner)
                assert values_of(saver, config_of(thread)) == {"messages": [f"{owner} {thread}"]}
                assert len(list(saver.list(config_of(thread)))) == 1
                if pairs.index((owner, thread)) % 2:
                    saver.delete_thread(thread)


class TestInput:
    def test_a_thread_without_an_id_is_refused(self, client):
        with pytest.raises(InvalidIdError):
            saver_on(client).get_tuple(config_of(""))

    def test_a_saver_without_an_owner_is_good_for_nothing(self, client):
        with pytest.raises(InvalidIdError):
            saver_on(client, "").get_tuple(config_of())

    def test_threads_are_not_listed_all_at_once(self, client):
        with pytest.raises(InvalidInputError):
            next(saver_on(client).list(None))

    def test_an_unknown_strategy_is_refused(self, client):
        put(saver_on(client), {"messages": [1]})
        with pytest.raises(InvalidInputError):
            saver_on(client).prune([THREAD], strategy="keep_some")
        assert values_of(saver_on(client)) == {"messages": [1]}

    def test_what_cannot_be_serialized_is_refused_and_leaves_nothing(self, client):
        with pytest.raises(TypeError):
            put(saver_on(client), {"messages": [object()]})
        assert items_of(client) == []


def kept(client: Any) -> list[dict[str, Any]]:
    """A thread that has everything an item can be damaged in; give its items by sort key."""
    saver, config = saver_on(client), None
    for number in range(20):
        values = {"messages": [HumanMessage(f"{n} " + "x" * 3_000, id=f"m{n}") for n in range(number + 1)]}
        config = put(saver, values | {"document": "y" * 500_000}, config, number)
    saver.put_writes(config, [("messages", "z" * 20_000), ("title", "t")], "task")
    return sorted(items_of(client), key=lambda item: item["sk"]["S"])


def loaded(client: Any) -> int:
    found = saver_on(client).get_tuple(config_of())
    return len(found.checkpoint["channel_values"]["messages"])


class TestDamage:
    @pytest.mark.parametrize("kind", ["!segment", "!blob", "!entry"])
    def test_a_missing_item_is_an_error_that_says_where(self, client, kind):
        errors = []
        items = kept(client)
        assert loaded(client) == 20
        newest = saver_on(client).get_tuple(config_of()).config["configurable"]["checkpoint_id"]
        for item in items:
            if not item["sk"]["S"].startswith(kind) or item["sk"]["S"].endswith((f"{newest}!h", "\U0010ffff")):
                continue
            client.delete_item(TableName="checkpoints", Key={"pk": item["pk"], "sk": item["sk"]})
            try:
                assert loaded(client) == 20
            except CorruptCheckpointError as error:
                errors.append(error)
            client.put_item(TableName="checkpoints", Item=item)
        assert errors
        assert {(error.thread_id, error.checkpoint_id) for error in errors} == {(THREAD, newest)}
        assert all(THREAD in str(error) and newest in str(error) for error in errors)
        assert not [error for error in errors if "x" * 10 in str(error)]

    @pytest.mark.parametrize("damage", [b"", b"\x01\x02\x03", b"\x07abc", b"\x00\x93\x01\x02\x03"])
    def test_a_damaged_item_is_an_error_too(self, client, damage):
        refused = 0
        for item in kept(client):
            name = next((name for name, value in item.items() if "B" in value), None)
            if name is None:
                continue
            client.put_item(TableName="checkpoints", Item=item | {name: {"B": damage}})
            try:
                assert loaded(client) == 20
            except CorruptItemError:
                refused += 1
            client.put_item(TableName="checkpoints", Item=item)
        assert refused > 3

    def test_a_value_of_an_unknown_type_is_refused(self, client):
        class Future:
            def dumps_typed(self, obj):
                kind, content = JsonPlusSerializer().dumps_typed(obj)
                return ("future", content) if obj == "secret" else (kind, content)

            def loads_typed(self, data):
                raise NotImplementedError

        put(saver_on(client, serde=Future()), {"title": "secret"})
        with pytest.raises(CorruptCheckpointError):
            saver_on(client).get_tuple(config_of())

    def test_pickles_are_never_read(self, client):
        put(saver_on(client, serde=JsonPlusSerializer(pickle_fallback=True)), {"title": complex(1, 2)})
        with pytest.raises(CorruptCheckpointError):
            saver_on(client).get_tuple(config_of())

    def test_a_damaged_write_is_not_a_missing_one(self, client):
        saver = saver_on(client)
        config = put(saver, {"messages": []})
        saver.put_writes(config, [("messages", "x")], "task")
        item = next(each for each in items_of(client) if "w0" in each)
        client.put_item(TableName="checkpoints", Item=item | {"w0": {"B": b"\x00\x01"}})
        with pytest.raises(CorruptCheckpointError):
            saver_on(client).get_tuple(config_of())
        with pytest.raises(CorruptCheckpointError):
            list(saver_on(client).list(config_of()))


class Reversing:
    """A cipher that would not keep a secret."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversing", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reversing"
        return ciphertext[::-1]


def test_an_encrypting_serializer_is_used_for_all_that_was_said(client):
    serde = EncryptedSerializer(Reversing(), JsonPlusSerializer(allowed_msgpack_modules=None))
    saver = saver_on(client, serde=serde)
    for number in range(3):
        config = put(saver, {"messages": [HumanMessage("the secret word")] * (number + 1)}, None, number)
    saver.put_writes(config, [("messages", "another secret")], "task")
    found = saver_on(client, serde=serde).get_tuple(config_of())
    assert texts(found.checkpoint["channel_values"]["messages"]) == ["the secret word"] * 3
    assert found.pending_writes == [("task", "messages", "another secret")]
    with pytest.raises(CorruptCheckpointError):
        saver_on(client).get_tuple(config_of())
    cloned = saver.with_allowlist({("some.module", "Type")})
    assert isinstance(cloned, DynamoDBSaver)
    assert cloned.get_tuple(config_of()) == found


def test_a_cache_that_is_older_than_a_rewrite_does_no_harm(client):
    # One process knows checkpoints that another one prunes.
    knowing, config = saver_on(client), None
    for number in range(5):
        config = put(knowing, {"messages": list(range(number + 1))}, config, number)
    branch = list(knowing.list(config_of()))[2].config
    saver_on(client).prune([THREAD])
    assert values_of(knowing) == {"messages": list(range(5))}
    assert knowing.get_tuple(branch) is None
    config = put(knowing, {"messages": list(range(6))}, config, 6)
    assert values_of(saver_on(client)) == {"messages": list(range(6))}
    assert values_of(knowing) == {"messages": list(range(6))}


def test_a_cache_is_shared_by_owners_and_mixes_nothing_up(client):
    cache = Cache()
    for owner in ("ada", "bob"):
        saver = DynamoDBSaver(client, "checkpoints", owner, cache=cache)
        put(saver, {"messages": [owner]})
    for owner in ("ada", "bob"):
        assert values_of(DynamoDBSaver(client, "checkpoints", owner, cache=cache)) == {"messages": [owner]}
