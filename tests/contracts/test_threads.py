"""What every implementation of ``Threads`` keeps: the fake and the one on DynamoDB."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.errors import (
    InvalidInputError,
    ItemTooLargeError,
    LeaseLostError,
    ThreadBusyError,
    ThreadDeletedError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.runs import RunRow
from shared.domain.threads import DEFAULT_TITLE, METADATA_MAX_BYTES, Lease, LeaseSignal, ThreadQuery, ThreadRow
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.threads import InMemoryThreads

ANNA, BEN = UserId("anna"), UserId("ben")
RUN, RIVAL = (RunId(str(UUID(int=number, version=4))) for number in (101, 102))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD = timedelta(seconds=30)
KEEP = timedelta(days=90)
TICK = timedelta(microseconds=1)
QUESTION = {"type": "human", "id": "h1", "content": [{"type": "text", "text": "Wie heiße ich? 😀"}]}


def thread_number(number):
    return ThreadId(str(UUID(int=number, version=4)))


ONE = thread_number(1)


def row_of(thread=ONE, user=ANNA, *, at=NOW, **fields):
    return ThreadRow(
        **{"user_id": user, "thread_id": thread, "created_at": at, "updated_at": at, "last_message_at": at, **fields}
    )


@pytest.fixture(params=["fake", "dynamodb"])
def threads(request):
    if request.param == "fake":
        yield InMemoryThreads()
        return
    with mocked_dynamodb() as client:
        yield DynamoThreads(client, "memory", pause=no_pause)


@pytest.fixture
async def one(threads):
    """The threads with one of Anna's."""
    await threads.create(row_of())
    return threads


async def acquire(threads, run=RUN, *, now=NOW, thread=ONE, user=ANNA, **options):
    return await threads.acquire(user, thread, run, now=now, hold=HOLD, **options)


async def found(threads, query=None, *, user=ANNA, now=NOW):
    return [row.thread_id for row in await threads.search(user, query or ThreadQuery(), now=now)]


# Creating and reading


async def test_a_created_thread_comes_back_whole(threads):
    row = row_of(
        title="Tea",
        preview="Which tea?",
        metadata={"tags": ["a", 1, 1.5, None, True], "deep": {"ü": {}}},
        policy="trim",
        checkpoint_id="c1",
    )

    await threads.create(row)

    assert await threads.get(ANNA, ONE) == replace(row, pending=())


async def test_a_new_thread_has_the_default_title_and_is_idle(one):
    row = await one.get(ANNA, ONE)
    assert (row.title, row.status, row.metadata, row.lease, list(row.pending)) == (DEFAULT_TITLE, "idle", {}, None, [])


async def test_an_id_is_taken_once(one):
    await one.rename(ANNA, ONE, "kept")

    for again in (row_of(), row_of(at=NOW + HOLD, title="other")):
        with pytest.raises(ThreadExistsError) as taken:
            await one.create(again)
        assert not isinstance(taken.value, ThreadDeletedError)

    assert (await one.get(ANNA, ONE)).title == "kept"


async def test_of_many_that_create_one_thread_one_does(threads):
    outcomes = await asyncio.gather(*(threads.create(row_of()) for _ in range(6)), return_exceptions=True)

    assert outcomes.count(None) == 1
    assert sum(isinstance(outcome, ThreadExistsError) for outcome in outcomes) == 5


async def test_another_users_thread_is_a_missing_one(one):
    """HID-12, HID-24: one answer for both, and nothing is changed or made."""
    lease = (await acquire(one)).lease
    for call in (
        one.get(BEN, ONE),
        one.update_metadata(BEN, ONE, {"a": 1}, now=NOW),
        acquire(one, user=BEN),
        one.mark_deleting(BEN, ONE, now=NOW),
    ):
        with pytest.raises(ThreadNotFoundError):
            await call
    for call in (one.renew(BEN, ONE, lease, NOW + HOLD), one.watch(BEN, ONE, lease)):
        with pytest.raises(LeaseLostError):
            await call
    assert await one.rename(BEN, ONE, "stolen") is False
    assert await one.touch(BEN, ONE, NOW + HOLD) is False
    assert await one.request_cancel(BEN, ONE, RUN, now=NOW) is False
    assert await one.lease_of_deleted(BEN, ONE) is None
    assert await one.titles(BEN, [ONE]) == {}
    await one.release(BEN, ONE, lease, status="error", now=NOW)
    await one.bury(BEN, ONE, now=NOW, keep_for=KEEP)

    assert await found(one, user=BEN) == []
    assert (await one.get(ANNA, ONE)).title == DEFAULT_TITLE
    assert await one.watch(ANNA, ONE, lease) == LeaseSignal()


