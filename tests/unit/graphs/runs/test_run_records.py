"""What is known of a run while it goes on and after it, and what is left when it is undone."""

import asyncio
from datetime import timedelta

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from shared.domain.errors import InvalidInputError, ModelThrottledError, StoreError
from shared.domain.root_checkpoint import root_checkpoint_id
from shared.domain.runs import EventPage, RunRow
from shared.domain.threads import LeaseSignal
from shared.graphs.runs.admission import pending_of
from shared.graphs.runs.journal import NoJournal
from shared.graphs.runs.request import ResumeCommand
from shared.graphs.runs.runner import RunTiming
from shared.graphs.runs.state_change import StateChange
from tests.fakes.chat_model import Say, ScriptedChatModel
from tests.fakes.runs import MOMENT, USER, Runs, new_run_id, new_thread_id, outcome_of, until
from tests.fakes.small_graph import TURN_END

QUICK = RunTiming(watch_every=MOMENT, look_every=MOMENT)


class Gate:
    """Stops the model before its second word until the test opens it."""

    def __init__(self):
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, place):
        if place == 1:
            self.reached.set()
            await self.opened.wait()


class CountingJournal(NoJournal):
    """Keeps how many outputs it heard of, in pages."""

    def __init__(self, thread, run):
        self.thread, self.run = thread, run
        self.heard = self.safe = 0
        self.began = None
        self.shown = []

    def begin(self, checkpoint_id, messages):
        self.began = (checkpoint_id, [message.text for message in messages])

    def write(self, output, *, shown=True):
        self.heard += 1
        self.shown.append(shown)

    def show_all(self):
        self.shown = [True] * len(self.shown)

    def pages(self):
        if self.heard == self.safe:
            return ()
        return (EventPage(run_id=self.run, thread_id=self.thread, first=self.safe + 1, last=self.heard, body=b"e"),)

    def kept(self, pages):
        self.safe = max([self.safe, *(page.last for page in pages)])


async def rows_of(runs, thread):
    return await runs.run_rows.search(USER, thread)


async def test_a_run_is_on_its_threads_row_until_it_has_a_row_of_its_own():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Hello there", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "Hi", metadata={"from": "test"}, strategy="reject")
    await gate.reached.wait()
    during, rows_during = (await runs.threads.get(USER, thread)).run, await rows_of(runs, thread)
    gate.opened.set()
    await outcome_of(run)
    (row,) = await rows_of(runs, thread)

    assert (during.run_id, during.status, during.strategy, during.metadata) == (
        run.id,
        "running",
        "reject",
        {"from": "test"},
    )
    assert rows_during == []
    assert (row.run_id, row.status, row.strategy, row.metadata) == (run.id, "success", "reject", {"from": "test"})
    assert (await runs.threads.get(USER, thread)).run is None


@pytest.mark.parametrize(
    ("script", "question", "options", "status"),
    [
        (["Fine."], "Hi", {}, "success"),
        ([ModelThrottledError("busy")], "Hi", {}, "error"),
        (["Fine."], "please confirm", {}, "interrupted"),
        (["Fine."], "Hi", {"interrupt_before": ("chat_agent",)}, "interrupted"),
    ],
)
async def test_a_row_says_how_its_run_ended(script, question, options, status):
    runs = Runs(ScriptedChatModel(*script))
    thread = await runs.thread()

    await runs.run(thread, question, **options)

    assert [row.status for row in await rows_of(runs, thread)] == [status]


async def test_a_run_costs_one_write_of_the_registry():
    runs = Runs()
    thread = await runs.thread()

    await runs.run(thread, "Hi")

    assert runs.run_rows.calls == {"save": 1}


async def test_a_registry_that_fails_fails_no_run(caplog):
    runs = Runs()
    thread = await runs.thread()
    runs.run_rows.failure = StoreError("down")

    assert (await runs.run(thread, "Hi")).status == "success"
    assert "run not remembered" in caplog.messages


