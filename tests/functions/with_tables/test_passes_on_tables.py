"""Turn ends, the memory API and deletions against the real rows on a mocked DynamoDB."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from shared.adapters.dynamodb.profiles import DynamoProfiles
from shared.adapters.dynamodb.runs import DynamoRuns
from shared.adapters.dynamodb.summaries import DynamoSummaries
from shared.adapters.dynamodb.threads import DynamoThreads
from shared.domain.errors import ModelThrottledError, NotFoundError, ThreadNotFoundError
from shared.domain.events import TurnEnded
from shared.domain.patch import Patch
from shared.domain.profile import AccountOverlay
from shared.domain.threads import ThreadQuery, ThreadRow
from shared.graphs.background.graph import build
from shared.services.manage_memory import ManageMemory
from shared.services.manage_threads import ManageThreads
from shared.services.purge_thread import PurgeThread
from shared.services.remember import Remember
from shared.services.summarize_thread import PassRules, SummarizeThread
from tests.fakes.checkpoints import CountedCheckpoints
from tests.fakes.clock import FixedClock
from tests.fakes.dynamodb import mocked_dynamodb, no_pause
from tests.fakes.metrics import CountingMetrics
from tests.fakes.purge_queue import RecordingPurgeQueue
from tests.fakes.summarizer import ScriptedSummarizer
from tests.fakes.thread_messages import InMemoryThreadMessages
from tests.fakes.traces import InMemoryTraces

USER = "d3b07384-d113-4ec6-a5d1-2f5b8a1c9e77"
STRANGER = "9c858901-8a57-4791-81fe-4c455b099bc9"
THREAD = "11111111-1111-4111-8111-111111111111"
RUN = "33333333-3333-4333-8333-333333333333"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class World:
    """The services over one table, wired as the functions wire them."""

    def __init__(self, client, table):
        self.clock = FixedClock(NOW)
        self.metrics = CountingMetrics()
        self.summarizer = ScriptedSummarizer()
        self.messages = InMemoryThreadMessages()
        self.threads = DynamoThreads(client, table, pause=no_pause)
        self.summaries = DynamoSummaries(client, table, pause=no_pause)
        self.runs = DynamoRuns(client, table, pause=no_pause)
        self.profiles = DynamoProfiles(client, table, pause=no_pause)
        self.memory = ManageMemory(
            profiles=self.profiles,
            summaries=self.summaries,
            threads=self.threads,
            clock=self.clock,
            metrics=self.metrics,
        )
        self.purges = RecordingPurgeQueue()
        self.manage_threads = ManageThreads(self.threads, self.purges, self.clock, self.metrics)
        self.remember = Remember(self.profiles, self.clock, 8192)

    async def create(self, thread=THREAD, user=USER):
        await self.threads.create(
            ThreadRow(user_id=user, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW)
        )

    async def ends(self, turns):
        said = [
            message
            for n in range(1, turns + 1)
            for message in (HumanMessage(f"question {n}", id=f"h{n}"), AIMessage(f"answer {n}", id=f"a{n}"))
        ]
        self.messages.put(USER, THREAD, said)
        return await self.deliver(turns)

    async def deliver(self, turns):
        service = SummarizeThread(
            threads=self.threads,
            messages=self.messages,
            summaries=self.summaries,
            summarizer=self.summarizer,
            clock=self.clock,
            metrics=self.metrics,
            rules=PassRules(
                keep_recent=3,
                hold=timedelta(minutes=3),
                max_attempts=3,
                back_off=timedelta(minutes=1),
                token_budget=60_000,
                char_limit=20_000,
            ),
        )
        event = TurnEnded(
            user_id=USER,
            thread_id=THREAD,
            run_id=RUN,
            human_message_id=f"h{turns}",
            human_count=turns,
            ended_at=self.clock.now(),
        )
        graph = build(threads=self.threads, service=service, metrics=self.metrics)
        state = await graph.ainvoke({"turn": event}, {"configurable": {"userId": USER, "thread_id": THREAD}})
        return state["outcome"]

    async def purge(self, user, thread):
        checkpoints = CountedCheckpoints()
        service = PurgeThread(
            threads=self.threads,
            summaries=self.summaries,
            runs=self.runs,
            traces=InMemoryTraces(),
            checkpoints=checkpoints,
            clock=self.clock,
            metrics=self.metrics,
            tombstone_for=timedelta(days=90),
            patience=timedelta(0),
        )
        return await service.purge(user, thread)

    async def windows(self):
        entries = (await self.summaries.of_thread(USER, THREAD)).entries
        return [(entry.sequence, entry.start_message_index, entry.end_message_index) for entry in entries]


@pytest.fixture
async def world():
    with mocked_dynamodb() as client:
        world = World(client, "memory")
        await world.create()
        yield world


async def test_an_event_delivered_three_times_in_a_row_costs_one_model_call_and_leaves_one_entry(world):
    # HID-07, TR13
    assert [await world.ends(3) for _ in range(3)] == ["written", "quiet", "quiet"]
    assert world.summarizer.calls == 1
    assert await world.windows() == [(1, 0, 2)]


async def test_an_event_delivered_three_times_at_once_costs_one_model_call_and_leaves_one_entry(world):
    # HID-07
    the_others_gave_up = asyncio.Event()
    world.summarizer.while_thinking = the_others_gave_up.wait
    deliveries = [asyncio.ensure_future(world.ends(3)) for _ in range(3)]
    while sum(delivery.done() for delivery in deliveries) < 2:
        await asyncio.wait([each for each in deliveries if not each.done()], return_when=asyncio.FIRST_COMPLETED)
    the_others_gave_up.set()
    assert sorted(await asyncio.gather(*deliveries)) == ["held", "held", "written"]
    assert world.summarizer.calls == 1
    assert await world.windows() == [(1, 0, 2)]


async def test_twelve_turns_leave_four_entries_that_the_memory_page_shows_in_order(world):
    # TR07, TP12, AP07, G17
    for turns in range(1, 13):
        await world.ends(turns)
    assert await world.windows() == [(1, 0, 2), (2, 3, 5), (3, 6, 8), (4, 9, 11)]
    ((passes),) = await world.memory.passes(USER)
    assert [entry.sequence for entry in passes.entries] == [1, 2, 3, 4]
    assert passes.title == "New thread"


async def test_the_turn_end_moves_the_thread_to_the_top_of_the_list(world):
    # HID-23
    other = "22222222-2222-4222-8222-222222222222"
    world.clock.advance(timedelta(minutes=1))
    await world.threads.create(
        ThreadRow(
            user_id=USER,
            thread_id=other,
            created_at=world.clock.now(),
            updated_at=world.clock.now(),
            last_message_at=world.clock.now(),
        )
    )
    world.clock.advance(timedelta(minutes=1))
    await world.ends(3)
    rows = await world.threads.search(USER, ThreadQuery(), now=world.clock.now())
    assert [row.thread_id for row in rows] == [THREAD, other]


async def test_a_failed_window_is_tried_again_after_a_while(world):
    # TP09, HID-18
    world.summarizer = ScriptedSummarizer(ModelThrottledError("busy"))
    assert await world.ends(3) == "failed"
    assert await world.ends(3) == "backing_off"
    world.clock.advance(timedelta(minutes=1))
    assert await world.ends(4) == "written"
    assert await world.windows() == [(1, 0, 2)]


async def test_summaries_deleted_during_a_pass_stay_deleted_and_heal_at_the_next_turn(world):
    # AP08 beside HID-06; TR10
    for turns in range(1, 4):
        await world.ends(turns)

    async def delete():
        assert await world.memory.forget_thread(USER, THREAD) == 1

    world.summarizer.while_thinking = delete
    assert await world.ends(6) == "lost"
    assert await world.windows() == []
    world.summarizer.while_thinking = None
    assert await world.ends(7) == "written"
    assert await world.windows() == [(1, 0, 5)]


async def test_a_thread_deleted_during_a_pass_stays_deleted(world):
    # HID-06, decision 9
    await world.ends(3)

    async def delete():
        await world.manage_threads.delete(USER, THREAD)
        assert [await world.purge(*request) for request in world.purges.queued] == ["purged"]

    world.summarizer.while_thinking = delete
    assert await world.ends(6) == "thread_gone"
    assert await world.windows() == []
    assert await world.ends(9) == "thread_gone"
    with pytest.raises(ThreadNotFoundError):
        await world.threads.get(USER, THREAD)


async def test_a_deleted_thread_is_out_of_the_memory_page_before_it_is_purged(world):
    await world.ends(3)
    await world.manage_threads.delete(USER, THREAD)
    assert await world.memory.passes(USER) == ()
    assert await world.purge(USER, THREAD) == "purged"
    assert await world.purge(USER, THREAD) == "purged"


async def test_a_purge_asked_for_by_somebody_else_finds_nothing(world):
    await world.ends(3)
    await world.manage_threads.delete(USER, THREAD)
    await world.purge(STRANGER, THREAD)
    assert await world.windows() == [(1, 0, 2)]


async def test_a_saved_key_is_shown_deleted_and_not_shown_again(world):
    # AP01, AP04, HID-03
    overlay = AccountOverlay(name="Lin")
    patches = [Patch(op="add", path="/city", value="Ulm"), Patch(op="replace", path="/name", value="Lindsey")]
    await world.remember.save(USER, overlay, patches, origin_thread=THREAD)
    view = await world.memory.view(USER, overlay)
    assert (view.store, view.auth) == ({"city": "Ulm", "name": "Lindsey"}, {"name": "Lin"})
    assert await world.memory.forget_key(USER, "name") == "name"
    assert (await world.memory.view(USER, overlay)).merged == {"city": "Ulm", "name": "Lin"}
    with pytest.raises(NotFoundError):
        await world.memory.forget_key(USER, "name")
    with pytest.raises(NotFoundError):
        await world.memory.forget_key(STRANGER, "city")


async def test_deleting_and_saving_at_once_lose_nothing(world):
    # HID-11
    overlay = AccountOverlay()
    await world.remember.save(USER, overlay, [Patch(op="add", path=f"/k{n}", value=n) for n in range(4)])
    await asyncio.gather(
        *(world.memory.forget_key(USER, f"k{n}") for n in range(4)),
        *(world.remember.save(USER, overlay, [Patch(op="add", path=f"/new{n}", value=n)]) for n in range(4)),
    )
    assert (await world.memory.view(USER, overlay)).store == {f"new{n}": n for n in range(4)}