async def test_two_users_may_use_one_id(one):
    await one.create(row_of(user=BEN, title="Ben's"))

    assert (await one.get(ANNA, ONE)).title == DEFAULT_TITLE
    assert (await one.get(BEN, ONE)).title == "Ben's"


async def test_titles_are_given_for_those_that_exist(threads):
    ids = [thread_number(number) for number in range(1, 121)]
    for number, thread in enumerate(ids[:110]):
        await threads.create(row_of(thread, title=f"Title {number}"))
    await threads.mark_deleting(ANNA, ids[0], now=NOW)

    titles = await threads.titles(ANNA, [*ids, ids[1]])

    assert titles == {thread: f"Title {number}" for number, thread in enumerate(ids[:110]) if number}
    assert await threads.titles(ANNA, []) == {}


# Changing


async def test_metadata_is_merged_key_by_key(one):
    await one.update_metadata(ANNA, ONE, {"a": 1, "b": {"c": 2}}, now=NOW)
    row = await one.update_metadata(ANNA, ONE, {"b": {"d": 3}, "e": None}, now=NOW + HOLD)

    assert row.metadata == {"a": 1, "b": {"d": 3}, "e": None}
    assert row == await one.get(ANNA, ONE)
    assert row.updated_at == NOW + HOLD


async def test_metadata_does_not_grow_over_its_limit_in_small_steps(one):
    step = "x" * (METADATA_MAX_BYTES // 4)
    for key in ("a", "b", "c"):
        await one.update_metadata(ANNA, ONE, {key: step}, now=NOW)
    with pytest.raises(InvalidInputError):
        await one.update_metadata(ANNA, ONE, {"d": step}, now=NOW)

    assert set((await one.get(ANNA, ONE)).metadata) == {"a", "b", "c"}
    await one.update_metadata(ANNA, ONE, {"a": "", "d": step}, now=NOW)


async def test_metadata_merged_at_the_same_time_is_all_kept(one):
    await asyncio.gather(*(one.update_metadata(ANNA, ONE, {f"k{n}": n}, now=NOW) for n in range(6)))

    assert (await one.get(ANNA, ONE)).metadata == {f"k{n}": n for n in range(6)}


async def test_a_title_is_set(one):
    assert await one.rename(ANNA, ONE, "Tea") is True
    assert await one.rename(ANNA, ONE, "More tea") is True
    assert (await one.get(ANNA, ONE)).title == "More tea"


async def test_the_models_title_does_not_replace_the_users(one):
    assert await one.rename(ANNA, ONE, "By the model", only_default=True) is True
    await one.rename(ANNA, ONE, "By the user")
    assert await one.rename(ANNA, ONE, "By the model again", only_default=True) is False
    assert (await one.get(ANNA, ONE)).title == "By the user"


async def test_a_touch_moves_the_last_message_forward_and_never_back(one):
    """HID-23"""
    assert await one.touch(ANNA, ONE, NOW + HOLD) is True
    assert await one.touch(ANNA, ONE, NOW + HOLD) is True
    assert await one.touch(ANNA, ONE, NOW) is True
    assert (await one.get(ANNA, ONE)).last_message_at == NOW + HOLD


async def test_nothing_but_create_and_acquire_makes_a_thread(threads):
    """AWS16"""
    assert await threads.touch(ANNA, ONE, NOW) is False
    assert await threads.rename(ANNA, ONE, "Tea") is False
    assert await threads.request_cancel(ANNA, ONE, RUN, now=NOW) is False
    assert await threads.lease_of_deleted(ANNA, ONE) is None
    await threads.release(ANNA, ONE, Lease(run_id=RUN, number=1, until=NOW), status="idle", now=NOW)
    await threads.bury(ANNA, ONE, now=NOW, keep_for=KEEP)
    with pytest.raises(ThreadNotFoundError):
        await threads.update_metadata(ANNA, ONE, {"a": 1}, now=NOW)
    with pytest.raises(ThreadNotFoundError):
        await threads.mark_deleting(ANNA, ONE, now=NOW)
    with pytest.raises(ThreadNotFoundError):
        await acquire(threads)

    with pytest.raises(ThreadNotFoundError):
        await threads.get(ANNA, ONE)
    assert await threads.count(ANNA, ThreadQuery(), now=NOW) == 0
    await threads.create(row_of())


# Lists


@pytest.fixture
async def many(threads):
    """Twelve threads, a minute apart; every third has a colour."""
    for number in range(12):
        metadata = {"colour": "red", "n": number} if number % 3 == 0 else {"n": number}
        await threads.create(row_of(thread_number(number), at=NOW + number * timedelta(minutes=1), metadata=metadata))
    return threads


def numbers(*values):
    return [thread_number(number) for number in values]


async def test_lists_begin_with_the_newest_message(many):
    assert await found(many) == numbers(*range(11, 1, -1))
    assert await found(many, ThreadQuery(limit=100)) == numbers(*range(11, -1, -1))
    assert await found(many, ThreadQuery(limit=2, descending=False)) == numbers(0, 1)


async def test_a_list_is_read_in_pages(many):
    assert await found(many, ThreadQuery(limit=5, offset=5)) == numbers(6, 5, 4, 3, 2)
    assert await found(many, ThreadQuery(limit=5, offset=10)) == numbers(1, 0)
    assert await found(many, ThreadQuery(limit=5, offset=12)) == []
    assert await found(many, ThreadQuery(limit=0)) == []


async def test_the_end_of_a_turn_moves_its_thread_to_the_top(many):
    """HID-23"""
    await many.touch(ANNA, thread_number(3), NOW + timedelta(hours=1))

    assert await found(many, ThreadQuery(limit=3)) == numbers(3, 11, 10)


async def test_a_list_is_filtered_by_metadata_before_it_is_cut(many):
    query = ThreadQuery(metadata={"colour": "red"}, limit=2, offset=1)

    assert await found(many, query) == numbers(6, 3)
    assert await many.count(ANNA, query, now=NOW) == 4
    assert await found(many, ThreadQuery(metadata={"colour": "red", "n": 6})) == numbers(6)
    assert await found(many, ThreadQuery(metadata={"colour": "blue"})) == []
    assert await found(many, ThreadQuery(metadata={"none": None})) == []
    # In JSON true is not 1.
    assert await found(many, ThreadQuery(metadata={"n": True})) == []


async def test_a_list_is_filtered_by_policy_before_it_is_cut(threads):
    for number in range(6):
        row = row_of(thread=ThreadId(f"thread-{number}"), policy="delete" if number % 2 else "summaries")
        await threads.create(row)
    query = ThreadQuery(policy="delete", limit=2)
    found = await threads.search(ANNA, query, now=NOW)
    assert [row.policy for row in found] == ["delete", "delete"]
    assert await threads.count(ANNA, query, now=NOW) == 3


async def test_other_orders_are_those_asked_for(many):
    await many.update_metadata(ANNA, thread_number(4), {"x": 1}, now=NOW + timedelta(hours=2))
    await acquire(many, thread=thread_number(7), now=NOW)

    assert await found(many, ThreadQuery(sort_by="created_at", limit=2)) == numbers(11, 10)
    assert await found(many, ThreadQuery(sort_by="created_at", descending=False, limit=2, offset=1)) == numbers(1, 2)
    assert await found(many, ThreadQuery(sort_by="updated_at", limit=1)) == numbers(4)
    assert await found(many, ThreadQuery(sort_by="thread_id", descending=False, limit=3)) == numbers(0, 1, 2)
    assert await found(many, ThreadQuery(sort_by="status", descending=False, limit=1)) == numbers(7)


async def test_status_counts_as_of_now(many):
    """A dead run leaves ``busy`` behind; lists must not show it so for ever."""
    await acquire(many, thread=thread_number(1), now=NOW)
    lease = (await acquire(many, thread=thread_number(2), now=NOW)).lease
    await many.renew(ANNA, thread_number(2), lease, NOW + 3 * HOLD)

    busy, error = ThreadQuery(status="busy"), ThreadQuery(status="error")
    assert await found(many, busy, now=NOW) == numbers(2, 1)
    assert await found(many, busy, now=NOW + HOLD) == numbers(2)
    assert await found(many, error, now=NOW + HOLD) == numbers(1)
    assert await many.count(ANNA, error, now=NOW + HOLD) == 1
    assert await many.count(ANNA, ThreadQuery(status="idle"), now=NOW + HOLD) == 10


async def test_a_listed_thread_has_what_lists_show(one):
    await acquire(one, preview="Wie heiße ich?", pending=[QUESTION])
    (busy,) = await one.search(ANNA, ThreadQuery(), now=NOW)
    assert (busy.status_at(NOW), busy.status_at(NOW + HOLD)) == ("busy", "error")

    await one.release(ANNA, ONE, busy.lease, status="idle", now=NOW, checkpoint_id="c1", pending=[QUESTION])
    (idle,) = await one.search(ANNA, ThreadQuery(), now=NOW)

    whole = await one.get(ANNA, ONE)
    assert idle == replace(whole, pending=(), lease=None)
    assert (idle.preview, idle.checkpoint_id) == ("Wie heiße ich?", "c1")


async def test_lists_hold_no_other_users_threads(many):
    await many.create(row_of(user=BEN))

    assert await found(many, user=BEN) == [ONE]
    assert await many.count(BEN, ThreadQuery(), now=NOW) == 1
    assert await many.count(ANNA, ThreadQuery(limit=3, offset=5), now=NOW) == 12


# The lease


async def test_a_run_takes_the_thread(one):
    row = await acquire(one, pending=[QUESTION], preview="Wie heiße ich?", now=NOW + HOLD)

    assert row.lease == Lease(run_id=RUN, number=1, until=NOW + 2 * HOLD)
    assert row.status_at(NOW + HOLD) == "busy"
    assert list(row.pending) == [QUESTION]
    assert (row.preview, row.last_message_at, row.updated_at) == ("Wie heiße ich?", NOW, NOW + HOLD)
    assert row == await one.get(ANNA, ONE)


async def test_of_many_runs_one_takes_the_thread(one):
    runs = [RunId(str(UUID(int=number, version=4))) for number in range(6)]

    outcomes = await asyncio.gather(*(acquire(one, run) for run in runs), return_exceptions=True)

    assert sum(isinstance(outcome, ThreadRow) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ThreadBusyError) for outcome in outcomes) == 5
    (winner,) = (outcome for outcome in outcomes if isinstance(outcome, ThreadRow))
    assert (await one.get(ANNA, ONE)).lease == winner.lease