async def test_a_row_is_there_before_the_thread_is_free():
    runs = Runs()
    thread = await runs.thread()
    seen = []
    save = runs.run_rows.save

    async def look(*args, **options):
        seen.append((await runs.threads.get(USER, thread)).status)
        await save(*args, **options)

    runs.run_rows.save = look
    await runs.run(thread, "Hi")

    assert seen == ["busy"]


async def test_a_dead_run_is_remembered_by_the_one_that_takes_its_thread():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Too late", before_token=gate), "In time."))
    thread = await runs.thread()
    dead = await runs.start(thread, "Hi")
    await gate.reached.wait()
    runs.clock.advance(timedelta(minutes=1))
    await runs.run(thread, "Hello?")
    await outcome_of(dead)

    assert {row.run_id == dead.id: row.status for row in await rows_of(runs, thread)} == {
        True: "error",
        False: "success",
    }


async def test_events_are_kept_at_the_end_in_one_write_when_nobody_follows():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Hello there Ada", before_token=gate)))
    thread = await runs.thread()
    request = runs.request(thread, "Hi")
    journal = CountingJournal(thread, request.run)
    run = await runs.runner.start(request, journal)
    await gate.reached.wait()
    await until(lambda: runs.threads.calls["watch"] >= 3)
    before = await runs.run_rows.pages(USER, thread, run.id)
    gate.opened.set()
    await outcome_of(run)
    pages = await runs.run_rows.pages(USER, thread, run.id)

    assert list(before) == []
    assert [(page.first, page.last) for page in pages] == [(1, journal.heard)]
    assert journal.began == (None, [])
    assert all(journal.shown)


async def test_events_are_kept_as_they_come_when_somebody_follows():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Hello there Ada", before_token=gate)), timing=QUICK)
    thread = await runs.thread()
    request = runs.request(thread, "Hi")
    journal = CountingJournal(thread, request.run)
    run = await runs.runner.start(request, journal)
    await gate.reached.wait()
    await runs.threads.request_events(USER, thread, request.run, now=runs.clock.now())
    await until(lambda: journal.safe > 0)
    so_far = journal.safe
    gate.opened.set()
    await outcome_of(run)
    pages = await runs.run_rows.pages(USER, thread, run.id)

    assert (pages[0].first, pages[0].last) == (1, so_far)
    assert [page.first for page in pages[1:]] == [page.last + 1 for page in pages[:-1]]
    assert pages[-1].last == journal.heard


async def test_what_was_not_kept_is_kept_by_the_next_try():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Hello there Ada", before_token=gate)), timing=QUICK)
    thread = await runs.thread()
    request = runs.request(thread, "Hi")
    journal = CountingJournal(thread, request.run)
    runs.run_rows.failures["save"] = StoreError("down")
    run = await runs.runner.start(request, journal)
    await gate.reached.wait()
    await runs.threads.request_events(USER, thread, request.run, now=runs.clock.now())
    await until(lambda: runs.run_rows.calls["save"] >= 2)
    del runs.run_rows.failures["save"]
    gate.opened.set()
    await outcome_of(run)

    assert next(page.first for page in await runs.run_rows.pages(USER, thread, run.id)) == 1


async def test_nothing_of_a_run_is_kept_of_a_thread_that_is_being_deleted():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Not to be kept", before_token=gate)))
    thread = await runs.thread()
    request = runs.request(thread, "Hi")
    run = await runs.runner.start(request, CountingJournal(thread, request.run))
    await gate.reached.wait()
    await runs.threads.mark_deleting(USER, thread, now=runs.clock.now())
    await outcome_of(run)

    assert runs.run_rows.calls["save"] == 0


# Rollback


