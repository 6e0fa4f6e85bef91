import asyncio
import logging
from datetime import timedelta

import pytest

from shared.domain import counters
from shared.domain.errors import (
    InvalidInputError,
    ModelThrottledError,
    NotFoundError,
    StoreError,
    ThreadBusyError,
    ThreadNotFoundError,
)
from shared.domain.threads import ThreadRow
from shared.graphs.runs.request import ResumeCommand
from shared.graphs.runs.runner import RunTiming
from shared.graphs.runs.stream import Ended, Streamed
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.runs import MOMENT, OTHER, USER, Runs, new_run_id, new_thread_id, outcome_of, until

ALL_MODES = frozenset({"values", "updates", "messages", "custom"})


class Gate:
    """Stops the model before its second word until the test opens it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, place: int) -> None:
        if place == 1:
            self.reached.set()
            await self.opened.wait()


async def test_a_turn_is_streamed_stored_announced_and_the_thread_is_free_again():
    runs = Runs(ScriptedChatModel("Hello there, Ada."))
    thread = await runs.thread()

    outcome = await runs.run(thread, "Hi", modes=ALL_MODES)

    assert outcome.status == "success"
    assert outcome.tokens() == ["Hello", " there,", " Ada."]
    assert [m.text for m in outcome.of("values")[0]["messages"]] == ["Hi"]
    assert [m.text for m in outcome.of("values")[-1]["messages"]] == ["Hi", "Hello there, Ada."]
    assert await runs.texts(thread) == ["Hi", "Hello there, Ada."]
    row = await runs.threads.get(USER, thread)
    assert (row.status, row.pending, row.preview) == ("idle", (), "Hi")
    assert row.checkpoint_id == (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    (event,) = runs.events.published
    assert (event.human_message_id, event.human_count, event.outcome) == ("id of Hi", 1, "completed")


async def test_the_id_in_the_stream_is_the_id_in_the_state():
    runs = Runs(ScriptedChatModel("One two"))
    thread = await runs.thread()

    outcome = await runs.run(thread, "Hi", modes=ALL_MODES)

    assert {message.id for message, _ in outcome.of("messages")} == {(await runs.messages(thread))[-1].id}


async def test_a_turn_reads_one_checkpoint_and_writes_one():
    """What a turn costs: one read and one write of the graph, none of the agent inside it."""
    runs = Runs()
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    runs.saver().calls.clear()

    await runs.run(thread, "Again")

    assert dict(runs.saver().calls) == {"get root": 1, "put root": 1}


async def test_only_the_modes_that_were_asked_for_come_out():
    runs = Runs()
    outcome = await runs.run(await runs.thread(), "Hi", modes=frozenset({"updates"}))

    assert {output.mode for output in outcome.outputs if isinstance(output, Streamed)} == {"updates"}


async def test_agents_are_seen_through_unless_subgraphs_are_asked_for():
    runs = Runs()
    plain = await runs.run(await runs.thread(), "Hi", modes=ALL_MODES)
    named = await runs.run(await runs.thread(), "Hi", modes=ALL_MODES, subgraphs=True)

    assert {output.namespace for output in plain.outputs if isinstance(output, Streamed)} == {()}
    assert all("model" not in update for update in plain.of("updates"))
    namespaces = {output.namespace for output in named.outputs if isinstance(output, Streamed)}
    assert any(namespace and namespace[0].startswith("chat_agent:") for namespace in namespaces)
    assert any("model" in update for update in named.of("updates"))


async def test_no_other_users_thread_can_be_run_in_and_nothing_is_read():
    """HID-12, AP13."""
    runs = Runs()
    thread = await runs.thread(OTHER)
    with pytest.raises(ThreadNotFoundError) as other:
        await runs.start(thread, "Hi")
    missing_id = new_thread_id()
    with pytest.raises(ThreadNotFoundError) as missing:
        await runs.start(missing_id, "Hi")
    with pytest.raises(ThreadNotFoundError):
        await runs.start(thread, checkpoint_id="1ef4a9b8-d7da-679a-a45a-872054341df2")

    assert str(other.value).replace(thread, "x") == str(missing.value).replace(missing_id, "x")
    assert not any(saver.calls for saver in runs.savers.values())


async def test_two_users_may_use_one_thread_id():
    runs = Runs(ScriptedChatModel("first", "second"))
    thread = await runs.thread(USER)
    await runs.run(thread, "mine")
    await runs.run(thread, "theirs", user=OTHER, create=True)

    assert await runs.texts(thread) == ["mine", "first"]
    assert [m.text for m in await runs.messages(thread, OTHER)] == ["theirs", "second"]


async def test_a_missing_thread_is_made_when_asked():
    runs = Runs()
    thread = new_thread_id()

    assert (await runs.run(thread, "Hi", create=True)).status == "success"
    assert (await runs.threads.get(USER, thread)).preview == "Hi"


async def test_a_failing_model_keeps_the_question_and_the_thread_usable(caplog):
    runs = Runs(ScriptedChatModel(ModelThrottledError("secret inner text"), "Now it works."))
    thread = await runs.thread()

    failed = await runs.run(thread, "Hi")
    row = await runs.threads.get(USER, thread)
    texts = await runs.texts(thread)
    retried = await runs.run(thread, "Hi")

    assert (failed.status, failed.code) == ("error", "MODEL_THROTTLED")
    assert (row.status, row.pending, texts) == ("error", (), ["Hi"])
    assert retried.status == "success"
    assert await runs.texts(thread) == ["Hi", "Now it works."]
    assert [event.outcome for event in runs.events.published] == ["failed", "completed"]
    assert runs.metrics.counts[counters.RUN_FAILED] == 1


async def test_an_unforeseen_error_has_no_story():
    runs = Runs(ScriptedChatModel(RuntimeError("a secret")))

    outcome = await runs.run(await runs.thread(), "Hi")

    assert (outcome.status, outcome.code) == ("error", "INTERNAL")


async def test_a_graph_that_takes_too_many_steps_is_an_error_of_its_own():
    runs = Runs()

    assert (await runs.run(await runs.thread(), "Hi", recursion_limit=1)).code == "RECURSION_LIMIT"


async def test_stop_keeps_the_question_and_the_marked_part_of_the_answer():
    """Decision 9b."""
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Once upon a time", before_token=gate), "Fine."))
    thread = await runs.thread()
    run = await runs.start(thread, "A story", modes=ALL_MODES)
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now())

    outcome = await outcome_of(run)
    stopped = await runs.messages(thread)
    state = await runs.state(thread)
    after = await runs.run(thread, "Go on")

    assert (outcome.status, outcome.code) == ("interrupted", None)
    assert [m.text for m in outcome.of("values")[-1]["messages"]] == ["A story", "Once"]
    assert [(m.type, m.text) for m in stopped] == [("human", "A story"), ("ai", "Once")]
    assert stopped[-1].response_metadata == {"cancelled": True}
    assert (state.next, state.tasks) == ((), ())
    assert (await runs.threads.get(USER, thread)).status == "idle"
    assert [(event.outcome, event.human_count) for event in runs.events.published] == [
        ("cancelled", 1),
        ("completed", 2),
    ]
    assert after.status == "success"
    assert await runs.texts(thread) == ["A story", "Once", "Go on", "Fine."]


async def test_a_stopped_run_stores_nothing_of_the_agent_inside_it():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Once upon a time", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "A story")
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now())
    await outcome_of(run)

    assert runs.saver().calls["put sub"] == 0


async def test_a_run_that_failed_goes_on_inside_the_agent():
    runs = Runs(ScriptedChatModel(ModelThrottledError("busy"), "Now it works."))
    thread = await runs.thread()

    await runs.run(thread, "Hi")
    gone_on = await runs.run(thread)

    assert runs.saver().calls["put sub"] >= 1
    assert gone_on.status == "success"
    assert await runs.texts(thread) == ["Hi", "Now it works."]


async def test_stop_before_the_first_token_keeps_the_question():
    reached, never = asyncio.Event(), asyncio.Event()

    async def wait(_place: int) -> None:
        reached.set()
        await never.wait()

    runs = Runs(ScriptedChatModel(Say("Never said", before_token=wait)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now())

    assert (await outcome_of(run)).status == "interrupted"
    assert await runs.texts(thread) == ["Hi"]
    assert [event.outcome for event in runs.events.published] == ["cancelled"]


async def test_a_run_goes_on_when_nobody_listens_any_more():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("To the end", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi", modes=ALL_MODES)

    async def listen() -> None:
        async for _ in run.outputs():
            pass

    listener = asyncio.create_task(listen())
    await gate.reached.wait()
    listener.cancel()
    gate.opened.set()
    await runs.runner.finish()

    assert await runs.texts(thread) == ["Hi", "To the end"]
    assert len(runs.events.published) == 1


async def test_a_run_that_is_out_of_time_keeps_what_there_is_and_says_so(monkeypatch):
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("A very long answer", before_token=gate)))
    thread = await runs.thread()
    loop = asyncio.get_running_loop()

    run = await runs.start(thread, "Hi", time_limit=timedelta(hours=1))
    await gate.reached.wait()
    time = loop.time
    monkeypatch.setattr(loop, "time", lambda: time() + 3600)
    outcome = await outcome_of(run)

    assert (outcome.status, outcome.code) == ("timeout", "RUN_TIMEOUT")
    assert await runs.texts(thread) == ["Hi", "A"]
    assert [event.outcome for event in runs.events.published] == ["failed"]


async def test_waiting_for_a_busy_thread_is_part_of_the_time_a_run_has():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("A very long answer", before_token=gate)))
    thread = await runs.thread()
    acquire = runs.threads.acquire

    async def acquire_late(*args, **options):
        runs.clock.advance(timedelta(hours=1))
        return await acquire(*args, **options | {"now": runs.clock.now()})

    runs.threads.acquire = acquire_late
    outcome = await outcome_of(await runs.start(thread, "Hi", time_limit=timedelta(hours=1)))

    assert outcome.code == "RUN_TIMEOUT"
    runs.threads.acquire = acquire
    gate.opened.set()
    await runs.run(thread, "Still there?")
    assert (await runs.texts(thread))[:2] == ["Hi", "Still there?"], "the next run takes the question in"


async def test_a_thread_that_is_being_deleted_stops_its_run_which_stores_nothing():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Not to be kept", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await gate.reached.wait()
    await runs.threads.mark_deleting(USER, thread, now=runs.clock.now())

    await outcome_of(run)

    assert await runs.messages(thread) == []
    assert runs.events.published == []
    assert await runs.threads.lease_of_deleted(USER, thread) is None


async def test_a_run_whose_thread_was_taken_over_stores_nothing():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Too late", before_token=gate), "In time."))
    thread = await runs.thread()
    slow = await runs.start(thread, "Hi")
    await gate.reached.wait()
    runs.clock.advance(timedelta(minutes=1))
    fast = await runs.run(thread, "Hello?")

    outcome = await outcome_of(slow)

    assert fast.status == "success"
    assert outcome.code == "LEASE_LOST"
    assert await runs.texts(thread) == ["Hi", "Hello?", "In time."]
    assert (await runs.threads.get(USER, thread)).status == "idle"
    assert runs.metrics.counts[counters.LEASE_LOST] == 1


async def test_a_late_write_is_refused_even_before_the_takeover_is_noticed():
    gate = Gate()
    runs = Runs(
        ScriptedChatModel(Say("Too late", before_token=gate)),
        timing=RunTiming(watch_every=timedelta(hours=1), wait=timedelta(0)),
    )
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await gate.reached.wait()
    runs.clock.advance(timedelta(minutes=1))
    gate.opened.set()

    assert (await outcome_of(run)).code == "LEASE_LOST"
    assert await runs.messages(thread) == []


async def test_the_lease_is_renewed_while_a_run_goes_on():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Slow but sure", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi")
    await gate.reached.wait()
    for _ in range(4):
        runs.clock.advance(timedelta(seconds=15))
        before = runs.threads.calls["renew"]
        await until(lambda before=before: runs.threads.calls["renew"] > before)
    gate.opened.set()

    assert (await outcome_of(run)).status == "success"
    assert await runs.texts(thread) == ["Hi", "Slow but sure"]


async def test_a_database_that_does_not_answer_for_a_moment_costs_no_run():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("All is well", before_token=gate)))
    thread = await runs.thread()
    runs.threads.failures["watch"] = StoreError("down")
    run = await runs.start(thread, "Hi")
    await gate.reached.wait()
    await until(lambda: runs.threads.calls["watch"] >= 3)
    gate.opened.set()

    assert (await outcome_of(run)).status == "success"


async def test_a_busy_thread_refuses_a_second_run():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Busy with this", before_token=gate)))
    thread = await runs.thread()
    first = await runs.start(thread, "One")
    await gate.reached.wait()
    for strategy in ("reject", "enqueue"):
        with pytest.raises(ThreadBusyError):
            await runs.start(thread, "Two", strategy=strategy)
    gate.opened.set()
    await outcome_of(first)

    assert await runs.texts(thread) == ["One", "Busy with this"]


async def test_an_enqueued_run_waits_for_its_turn():
    gate = Gate()
    runs = Runs(
        ScriptedChatModel(Say("First answer", before_token=gate), "Second answer"),
        timing=RunTiming(watch_every=MOMENT, look_every=MOMENT),
    )
    thread = await runs.thread()
    first = await runs.start(thread, "One")
    await gate.reached.wait()
    second = asyncio.create_task(runs.run(thread, "Two"))
    await until(lambda: runs.threads.calls["acquire"] >= 3)
    gate.opened.set()

    assert [(await outcome_of(first)).status, (await second).status] == ["success", "success"]
    assert await runs.texts(thread) == ["One", "First answer", "Two", "Second answer"]
    assert [event.human_count for event in runs.events.published] == [1, 2]


async def test_an_interrupting_run_stops_the_one_before_it():
    gate = Gate()
    runs = Runs(
        ScriptedChatModel(Say("Let me explain", before_token=gate), "Sure."),
        timing=RunTiming(watch_every=MOMENT, look_every=MOMENT),
    )
    thread = await runs.thread()
    first = await runs.start(thread, "One")
    await gate.reached.wait()

    second = await runs.run(thread, "No, two", strategy="interrupt")

    assert ((await outcome_of(first)).status, second.status) == ("interrupted", "success")
    assert await runs.texts(thread) == ["One", "Let", "No, two", "Sure."]


async def test_what_a_dead_run_had_taken_in_is_merged_by_the_next():
    """Decision 9b: nothing the user typed is lost."""
    runs = Runs(ScriptedChatModel("Sorry for the wait."))
    thread = await runs.thread()
    lost = [{"type": "human", "id": "lost", "content": "Are you there?"}]
    dead = await runs.threads.acquire(
        USER, thread, new_run_id(), now=runs.clock.now(), hold=timedelta(seconds=30), pending=lost
    )
    assert dead.status == "busy"
    runs.clock.advance(timedelta(minutes=1))

    await runs.run(thread, "Hello?")

    assert await runs.texts(thread) == ["Are you there?", "Hello?", "Sorry for the wait."]
    assert (await runs.threads.get(USER, thread)).pending == ()


async def test_what_a_dead_run_had_stored_is_not_merged_twice():
    runs = Runs(ScriptedChatModel("Yes.", "Yes, still."))
    thread = await runs.thread()
    await runs.run(thread, "There?")
    await runs.threads.acquire(
        USER,
        thread,
        new_run_id(),
        now=runs.clock.now(),
        hold=timedelta(seconds=30),
        pending=[{"type": "human", "id": "id of There?", "content": "There?"}],
    )
    runs.clock.advance(timedelta(minutes=1))

    await runs.run(thread, "Still?")

    assert await runs.texts(thread) == ["There?", "Yes.", "Still?", "Yes, still."]


async def test_a_checkpoint_that_cannot_be_written_leaves_the_question_for_the_next_run():
    runs = Runs(ScriptedChatModel("Lost answer", "Kept answer"))
    thread = await runs.thread()
    runs.saver().failures["put"] = StoreError("down")
    failed = await runs.run(thread, "First")
    runs.saver().failures.clear()
    await runs.run(thread, "Second")

    assert failed.code == "STORE_UNAVAILABLE"
    assert await runs.texts(thread) == ["First", "Second", "Kept answer"]
    assert [event.human_count for event in runs.events.published] == [2]


async def test_a_checkpoint_that_cannot_be_read_is_an_error_of_the_run():
    runs = Runs()
    thread = await runs.thread()
    runs.saver().failures["get"] = StoreError("down")

    assert (await runs.run(thread, "Hi")).code == "STORE_UNAVAILABLE"
    assert (await runs.threads.get(USER, thread)).status == "error"
    assert runs.events.published == []


async def test_a_question_too_large_for_the_row_is_stored_before_the_model_is_asked():
    runs = Runs(ScriptedChatModel(RuntimeError("the process might as well have died")))
    thread = await runs.thread()

    await runs.run(thread, "x" * 500_000)

    assert [len(text) for text in await runs.texts(thread)] == [500_000]
    assert runs.saver().calls["put root"] >= 2


async def test_large_questions_of_dead_runs_do_not_block_the_thread():
    runs = Runs()
    thread = await runs.thread()
    for number in range(3):
        await runs.threads.acquire(
            USER,
            thread,
            new_run_id(),
            now=runs.clock.now(),
            hold=timedelta(seconds=30),
            pending=[{"type": "human", "id": f"lost-{number}", "content": "x" * 120_000}],
        )
        runs.clock.advance(timedelta(minutes=1))

    outcome = await runs.run(thread, "y" * 100_000)

    assert outcome.status == "success"
    assert [len(text) for text in await runs.texts(thread)] == [120_000, 120_000, 120_000, 100_000, 2]


async def test_a_message_sent_again_is_answered_from_the_thread():
    runs = Runs(ScriptedChatModel("The one answer."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")

    again = await runs.run(thread, "Hi", modes=ALL_MODES)

    assert len(runs.model.requests) == 1
    assert (again.status, again.tokens()) == ("success", ["The one answer."])
    assert [m.text for m in again.of("values")[-1]["messages"]] == ["Hi", "The one answer."]
    assert len(runs.events.published) == 1
    assert (await runs.threads.get(USER, thread)).status == "idle"
    assert runs.metrics.counts[counters.ANSWER_REPLAYED] == 1


async def test_a_client_that_sends_its_whole_history_gets_a_new_answer():
    runs = Runs(ScriptedChatModel("One.", "Two."))
    thread = await runs.thread()
    await runs.run(thread, "a")

    await runs.run(thread, "a", "b")

    assert await runs.texts(thread) == ["a", "One.", "b", "Two."]


async def test_a_turn_that_died_before_it_was_announced_is_announced_when_it_is_sent_again():
    runs = Runs()
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    runs.events.published.clear()
    row = await runs.threads.get(USER, thread)
    # As the row was before the run that died: it knows of no checkpoint.
    runs.threads._threads[USER, thread] = ThreadRow(
        user_id=USER,
        thread_id=thread,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_message_at=row.last_message_at,
        checkpoint_id=None,
    )

    await runs.run(thread, "Hi")

    assert [event.human_message_id for event in runs.events.published] == ["id of Hi"]


async def test_an_interrupted_turn_has_not_ended_until_it_is_resumed():
    """G31."""
    runs = Runs(ScriptedChatModel("Done."))
    thread = await runs.thread()

    asked = await runs.run(thread, "Please confirm", modes=ALL_MODES)
    row = await runs.threads.get(USER, thread)
    announced = len(runs.events.published)
    resumed = await runs.run(thread, command=ResumeCommand(resume="yes", has_resume=True))

    assert (asked.status, row.status, announced) == ("interrupted", "interrupted", 0)
    (question,) = asked.of("updates")[-1]["__interrupt__"]
    assert question.value == {"question": "sure?"}
    assert resumed.status == "success"
    assert await runs.texts(thread) == ["Please confirm", "You said: yes", "Done."]
    assert [event.outcome for event in runs.events.published] == ["completed"]
    assert (await runs.threads.get(USER, thread)).status == "idle"


async def test_interrupt_before_a_node_is_honoured_and_gone_on_from():
    runs = Runs(ScriptedChatModel("Done."))
    thread = await runs.thread()

    asked = await runs.run(thread, "Hi", interrupt_before=("chat_agent",))
    gone_on = await runs.run(thread)

    assert (asked.status, gone_on.status) == ("interrupted", "success")
    assert await runs.texts(thread) == ["Hi", "Done."]


async def test_there_is_nothing_to_go_on_with_in_a_thread_at_rest():
    runs = Runs()
    thread = await runs.thread()
    await runs.run(thread, "Hi")

    with pytest.raises(InvalidInputError):
        await runs.start(thread)
    assert (await runs.threads.get(USER, thread)).status == "idle"


async def test_an_answer_can_be_made_again():
    runs = Runs(ScriptedChatModel("Zero.", "First try.", "Second try."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    before = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await runs.run(thread, "Tell me")

    again = await runs.run(thread, checkpoint_id=before)

    assert again.status == "success"
    assert await runs.texts(thread) == ["Hi", "Zero.", "Tell me", "Second try."]
    assert [m.text for m in runs.model.requests[-1].messages] == ["Hi", "Zero.", "Tell me"]


async def test_a_question_can_be_asked_differently():
    runs = Runs(ScriptedChatModel("Zero.", "About cats.", "About dogs."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    before = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await runs.run(thread, "Cats?")

    await runs.run(thread, "Dogs?", checkpoint_id=before)

    assert await runs.texts(thread) == ["Hi", "Zero.", "Dogs?", "About dogs."]


async def test_a_checkpoint_that_is_not_there_is_not_found():
    runs = Runs()
    thread = await runs.thread()
    await runs.run(thread, "Hi")

    with pytest.raises(NotFoundError):
        await runs.start(thread, "Hi", checkpoint_id="1ef4a9b8-d7da-679a-a45a-872054341df2")
    assert (await runs.threads.get(USER, thread)).status == "idle"


async def test_history_is_one_unbroken_chain():
    runs = Runs()
    thread = await runs.thread()
    for text in ("a", "b", "c"):
        await runs.run(thread, text)

    history = [
        snapshot
        async for snapshot in runs.runner.reading(USER).aget_state_history({"configurable": {"thread_id": thread}})
    ]

    ids = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in history]
    parents = [(snapshot.parent_config or {}).get("configurable", {}).get("checkpoint_id") for snapshot in history]
    assert len(ids) == 3
    assert parents == [*ids[1:], None]


async def test_a_turn_end_that_cannot_be_announced_fails_nothing(caplog):
    """G15."""
    runs = Runs()
    thread = await runs.thread()
    runs.events.failures = 1
    with caplog.at_level(logging.ERROR):
        outcome = await runs.run(thread, "Hi")

    assert outcome.status == "success"
    assert (await runs.threads.get(USER, thread)).status == "idle"
    assert runs.metrics.counts[counters.TURN_EVENT_FAILED] == 1
    assert "turn end not announced" in caplog.messages


async def test_the_turn_end_is_announced_after_it_is_stored_and_before_the_stream_ends():
    """G16, Decision 9a."""
    runs = Runs()
    thread = await runs.thread()
    seen: list[object] = []
    publish = runs.events.publish

    async def look(event):
        seen.append(await runs.texts(thread))
        for _ in range(5):  # time enough for the stream to end, were it not held back
            await asyncio.sleep(0)
        await publish(event)

    runs.events.publish = look
    run = await runs.start(thread, "Hi")
    outputs = [output async for output in run.outputs()]
    seen.append(len(runs.events.published))

    assert isinstance(outputs[-1], Ended)
    assert seen == [["Hi", "ok"], 1]


async def test_memory_is_read_while_the_thread_is_asked_for():
    runs = Runs()
    thread = await runs.thread()
    order: list[str] = []
    load, acquire = runs.profiles.load, runs.threads.acquire

    async def slow_acquire(*args, **options):
        order.append("acquire begins")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        row = await acquire(*args, **options)
        order.append("acquire ends")
        return row

    async def noted_load(user):
        order.append("profile is read")
        return await load(user)

    runs.threads.acquire, runs.profiles.load = slow_acquire, noted_load
    await runs.run(thread, "Hi")

    assert order.index("profile is read") < order.index("acquire ends")