async def test_a_run_that_asks_again_has_what_it_has(one):
    first = await acquire(one, pending=[QUESTION])

    assert await acquire(one, pending=[QUESTION], now=NOW + HOLD - TICK) == first
    assert list((await one.get(ANNA, ONE)).pending) == [QUESTION]


async def test_a_lease_that_ended_is_taken_over_with_what_the_dead_run_had(one):
    """Decision 9b: a dead process loses nothing the user typed."""
    dead = await acquire(one, pending=[QUESTION])
    with pytest.raises(ThreadBusyError):
        await acquire(one, RIVAL, now=NOW + HOLD - TICK)

    row = await acquire(one, RIVAL, now=NOW + HOLD, pending=[{**QUESTION, "id": "h2"}])

    assert row.lease == Lease(run_id=RIVAL, number=2, until=NOW + 2 * HOLD)
    assert [message["id"] for message in row.pending] == ["h1", "h2"]
    for call in (one.renew(ANNA, ONE, dead.lease, NOW + 9 * HOLD), one.watch(ANNA, ONE, dead.lease)):
        with pytest.raises(LeaseLostError):
            await call
    await one.release(ANNA, ONE, dead.lease, status="idle", now=NOW + HOLD)
    assert await one.get(ANNA, ONE) == row


async def test_a_run_that_takes_its_thread_back_has_a_new_number(one):
    first = await acquire(one)
    second = await acquire(one, now=NOW + HOLD)

    assert second.lease.number == 2
    for call in (one.watch(ANNA, ONE, first.lease), one.renew(ANNA, ONE, first.lease, NOW + 9 * HOLD)):
        with pytest.raises(LeaseLostError):
            await call
    await one.release(ANNA, ONE, first.lease, status="idle", now=NOW + HOLD)
    assert await one.get(ANNA, ONE) == second
    assert await one.watch(ANNA, ONE, second.lease) == LeaseSignal()