@pytest.mark.parametrize("durability", ["exit", "async"])
async def test_a_run_that_is_undone_leaves_the_thread_as_it_was(durability):
    gate = Gate()
    runs = Runs(ScriptedChatModel("Zero.", Say("Once upon a time", before_token=gate), "Next."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    before = (await runs.state(thread)).config
    run = await runs.start(thread, "A story", durability=durability)
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=True)

    outcome = await outcome_of(run)
    row, state = await runs.threads.get(USER, thread), await runs.state(thread)
    await runs.run(thread, "Go on")

    assert (outcome.status, outcome.code) == ("interrupted", None)
    assert (row.status, row.pending) == ("idle", ())
    assert state.config == before
    assert await runs.texts(thread) == ["Hi", "Zero.", "Go on", "Next."]
    assert [event.human_message_id for event in runs.events.published] == ["id of Hi", "id of Go on"]
    assert run.id not in [each.run_id for each in await rows_of(runs, thread)]


async def test_a_question_that_was_open_is_open_again():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Once upon a time", before_token=gate), "Done."))
    thread = await runs.thread()
    await runs.run(thread, "please confirm")
    run = await runs.start(thread, command=ResumeCommand(resume="yes", has_resume=True))
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=True)
    await outcome_of(run)
    row, state = await runs.threads.get(USER, thread), await runs.state(thread)
    resumed = await runs.run(thread, command=ResumeCommand(resume="no", has_resume=True))

    assert row.status == "interrupted"
    assert [each.value for each in state.interrupts] == [{"question": "sure?"}]
    assert resumed.status == "success"
    assert await runs.texts(thread) == ["please confirm", "You said: no", "Done."]


@pytest.mark.parametrize("text", ["Elsewhere", "Hi"], ids=["a branch", "from the root"])
async def test_an_undone_branch_leaves_a_question_at_the_head_open(text):
    gate = Gate()
    runs = Runs(ScriptedChatModel("Hello.", Say("Once upon a time", before_token=gate)))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    place = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await runs.run(thread, "please confirm")
    start = place if text == "Elsewhere" else root_checkpoint_id(thread)
    run = await runs.start(thread, text, checkpoint_id=start)
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=True)
    await outcome_of(run)

    assert (await runs.threads.get(USER, thread)).status == "interrupted"
    assert (await runs.state(thread)).interrupts


