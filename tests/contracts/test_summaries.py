"""What every implementation of ``Summaries`` keeps: the fake and the one on DynamoDB."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.claims import Claim
from shared.domain.errors import ClaimLostError, InvalidInputError, ThreadNotFoundError
from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.summary import QuestionAnswer, SummaryEntry, SummaryOutput, SummaryRows
from shared.domain.threads import ThreadRow
from shared.ports import Summaries, Threads
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.threads import InMemoryThreads

ANNA, BEN = UserId("anna"), UserId("ben")
ONE, TWO, GONE = (ThreadId(str(UUID(int=number, version=4))) for number in (1, 2, 3))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD, BACK_OFF = timedelta(minutes=3), timedelta(minutes=1)


@dataclass
class Memory:
    summaries: Summaries
    threads: Threads

    async def claim(self, window_key="0-2", *, thread=ONE, user=ANNA, now=NOW, max_attempts=3):
        return await self.summaries.claim(
            user, thread, window_key, now=now, hold=HOLD, max_attempts=max_attempts, back_off=BACK_OFF
        )

    async def write(self, sequence, *, thread=ONE, user=ANNA, start=None):
        """Make a pass as a function does: claim, then append."""
        entry = entry_of(sequence, thread=thread, start=start)
        claim = await self.claim(f"{entry.start_message_index}", thread=thread, user=user)
        assert isinstance(claim, Claim)
        await self.summaries.append(user, entry, claim)
        return entry


def entry_of(sequence, *, thread=ONE, start=None):
    start = 3 * (sequence - 1) if start is None else start
    return SummaryEntry(
        thread_id=thread,
        sequence=sequence,
        start_message_index=start,
        end_message_index=start + 2,
        message_count=3,
        message_ids=[MessageId(f"h{start + n}") for n in range(3)],
        summary=SummaryOutput(
            entries=[QuestionAnswer(question="Which tea?", answer="Grüner 🍵", refs=[f"#{start + 1}-#{start + 3}"])]
        ),
        token_count_before=120,
        token_count_after=17,
        created_at=NOW,
    )


def row_of(user, thread):
    return ThreadRow(user_id=user, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW)


@pytest.fixture(params=["fake", "dynamodb"])
async def memory(request):
    if request.param == "fake":
        threads = InMemoryThreads()
        yield await with_threads(Memory(InMemorySummaries(threads), threads))
        return
    with mocked_dynamodb() as client:
        yield await with_threads(
            Memory(DynamoSummaries(client, "memory", pause=no_pause), DynamoThreads(client, "memory", pause=no_pause))
        )


async def with_threads(memory):
    for user, thread in ((ANNA, ONE), (ANNA, TWO), (BEN, ONE)):
        await memory.threads.create(row_of(user, thread))
    return memory


# Reading


async def test_a_thread_without_summaries_has_none(memory):
    assert await memory.summaries.of_thread(ANNA, ONE) == SummaryRows()
    assert await memory.summaries.of_user(ANNA) == SummaryRows()


async def test_an_entry_comes_back_whole(memory):
    """TP13, TP16"""
    entry = await memory.write(1)

    rows = await memory.summaries.of_thread(ANNA, ONE)

    assert list(rows.entries) == [entry]
    assert (rows.corrupt, rows.highest_sequence) == (0, 1)


async def test_more_than_a_default_page_of_entries_come_in_the_order_of_their_numbers(memory):
    """ST04, HID-01, HID-28"""
    for sequence in range(1, 28):
        await memory.write(sequence)
    await memory.write(1, thread=TWO)

    one = await memory.summaries.of_thread(ANNA, ONE)
    everything = await memory.summaries.of_user(ANNA)

    assert [entry.sequence for entry in one.entries] == list(range(1, 28))
    assert one.highest_sequence == 27
    assert [(entry.thread_id, entry.sequence) for entry in everything.entries] == [
        *((ONE, sequence) for sequence in range(1, 28)),
        (TWO, 1),
    ]


async def test_threads_and_users_do_not_see_each_other(memory):
    """TR01, ST03"""
    await memory.write(1)
    await memory.write(1, user=BEN)

    assert not (await memory.summaries.of_thread(ANNA, TWO)).entries
    assert len((await memory.summaries.of_user(ANNA)).entries) == 1
    assert await memory.summaries.forget(ANNA, ONE) == 1
    assert len((await memory.summaries.of_user(BEN)).entries) == 1


# Claims


async def test_of_many_deliveries_one_gets_the_window(memory):
    """HID-07"""
    answers = await asyncio.gather(*(memory.claim() for _ in range(8)))

    assert sum(isinstance(answer, Claim) for answer in answers) == 1
    assert sum(answer == "held" for answer in answers) == 7


async def test_a_claim_says_what_it_covers(memory):
    claim = await memory.claim("0-2")
    other = await memory.claim("3-5")

    assert (claim.thread_id, claim.window_key, claim.attempts, claim.until) == (ONE, "0-2", 1, NOW + HOLD)
    assert claim.token != other.token


async def test_a_covered_window_is_done_for_good(memory):
    """HID-07, TR13: deliveries one after another cost one pass."""
    await memory.write(1, start=0)

    assert await memory.claim("0") == "done"
    assert await memory.claim("0", now=NOW + timedelta(days=365)) == "done"


async def test_a_claim_that_ran_out_is_taken_over_at_once(memory):
    first = await memory.claim()

    assert await memory.claim(now=NOW + HOLD - timedelta(microseconds=1)) == "held"
    second = await memory.claim(now=NOW + HOLD)

    assert second.attempts == 2
    with pytest.raises(ClaimLostError):
        await memory.summaries.append(ANNA, entry_of(1), first)
    await memory.summaries.append(ANNA, entry_of(1), second)
    assert await memory.claim(now=NOW + HOLD) == "done"


async def test_of_many_that_take_over_one_does(memory):
    await memory.claim()

    answers = await asyncio.gather(*(memory.claim(now=NOW + HOLD) for _ in range(8)))

    assert [answer.attempts for answer in answers if isinstance(answer, Claim)] == [2]
    assert sum(answer == "held" for answer in answers) == 7


async def test_after_a_failed_attempt_the_next_waits_twice_as_long_each_time(memory):
    """HID-18"""
    now = NOW
    for wait in (BACK_OFF, 2 * BACK_OFF, 4 * BACK_OFF):
        claim = await memory.claim(now=now, max_attempts=9)
        await memory.summaries.fail(ANNA, claim, now=now)
        assert await memory.claim(now=now + wait - timedelta(microseconds=1), max_attempts=9) == "backing_off"
        now += wait
    assert (await memory.claim(now=now, max_attempts=9)).attempts == 4


async def test_a_window_that_failed_too_often_is_given_up(memory):
    """HID-18"""
    now = NOW
    for _ in range(3):
        claim = await memory.claim(now=now)
        await memory.summaries.fail(ANNA, claim, now=now)
        now += timedelta(hours=1)

    assert await memory.claim(now=now) == "exhausted"
    assert await memory.claim(now=now + timedelta(days=365)) == "exhausted"
    # A deployment that allows more attempts heals it.
    assert (await memory.claim(now=now, max_attempts=4)).attempts == 4


async def test_passes_that_die_are_counted_too(memory):
    """HID-18: a window that kills its pass must not do so for ever."""
    now = NOW
    for _ in range(3):
        last = await memory.claim(now=now)
        now += HOLD

    assert await memory.claim(now=now) == "exhausted"
    with pytest.raises(ClaimLostError):
        await memory.summaries.append(ANNA, entry_of(1), last)


async def test_a_late_pass_may_still_write_while_nobody_took_over(memory):
    claim = await memory.claim()

    await memory.summaries.append(ANNA, entry_of(1), claim)

    assert await memory.claim(now=NOW + 2 * HOLD) == "done"


async def test_giving_back_a_claim_that_was_lost_changes_nothing(memory):
    lost = await memory.claim()
    held = await memory.claim(now=NOW + HOLD)

    await memory.summaries.fail(ANNA, lost, now=NOW + HOLD)

    assert await memory.claim(now=NOW + HOLD) == "held"
    await memory.summaries.append(ANNA, entry_of(1), held)
    await memory.summaries.fail(ANNA, held, now=NOW + HOLD)
    assert await memory.claim(now=NOW + timedelta(days=1)) == "done"


async def test_claims_of_other_windows_threads_and_users_do_not_meet(memory):
    claims = [
        await memory.claim("0-2"),
        await memory.claim("3-5"),
        await memory.claim("0-2", thread=TWO),
        await memory.claim("0-2", user=BEN),
    ]
    assert all(isinstance(claim, Claim) for claim in claims)


async def test_a_missing_thread_gets_no_claims(memory):
    """TR15, HID-06"""
    assert await memory.claim(thread=GONE) == "thread_gone"
    assert await memory.claim(user=BEN, thread=TWO) == "thread_gone"


# Appending


async def test_a_taken_sequence_is_not_overwritten(memory):
    """HID-01, TS05"""
    first = await memory.write(1, start=0)
    claim = await memory.claim("3")

    with pytest.raises(ClaimLostError):
        await memory.summaries.append(ANNA, entry_of(1, start=3), claim)

    assert list((await memory.summaries.of_thread(ANNA, ONE)).entries) == [first]
    # Nothing of the transaction happened: the pass still holds its window and may number its entry anew.
    await memory.summaries.append(ANNA, entry_of(2, start=3), claim)


async def test_a_claim_writes_once(memory):
    claim = await memory.claim()
    await memory.summaries.append(ANNA, entry_of(1), claim)

    with pytest.raises(ClaimLostError):
        await memory.summaries.append(ANNA, entry_of(2), claim)

    assert (await memory.summaries.of_thread(ANNA, ONE)).highest_sequence == 1


async def test_a_thread_that_is_deleted_during_its_pass_stays_without_summary(memory):
    """HID-06"""
    claim = await memory.claim()
    await memory.threads.mark_deleting(ANNA, ONE, now=NOW)

    with pytest.raises(ThreadNotFoundError):
        await memory.summaries.append(ANNA, entry_of(1), claim)
    assert await memory.claim("3-5") == "thread_gone"

    await memory.threads.bury(ANNA, ONE, now=NOW, keep_for=timedelta(days=90))
    with pytest.raises(ThreadNotFoundError):
        await memory.summaries.append(ANNA, entry_of(1), claim)
    assert await memory.claim("3-5") == "thread_gone"
    assert await memory.summaries.of_user(ANNA) == SummaryRows()


async def test_an_entry_that_breaks_the_rules_is_not_written(memory):
    """TS07, HID-31"""
    claim = await memory.claim()
    broken = entry_of(1).model_copy(update={"message_count": 7})

    with pytest.raises(InvalidInputError):
        await memory.summaries.append(ANNA, broken, claim)

    assert await memory.summaries.of_thread(ANNA, ONE) == SummaryRows()


# Forgetting


async def test_forgetting_counts_and_removes_every_entry_of_the_thread(memory):
    """DL02, HID-01, AWS14"""
    for sequence in range(1, 29):
        await memory.write(sequence)
    await memory.write(1, thread=TWO)

    assert await memory.summaries.forget(ANNA, ONE) == 28

    assert await memory.summaries.of_thread(ANNA, ONE) == SummaryRows()
    assert len((await memory.summaries.of_user(ANNA)).entries) == 1
    assert await memory.summaries.forget(ANNA, ONE) == 0


async def test_a_pass_that_runs_while_its_thread_is_forgotten_writes_nothing(memory):
    claim = await memory.claim()

    assert await memory.summaries.forget(ANNA, ONE) == 0

    with pytest.raises(ClaimLostError):
        await memory.summaries.append(ANNA, entry_of(1), claim)
    assert await memory.summaries.of_thread(ANNA, ONE) == SummaryRows()


async def test_forgotten_windows_are_summarised_anew(memory):
    """TR10, TP12: after a full delete the numbers start at 1 again."""
    await memory.write(1, start=0)
    failed = await memory.claim("3")
    await memory.summaries.fail(ANNA, failed, now=NOW)

    await memory.summaries.forget(ANNA, ONE)

    again = await memory.write(1, start=0)
    assert list((await memory.summaries.of_thread(ANNA, ONE)).entries) == [again]
    assert (await memory.claim("3")).attempts == 1


async def test_a_deleted_thread_can_still_be_forgotten(memory):
    """DL03: the purge comes after the row was marked."""
    await memory.write(1)
    await memory.threads.mark_deleting(ANNA, ONE, now=NOW)

    assert await memory.summaries.forget(ANNA, ONE) == 1
    assert await memory.summaries.of_user(ANNA) == SummaryRows()