async def test_acquire_makes_a_missing_thread_only_when_told_to(threads):
    row = await acquire(threads, create=True, pending=[QUESTION], preview="Hello")

    assert row == row_of(
        title=DEFAULT_TITLE,
        status="busy",
        preview="Hello",
        pending=(QUESTION,),
        lease=Lease(run_id=RUN, number=1, until=NOW + HOLD),
    )
    assert await found(threads) == [ONE]
    assert await acquire(threads, create=True) == row
    with pytest.raises(ThreadBusyError):
        await acquire(threads, RIVAL, create=True)


async def test_acquire_with_create_leaves_an_existing_thread_as_it_is(threads):
    await threads.create(row_of(title="Tea", metadata={"a": 1}, policy="trim", preview="first"))

    row = await acquire(threads, create=True, now=NOW + HOLD, preview="second")

    assert (row.title, row.metadata, row.policy, row.preview) == ("Tea", {"a": 1}, "trim", "first")
    assert (row.created_at, row.last_message_at) == (NOW, NOW)


@pytest.mark.parametrize(
    ("after", "wait"), [(timedelta(0), 30), (timedelta(seconds=29.5), 1), (timedelta(seconds=8.2), 22)]
)
async def test_who_is_refused_learns_how_long_the_lease_lasts(one, after, wait):
    await one.acquire(ANNA, ONE, RUN, now=NOW, hold=timedelta(seconds=30))

    with pytest.raises(ThreadBusyError) as busy:
        await one.acquire(ANNA, ONE, RIVAL, now=NOW + after, hold=timedelta(seconds=30))

    assert (busy.value.retryable, busy.value.retry_after) == (True, wait)


