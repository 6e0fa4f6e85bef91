"""Runs, branches from before the first turn, and copies, on the checkpointer as it is deployed."""

import asyncio
from typing import Any

import pytest

from shared.domain.errors import StoreError, ThreadNotFoundError
from shared.domain.ids import ThreadId
from shared.domain.root_checkpoint import root_checkpoint_id
from shared.services.copy_thread import CopyThread
from shared.services.manage_threads import ManageThreads
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.checkpointers import saver_on
from tests.fakes.dynamodb import mocked_dynamodb
from tests.fakes.purge_queue import RecordingPurgeQueue
from tests.fakes.runs import USER, Runs, outcome_of


class OnTables(Runs):
    """Runs whose checkpoints are in a table; each saver knows nothing yet."""

    client: Any = None

    def saver(self, user: Any = USER) -> Any:
        return saver_on(self.client, user)


@pytest.fixture
def tables():
    with mocked_dynamodb() as client:
        yield client


def runs_on(client: Any, *script: Any) -> OnTables:
    runs = OnTables(ScriptedChatModel(*script))
    runs.client = client
    return runs


def copies_of(runs: Runs, queue: RecordingPurgeQueue | None = None) -> CopyThread:
    manage = ManageThreads(runs.threads, queue or RecordingPurgeQueue(), runs.clock, runs.metrics)
    return CopyThread(runs.threads, runs.runner, manage, runs.clock)


async def chain(runs: Runs, thread: ThreadId) -> list[tuple[list[str], str | None]]:
    graph = runs.runner.reading(USER)
    history = [each async for each in graph.aget_state_history({"configurable": {"thread_id": thread}})]
    return [
        (
            [message.text for message in each.values.get("messages", ())],
            each.parent_config and each.parent_config["configurable"]["checkpoint_id"],
        )
        for each in history
    ]


@pytest.mark.parametrize("durability", ["exit", "async"])
async def test_a_branch_from_before_the_first_turn_is_the_threads_head(tables, durability):
    runs = runs_on(tables, "One.", "Two.", "Other.", "More.")
    thread = await runs.thread()
    await runs.run(thread, "a")
    await runs.run(thread, "b")

    await runs.run(thread, "A", checkpoint_id=root_checkpoint_id(thread), durability=durability)
    await runs.run(thread, "B")

    assert await runs.texts(thread) == ["A", "Other.", "B", "More."]
    firsts = [texts for texts, parent in await chain(runs, thread) if parent is None]
    assert len(firsts) == 2
    assert ["a", "One.", "b", "Two."] in [texts for texts, _ in await chain(runs, thread)]


async def test_a_branch_from_before_the_first_turn_costs_no_more_than_a_first_turn(tables):
    """Nothing is stored for the place before the first turn."""
    runs = runs_on(tables, "One.", "Other.")
    thread = await runs.thread()
    await runs.run(thread, "a")
    before = len(await chain(runs, thread))

    await runs.run(thread, "A", checkpoint_id=root_checkpoint_id(thread))

    assert (before, len(await chain(runs, thread))) == (1, 2)


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
async def test_a_copy_made_during_a_run_has_what_was_stored_and_asked_before_it(tables, durability):
    reached, opened = asyncio.Event(), asyncio.Event()

    async def wait(_place: int) -> None:
        reached.set()
        await opened.wait()

    runs = runs_on(tables, "One.", Say("Slow", before_token=wait), "Copied on.")
    thread = await runs.thread()
    await runs.run(thread, "a")
    run = await runs.start(thread, "b", durability=durability)
    await reached.wait()
    copy = await copies_of(runs).copy(USER, thread)
    opened.set()
    await outcome_of(run)
    copied = await runs.texts(copy.thread_id)
    await runs.run(copy.thread_id, "c")

    # With a checkpoint a step, the question is stored before it has its answer.
    assert copied in (["a", "One."], ["a", "One.", "b"])
    assert await runs.texts(copy.thread_id) == ["a", "One.", "b", "c", "Copied on."]
    assert await runs.texts(thread) == ["a", "One.", "b", "Slow"]
    assert (copy.status, copy.lease) == ("idle", None)
    assert (await runs.threads.get(USER, copy.thread_id)).pending == ()


async def test_what_a_run_stores_while_the_copy_is_made_is_not_in_it(tables):
    runs = runs_on(tables, *[f"{n}." for n in range(9)])
    thread = await runs.thread()
    await runs.run(thread, "a")

    class Meanwhile:
        """A client through which another turn is stored as soon as the copy has begun."""

        def __getattr__(self, name: str) -> Any:
            def call(**request: Any) -> Any:
                answer = getattr(tables, name)(**request)
                if name == "update_item" and not self.__dict__.get("done"):
                    self.__dict__["done"] = True
                    asyncio.run(runs_between())
                return answer

            return call

    async def runs_between() -> None:
        other = runs_on(tables, "Meanwhile.")
        other.threads = runs.threads
        await other.runner.reading(USER).aupdate_state(
            {"configurable": {"thread_id": thread}}, {"messages": [("user", "b")]}, as_node="trigger_background_agent"
        )

    await asyncio.to_thread(saver_on(Meanwhile(), USER).copy_thread, thread, "copy")

    assert await runs.texts(ThreadId("copy")) == ["a", "0."]
    assert await runs.texts(thread) == ["a", "0.", "b"]


async def test_a_copy_of_a_thread_that_is_deleted_meanwhile_is_no_copy(tables):
    runs = runs_on(tables, "One.")
    thread = await runs.thread()
    await runs.run(thread, "a")
    queue = RecordingPurgeQueue()
    copying = copies_of(runs, queue)
    whole = runs.runner.copy

    async def deleted_meanwhile(*args: Any) -> None:
        await whole(*args)
        await runs.threads.mark_deleting(USER, thread, now=runs.clock.now())

    runs.runner.copy = deleted_meanwhile
    with pytest.raises(ThreadNotFoundError):
        await copying.copy(USER, thread)

    ((_, copy),) = queue.queued
    with pytest.raises(ThreadNotFoundError):
        await runs.threads.get(USER, copy)


async def test_a_broken_copy_that_cannot_be_queued_for_removal_is_counted_and_told_as_what_it_is(tables):
    class Down(RecordingPurgeQueue):
        async def purge_thread(self, *_args: Any) -> None:
            raise StoreError("queue down")

    runs = runs_on(tables, "One.")
    thread = await runs.thread()
    copying = copies_of(runs, Down())

    async def fails(*_args: Any) -> None:
        raise StoreError("table down")

    runs.runner.copy = fails
    with pytest.raises(StoreError, match="table down"):
        await copying.copy(USER, thread)

    assert runs.metrics.counts["PurgeNotQueued"] == 1