async def test_a_refused_branch_leaves_a_question_at_the_head_open():
    runs = Runs(ScriptedChatModel("Hello."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    place = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await runs.run(thread, "please confirm")

    with pytest.raises(InvalidInputError):
        await runs.start(thread, "Hi", checkpoint_id=place)

    assert (await runs.threads.get(USER, thread)).status == "interrupted"


async def test_an_answer_that_is_given_again_leaves_a_later_question_open():
    runs = Runs(ScriptedChatModel("Hello."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    await runs.run(thread, "please confirm")

    again = await runs.run(thread, "Hi", modes=frozenset({"messages"}))

    assert again.tokens() == ["Hello."]
    assert (await runs.threads.get(USER, thread)).status == "interrupted"


async def test_a_refused_run_leaves_a_thread_in_error():
    runs = Runs(ScriptedChatModel("Hello.", RuntimeError("x")))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    await runs.run(thread, "And?")

    with pytest.raises(InvalidInputError):
        await runs.runner.start(runs.request(thread, messages=[HumanMessage("Other", id="id of Hi")]))

    assert (await runs.threads.get(USER, thread)).status == "error"


async def test_a_refused_run_leaves_nothing_of_its_text_in_a_thread_in_which_nothing_was_said():
    runs = Runs()
    thread = new_thread_id()
    result = ToolMessage("sunny", tool_call_id="of no call", id="t")
    said = [HumanMessage("A secret", id="h"), result]

    with pytest.raises(InvalidInputError):
        await runs.runner.start(runs.request(thread, messages=said, create=True))
    refused = await runs.threads.get(USER, thread)
    await runs.run(thread, "Hi")

    assert (refused.status, refused.preview, refused.pending) == ("idle", "", ())
    assert (await runs.threads.get(USER, thread)).preview == "Hi"


async def test_a_first_run_that_is_undone_leaves_no_preview():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Once upon a time", before_token=gate)))
    thread = await runs.thread()
    run = await runs.start(thread, "A story")
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, run.id, now=runs.clock.now(), rollback=True)
    await outcome_of(run)

    assert (await runs.threads.get(USER, thread)).preview == ""


async def test_a_refused_run_leaves_the_preview_of_what_was_said():
    runs = Runs(ScriptedChatModel("Hello."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")

    with pytest.raises(InvalidInputError):
        await runs.runner.start(runs.request(thread, messages=[HumanMessage("Other", id="id of Hi")]))

    assert (await runs.threads.get(USER, thread)).preview == "Hi"


async def test_a_run_with_rollback_undoes_the_one_before_it():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Let me explain", before_token=gate), "Sure."), timing=QUICK)
    thread = await runs.thread()
    first = await runs.start(thread, "One")
    await gate.reached.wait()

    second = await runs.run(thread, "No, two", strategy="rollback")

    assert ((await outcome_of(first)).status, second.status) == ("interrupted", "success")
    assert await runs.texts(thread) == ["No, two", "Sure."]
    assert [event.human_count for event in runs.events.published] == [1]


async def test_a_run_with_rollback_undoes_a_dead_one_as_well():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Too late", before_token=gate), "In time."))
    thread = await runs.thread()
    dead = await runs.start(thread, "Hi", durability="async")
    await gate.reached.wait()
    runs.clock.advance(timedelta(minutes=1))

    await runs.run(thread, "Hello?", strategy="rollback")
    await outcome_of(dead)

    assert await runs.texts(thread) == ["Hello?", "In time."]


async def test_a_run_with_rollback_in_a_thread_at_rest_undoes_nothing():
    runs = Runs(ScriptedChatModel("One.", "Two."))
    thread = await runs.thread()
    await runs.run(thread, "a")

    await runs.run(thread, "b", strategy="rollback")

    assert await runs.texts(thread) == ["a", "One.", "b", "Two."]
    assert runs.saver().calls["delete_for_runs"] == 0


async def test_a_run_that_was_asked_to_stop_can_still_be_undone():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Let me explain", before_token=gate), "Sure."), timing=QUICK)
    thread = await runs.thread()
    deaf = runs.threads.watch

    async def hears_nothing(*_args):
        return LeaseSignal()

    runs.threads.watch = hears_nothing
    first = await runs.start(thread, "One")
    await gate.reached.wait()
    await runs.threads.request_cancel(USER, thread, first.id, now=runs.clock.now())
    second = asyncio.create_task(runs.run(thread, "No, two", strategy="rollback"))
    await until(lambda: runs.threads.calls["request_cancel"] > 1)
    runs.threads.watch = deaf

    assert (await second).status == "success"
    await outcome_of(first)
    assert await runs.texts(thread) == ["No, two", "Sure."]


async def test_a_change_of_the_state_remembers_a_dead_run_too():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Too late", before_token=gate)))
    thread = await runs.thread()
    dead = await runs.start(thread, "Hi")
    await gate.reached.wait()
    runs.threads.failures = {"watch": StoreError("down"), "renew": StoreError("down")}
    runs.clock.advance(timedelta(minutes=1))
    await outcome_of(dead)
    runs.threads.failures = {}
    await runs.runner.change_state(StateChange(user=USER, thread=thread, values={"messages": [HumanMessage("Mine")]}))

    assert [(row.run_id, row.status) for row in await rows_of(runs, thread)] == [(dead.id, "error")]
    assert (await runs.threads.get(USER, thread)).status != "busy"


async def test_an_unknown_run_cannot_be_stopped():
    runs = Runs()
    thread = await runs.thread()

    assert await runs.threads.request_cancel(USER, thread, new_run_id(), now=runs.clock.now()) is False


async def a_dead_run(runs, thread, text, **options):
    """A run whose process died with the thread in its hands; what it had taken in is in the row."""
    request = runs.request(thread, text)
    await runs.threads.acquire(
        USER,
        thread,
        request.run,
        now=runs.clock.now(),
        hold=timedelta(seconds=30),
        pending=pending_of(request.messages, request.run),
        record=RunRow(run_id=request.run, thread_id=thread, created_at=runs.clock.now(), updated_at=runs.clock.now()),
        **options,
    )
    runs.clock.advance(timedelta(minutes=1))
    return request.run


async def test_undoing_a_run_leaves_what_one_before_it_had_left_behind():
    gate = Gate()
    runs = Runs(ScriptedChatModel(Say("Let me explain", before_token=gate), "Sure."), timing=QUICK)
    thread = await runs.thread()
    await a_dead_run(runs, thread, "Lost")
    undone = await runs.start(thread, "One")
    await gate.reached.wait()

    second = await runs.run(thread, "Two", strategy="rollback")
    await outcome_of(undone)

    assert second.status == "success"
    assert await runs.texts(thread) == ["Lost", "Two", "Sure."]
    assert (await runs.threads.get(USER, thread)).pending == ()


async def test_undoing_a_dead_run_leaves_what_one_before_it_had_left_behind():
    runs = Runs(ScriptedChatModel("Sure.", "Still."))
    thread = await runs.thread()
    await a_dead_run(runs, thread, "Lost")
    await a_dead_run(runs, thread, "Undone")

    await runs.run(thread, "Two", strategy="rollback")
    await runs.run(thread, "Three")

    assert await runs.texts(thread) == ["Lost", "Two", "Sure.", "Three", "Still."]


async def a_run_that_died_after_it_stored(runs, thread, text):
    runs.threads.failures = {"release": StoreError("down")}
    await runs.run(thread, text)
    runs.threads.failures = {}
    runs.clock.advance(timedelta(minutes=1))


async def test_a_branch_does_not_take_in_what_was_stored_where_it_left():
    runs = Runs(ScriptedChatModel("Zero.", "Cats.", "Dogs.", "More."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    before = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await a_run_that_died_after_it_stored(runs, thread, "Cats?")

    await runs.run(thread, "Dogs?", checkpoint_id=before)
    await runs.run(thread, "More?")

    assert await runs.texts(thread) == ["Hi", "Zero.", "Dogs?", "Dogs.", "More?", "More."]


async def test_a_changed_state_does_not_take_in_what_was_stored_before():
    runs = Runs(ScriptedChatModel("Zero.", "Cats.", "More."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    before = (await runs.state(thread)).config["configurable"]["checkpoint_id"]
    await a_run_that_died_after_it_stored(runs, thread, "Cats?")

    values = {"messages": [HumanMessage("Dogs?", id="d")]}
    await runs.runner.change_state(
        StateChange(user=USER, thread=thread, values=values, checkpoint_id=before, as_node=TURN_END)
    )
    await runs.run(thread, "More?")

    assert await runs.texts(thread) == ["Hi", "Zero.", "Dogs?", "More?", "More."]


async def test_a_refused_run_keeps_what_others_left_and_remembers_the_dead_one():
    runs = Runs(ScriptedChatModel("One.", "Two."))
    thread = await runs.thread()
    await runs.run(thread, "Hi")
    dead = await a_dead_run(runs, thread, "Lost")
    with pytest.raises(InvalidInputError):
        await runs.runner.start(runs.request(thread, messages=[HumanMessage("Other", id="id of Hi")]))
    row = await runs.threads.get(USER, thread)
    await runs.run(thread, "Next")

    assert (row.status, [message["content"] for message in row.pending]) == ("error", ["Lost"])
    assert (dead, "error") in [(each.run_id, each.status) for each in await rows_of(runs, thread)]
    assert await runs.texts(thread) == ["Hi", "One.", "Lost", "Next", "Two."]