async def test_a_renewed_lease_lasts_longer(one):
    lease = (await acquire(one)).lease

    assert await one.renew(ANNA, ONE, lease, NOW + 3 * HOLD) == LeaseSignal()

    with pytest.raises(ThreadBusyError):
        await acquire(one, RIVAL, now=NOW + 2 * HOLD)
    await acquire(one, RIVAL, now=NOW + 3 * HOLD)


async def test_a_lease_that_ended_may_be_renewed_while_nobody_took_over(one):
    lease = (await acquire(one)).lease

    await one.renew(ANNA, ONE, lease, NOW + 4 * HOLD)

    with pytest.raises(ThreadBusyError):
        await acquire(one, RIVAL, now=NOW + 3 * HOLD)


async def test_a_released_thread_is_free_at_once(one):
    lease = (await acquire(one, pending=[QUESTION])).lease

    await one.release(ANNA, ONE, lease, status="interrupted", now=NOW + TICK, checkpoint_id="c1")

    row = await one.get(ANNA, ONE)
    assert (row.status_at(NOW + TICK), row.checkpoint_id, list(row.pending)) == ("interrupted", "c1", [])
    assert row.updated_at == NOW + TICK
    assert (await acquire(one, RIVAL, now=NOW + TICK)).lease.number == 2


async def test_a_late_heartbeat_does_not_bring_a_released_lease_back(one):
    lease = (await acquire(one)).lease
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)

    for call in (one.renew(ANNA, ONE, lease, NOW + 9 * HOLD), one.watch(ANNA, ONE, lease)):
        with pytest.raises(LeaseLostError):
            await call
    await one.release(ANNA, ONE, lease, status="error", now=NOW + HOLD)

    assert (await one.get(ANNA, ONE)).status == "idle"
    assert (await acquire(one, RIVAL)).lease.number == 2


async def test_a_release_may_keep_what_is_pending_and_keeps_the_checkpoint(one):
    lease = (await acquire(one, pending=[QUESTION])).lease
    await one.release(ANNA, ONE, lease, status="idle", now=NOW, checkpoint_id="c1")
    lease = (await acquire(one, pending=[QUESTION])).lease

    await one.release(ANNA, ONE, lease, status="error", now=NOW, pending=[QUESTION])

    row = await acquire(one, RIVAL)
    assert list(row.pending) == [QUESTION]
    assert row.checkpoint_id == "c1"


