"""Users, threads and keys of any shape do not meet in the memory table."""

from hypothesis import assume, given
from hypothesis import strategies as st

from shared.adapters.dynamodb.items import row_of, store_key
from shared.adapters.dynamodb.schema import CLAIM_ROW, DOCUMENT_ROW, THREAD_ROW, encode_prefix, row_key, row_prefix
from shared.domain.errors import InvalidIdError

# Half of them are made of what the encoding itself uses, and of what other encodings forget.
TEXT = st.one_of(
    st.text('\x00 !"#$:.|/#abA\U0010ffff', max_size=5), st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
)
ITEMS = st.tuples(st.just("item"), st.lists(TEXT, min_size=1, max_size=4).map(tuple), TEXT)
ROWS = st.one_of(
    st.tuples(st.just(THREAD_ROW), TEXT, st.tuples(TEXT)),
    st.tuples(st.just(DOCUMENT_ROW), TEXT, st.tuples(TEXT)),
    st.tuples(st.just(CLAIM_ROW), TEXT, st.tuples(TEXT, TEXT)),
)
THINGS = st.one_of(ITEMS, ROWS)


def key_of(thing):
    kind, owner, rest = thing
    return store_key(owner, rest) if kind == "item" else row_of(owner, row_key(kind, *rest))


@given(THINGS, THINGS)
def test_two_things_share_a_key_only_if_they_are_one(one, other):
    assert (key_of(one) == key_of(other)) == (one == other)


@given(st.sampled_from([THREAD_ROW, CLAIM_ROW]), TEXT, THINGS)
def test_the_query_for_a_users_rows_finds_only_rows_of_that_kind_and_user(kind, user, thing):
    partition, start = row_of(user, row_prefix(kind))
    found = key_of(thing)[0] == partition and key_of(thing)[1].startswith(start)
    assert found == (thing[:2] == (kind, user))


@given(TEXT, TEXT, THINGS)
def test_the_query_for_a_threads_claims_finds_no_other_threads(user, thread, thing):
    partition, start = row_of(user, row_prefix(CLAIM_ROW, thread))
    found = key_of(thing)[0] == partition and key_of(thing)[1].startswith(start)
    assert found == (thing[0] == CLAIM_ROW and thing[1] == user and thing[2][0] == thread)


@given(st.lists(TEXT, min_size=1, max_size=3).map(tuple), THINGS)
def test_the_query_for_a_namespace_finds_no_row_of_our_own_and_no_other_namespace(namespace, thing):
    partition, start = store_key(namespace, "")[0], encode_prefix(namespace[1:])
    assume(start)
    found = key_of(thing)[0] == partition and key_of(thing)[1].startswith(start)
    assert found == (thing[0] == "item" and thing[1][: len(namespace)] == namespace)


@given(TEXT.map(lambda text: text * 400), TEXT)
def test_a_key_is_taken_whole_or_refused(long_text, key):
    try:
        partition, sort_key = store_key((long_text, long_text), key)
    except InvalidIdError:
        return
    assert len(partition.encode()) <= 2048
    assert 0 < len(sort_key.encode()) <= 1024