async def test_a_row_that_would_be_too_large_is_refused_before_anything_is_written(one):
    large = {"type": "human", "id": "h", "content": "ü" * 150_000}
    with pytest.raises(ItemTooLargeError):
        await acquire(one, pending=[large, large])
    with pytest.raises(ItemTooLargeError):
        await acquire(one, pending=[large, large], thread=thread_number(2), create=True)
    assert (await one.get(ANNA, ONE)).lease is None
    with pytest.raises(ThreadNotFoundError):
        await one.get(ANNA, thread_number(2))

    # One fits, but not beside what a dead run has left.
    await acquire(one, pending=[large])
    with pytest.raises(ItemTooLargeError) as refusal:
        await acquire(one, RIVAL, now=NOW + HOLD, pending=[large])
    assert refusal.value.size > refusal.value.limit


@pytest.mark.parametrize("text", ["\ud800", float("nan")])
async def test_what_json_does_not_have_is_refused(one, text):
    """Python reads both from a request's body."""
    with pytest.raises(InvalidInputError):
        await acquire(one, pending=[{"type": "human", "id": "h", "content": text}])
    with pytest.raises(InvalidInputError):
        await one.update_metadata(ANNA, ONE, {"a": text}, now=NOW)
    with pytest.raises(InvalidInputError):
        await one.create(row_of(thread_number(2), metadata={"a": text}))

    assert (await one.get(ANNA, ONE)).lease is None
    assert await found(one) == [ONE]


# Stopping


async def test_a_run_is_told_to_stop(one):
    lease = (await acquire(one)).lease

    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is True
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is True

    assert await one.watch(ANNA, ONE, lease) == LeaseSignal(cancel_requested=True)
    assert await one.renew(ANNA, ONE, lease, NOW + HOLD) == LeaseSignal(cancel_requested=True)
    assert (await one.get(ANNA, ONE)).cancel_requested is True


async def test_only_the_run_that_holds_the_thread_can_be_stopped(one):
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is False
    lease = (await acquire(one)).lease
    assert await one.request_cancel(ANNA, ONE, RIVAL, now=NOW) is False
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW + HOLD) is False
    assert await one.watch(ANNA, ONE, lease) == LeaseSignal()
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is False


async def test_a_stop_does_not_reach_the_next_run(one):
    lease = (await acquire(one)).lease
    await one.request_cancel(ANNA, ONE, RUN, now=NOW)
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)
    released = await one.get(ANNA, ONE)
    taken = await acquire(one, RIVAL)

    assert released.cancel_requested is False
    assert taken.cancel_requested is False
    assert await one.watch(ANNA, ONE, taken.lease) == LeaseSignal()


async def test_a_stop_does_not_reach_a_run_that_takes_over(one):
    await acquire(one)
    await one.request_cancel(ANNA, ONE, RUN, now=NOW)

    taken = await acquire(one, RIVAL, now=NOW + HOLD)

    assert await one.watch(ANNA, ONE, taken.lease) == LeaseSignal()


async def test_a_run_is_told_to_undo_what_it_stored(one):
    lease = (await acquire(one)).lease

    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW, rollback=True) is True
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is True

    assert await one.watch(ANNA, ONE, lease) == LeaseSignal(cancel_requested=True, rollback=True)


# Following


async def test_a_run_is_told_that_somebody_follows_it(one):
    assert await one.request_events(ANNA, ONE, RUN, now=NOW) is False
    lease = (await acquire(one)).lease

    assert await one.request_events(ANNA, ONE, RIVAL, now=NOW) is False
    assert await one.request_events(BEN, ONE, RUN, now=NOW) is False
    assert await one.request_events(ANNA, ONE, RUN, now=NOW + HOLD) is False
    assert await one.watch(ANNA, ONE, lease) == LeaseSignal()
    assert await one.request_events(ANNA, ONE, RUN, now=NOW) is True
    assert await one.watch(ANNA, ONE, lease) == LeaseSignal(followed=True)
    await one.request_cancel(ANNA, ONE, RUN, now=NOW)
    assert await one.renew(ANNA, ONE, lease, NOW + HOLD) == LeaseSignal(followed=True, cancel_requested=True)


async def test_what_was_asked_of_a_run_does_not_reach_the_next(one):
    lease = (await acquire(one)).lease
    await one.request_events(ANNA, ONE, RUN, now=NOW)
    await one.request_cancel(ANNA, ONE, RUN, now=NOW, rollback=True)
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)
    taken = (await acquire(one, RIVAL)).lease
    first = await one.watch(ANNA, ONE, taken)
    await one.request_events(ANNA, ONE, RIVAL, now=NOW)
    over = (await acquire(one, now=NOW + HOLD)).lease

    assert first == await one.watch(ANNA, ONE, over) == LeaseSignal()


# What the row says of a run


def record_of(run=RUN, **fields):
    return RunRow(**{"run_id": run, "thread_id": ONE, "created_at": NOW, "updated_at": NOW, **fields})


async def test_a_row_says_of_its_run_what_it_was_told_until_it_ends(one):
    record = record_of(strategy="interrupt", metadata={"ü": [1, None]})

    row = await acquire(one, record=record)
    read = await one.get(ANNA, ONE)
    listed = (await one.search(ANNA, ThreadQuery(), now=NOW))[0]
    await one.release(ANNA, ONE, row.lease, status="idle", now=NOW)
    after = await one.get(ANNA, ONE)

    assert row.run == read.run == listed.run == record
    assert row.left_run is None
    assert (after.run, after.left_run) == (None, None)


async def test_a_run_that_takes_over_learns_of_the_dead_one(one):
    await acquire(one, record=record_of())

    over = await acquire(one, RIVAL, now=NOW + HOLD, record=record_of(RIVAL))
    again = await acquire(one, RIVAL, now=NOW + HOLD, record=record_of(RIVAL))
    await one.release(ANNA, ONE, over.lease, status="idle", now=NOW)
    next_one = await acquire(one, record=record_of())

    assert (over.run, over.left_run) == (again.run, again.left_run) == (record_of(RIVAL), record_of())
    assert next_one.left_run is None


@pytest.mark.parametrize("status", ["idle", "interrupted", "error"])
async def test_a_run_learns_what_the_thread_was_before_it(one, status):
    first = await one.acquire(ANNA, ONE, RUN, now=NOW, hold=HOLD)
    await one.release(ANNA, ONE, first.lease, status=status, now=NOW)

    second = await one.acquire(ANNA, ONE, RIVAL, now=NOW, hold=HOLD)

    assert (first.status_before, second.status_before) == ("idle", status)


async def test_before_a_run_that_takes_over_a_thread_was_in_error(one):
    await one.acquire(ANNA, ONE, RUN, now=NOW, hold=HOLD)

    assert (await one.acquire(ANNA, ONE, RIVAL, now=NOW + HOLD, hold=HOLD)).status_before == "error"


async def test_a_thread_that_a_run_makes_was_idle_before(threads):
    row = await threads.acquire(ANNA, ONE, RUN, now=NOW, hold=HOLD, create=True)

    assert row.status_before == "idle"


async def test_a_release_may_take_the_preview_back(one):
    row = await one.acquire(ANNA, ONE, RUN, now=NOW, hold=HOLD, preview="Hi")
    await one.release(ANNA, ONE, row.lease, status="idle", now=NOW, keep_preview=False)
    without = await one.get(ANNA, ONE)

    again = await one.acquire(ANNA, ONE, RIVAL, now=NOW, hold=HOLD, preview="Hello")

    assert (without.preview, again.preview) == ("", "Hello")


async def test_a_lease_that_is_no_runs_says_nothing_of_one(one):
    await acquire(one)

    assert (await acquire(one, RIVAL, now=NOW + HOLD, record=record_of(RIVAL))).left_run is None
    assert (await acquire(one, now=NOW + 2 * HOLD)).left_run == record_of(RIVAL)


# Deleting


async def test_a_thread_that_is_being_deleted_is_missing_at_once(one):
    """Decision 9."""
    await one.mark_deleting(ANNA, ONE, now=NOW)

    for call in (one.get(ANNA, ONE), one.update_metadata(ANNA, ONE, {}, now=NOW), acquire(one)):
        with pytest.raises(ThreadNotFoundError):
            await call
    with pytest.raises(ThreadDeletedError):
        await acquire(one, create=True)
    with pytest.raises(ThreadDeletedError):
        await one.create(row_of())
    assert await one.rename(ANNA, ONE, "Tea") is False
    assert await one.touch(ANNA, ONE, NOW + HOLD) is False
    assert await one.titles(ANNA, [ONE]) == {}
    assert await found(one) == []
    assert await one.count(ANNA, ThreadQuery(), now=NOW) == 0
    assert await one.count(ANNA, ThreadQuery(status="idle"), now=NOW) == 0


async def test_deleting_again_changes_nothing(one):
    await one.mark_deleting(ANNA, ONE, now=NOW)
    await one.mark_deleting(ANNA, ONE, now=NOW + HOLD)

    assert await one.lease_of_deleted(ANNA, ONE) is None


async def test_the_run_of_a_deleted_thread_is_told_and_may_finish(one):
    lease = (await acquire(one)).lease
    await one.mark_deleting(ANNA, ONE, now=NOW)

    assert await one.watch(ANNA, ONE, lease) == LeaseSignal(deleting=True)
    assert await one.renew(ANNA, ONE, lease, NOW + 2 * HOLD) == LeaseSignal(deleting=True)
    assert await one.request_cancel(ANNA, ONE, RUN, now=NOW) is False
    assert await one.lease_of_deleted(ANNA, ONE) == replace(lease, until=NOW + 2 * HOLD)

    await one.release(ANNA, ONE, lease, status="idle", now=NOW)

    assert await one.lease_of_deleted(ANNA, ONE) is None
    assert await found(one) == []


async def test_a_busy_thread_leaves_lists_as_well(one):
    await acquire(one)
    await one.mark_deleting(ANNA, ONE, now=NOW)

    assert await found(one) == []
    assert await one.count(ANNA, ThreadQuery(status="busy"), now=NOW) == 0


async def test_a_living_thread_has_no_lease_for_the_purge(one):
    await acquire(one)
    assert await one.lease_of_deleted(ANNA, ONE) is None


async def test_a_tombstone_keeps_the_id_from_being_used_again(one):
    lease = (await acquire(one)).lease
    await one.mark_deleting(ANNA, ONE, now=NOW)
    await one.bury(ANNA, ONE, now=NOW, keep_for=KEEP)
    await one.bury(ANNA, ONE, now=NOW + KEEP, keep_for=KEEP)

    with pytest.raises(ThreadDeletedError):
        await one.create(row_of(at=NOW + KEEP - timedelta(seconds=1)))
    with pytest.raises(ThreadDeletedError):
        await acquire(one, create=True, now=NOW + KEEP - timedelta(seconds=1))
    for call in (one.get(ANNA, ONE), one.mark_deleting(ANNA, ONE, now=NOW)):
        with pytest.raises(ThreadNotFoundError):
            await call
    for call in (one.renew(ANNA, ONE, lease, NOW + HOLD), one.watch(ANNA, ONE, lease)):
        with pytest.raises(LeaseLostError):
            await call
    await one.release(ANNA, ONE, lease, status="idle", now=NOW)
    assert await one.lease_of_deleted(ANNA, ONE) is None
    assert await one.touch(ANNA, ONE, NOW + HOLD) is False
    assert await found(one) == []


@pytest.mark.parametrize("by", ["create", "acquire"])
async def test_an_id_may_be_used_again_once_its_tombstone_is_over(threads, by):
    await threads.create(row_of(title="old", metadata={"old": True}, preview="old"))
    await acquire(threads, pending=[QUESTION])
    await threads.mark_deleting(ANNA, ONE, now=NOW)
    await threads.bury(ANNA, ONE, now=NOW, keep_for=KEEP)
    # A purge that is delivered again does not lengthen it.
    await threads.bury(ANNA, ONE, now=NOW + HOLD, keep_for=KEEP)

    later = NOW + KEEP
    if by == "create":
        await threads.create(row_of(at=later))
    else:
        await acquire(threads, create=True, now=later)

    row = await threads.get(ANNA, ONE)
    assert (row.title, row.metadata, row.preview, list(row.pending)) == (DEFAULT_TITLE, {}, "", [])
    assert row.created_at == later
    assert await found(threads) == [ONE]
    await threads.touch(ANNA, ONE, later + HOLD)


async def test_a_living_thread_is_not_buried(one):
    await one.bury(ANNA, ONE, now=NOW, keep_for=KEEP)

    assert (await one.get(ANNA, ONE)).title == DEFAULT_TITLE
