"""Summary passes over real threads, with the fakes that run the adapters' contracts."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from shared.domain import counters
from shared.domain.errors import (
    EventAheadOfCheckpointError,
    ModelThrottledError,
    StoreError,
)
from shared.domain.events import TurnEnded
from shared.domain.kb.file_parts import marked
from shared.domain.summary import SummaryOutput, format_entries
from shared.domain.threads import DEFAULT_POLICY, HISTORY_POLICIES, ThreadRow
from shared.kb_ports import MessageDocuments
from shared.services.summarize_thread import PassRules, SummarizeThread
from shared.settings import SummarizeSettings
from tests.fakes.chat_knowledge import ChatKnowledge
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.summarizer import ScriptedSummarizer, covering
from tests.fakes.thread_messages import InMemoryThreadMessages
from tests.fakes.threads import InMemoryThreads

USER = "user-1"
THREAD = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
RUN = "33333333-3333-4333-8333-333333333333"
LATER_RUN = "44444444-4444-4444-8444-444444444444"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def turn(number, *, answered=True):
    """A turn by its number, as in ``#number``."""
    question = HumanMessage(f"question {number}", id=f"h{number}")
    return [question, AIMessage(f"answer {number}", id=f"a{number}")] if answered else [question]


def conversation(turns):
    return [message for number in range(1, turns + 1) for message in turn(number)]


@dataclass
class Scene:
    """A thread, and everything around a pass."""

    keep_recent: int = 3
    token_budget: int = 60_000
    char_limit: int = 20_000
    summarizer: ScriptedSummarizer = field(default_factory=ScriptedSummarizer)
    threads: InMemoryThreads = field(default_factory=InMemoryThreads)
    messages: InMemoryThreadMessages = field(default_factory=InMemoryThreadMessages)
    clock: FixedClock = field(default_factory=lambda: FixedClock(NOW))
    metrics: CountingMetrics = field(default_factory=CountingMetrics)
    documents: MessageDocuments | None = None

    def __post_init__(self):
        self.summaries = InMemorySummaries(self.threads)

    @property
    def service(self):
        rules = PassRules(
            keep_recent=self.keep_recent,
            hold=timedelta(minutes=3),
            max_attempts=3,
            back_off=timedelta(minutes=1),
            token_budget=self.token_budget,
            char_limit=self.char_limit,
        )
        return SummarizeThread(
            threads=self.threads,
            messages=self.messages,
            summaries=self.summaries,
            summarizer=self.summarizer,
            clock=self.clock,
            metrics=self.metrics,
            rules=rules,
            documents=self.documents,
        )

    async def create(self, thread=THREAD, **values):
        await self.threads.create(
            ThreadRow(user_id=USER, thread_id=thread, created_at=NOW, updated_at=NOW, last_message_at=NOW, **values)
        )

    def event(self, turns, thread=THREAD):
        return TurnEnded(
            user_id=USER,
            thread_id=thread,
            run_id=RUN,
            human_message_id=f"h{turns}",
            human_count=turns,
            ended_at=NOW,
        )

    async def ends(self, turns, thread=THREAD):
        """The thread has so many turns and the last one ended."""
        self.messages.put(USER, thread, conversation(turns))
        return await self.service.after(self.event(turns, thread))

    async def entries(self, thread=THREAD):
        return list((await self.summaries.of_thread(USER, thread)).entries)

    async def windows(self, thread=THREAD):
        return [(entry.start_message_index, entry.end_message_index) for entry in await self.entries(thread)]


@pytest.fixture
async def scene():
    scene = Scene()
    await scene.create()
    return scene


async def test_passes_come_at_each_multiple_and_at_no_other_turn(scene):
    # TR03, TR06, TR07, TR08, TP12
    outcomes = [await scene.ends(turns) for turns in range(1, 13)]
    assert outcomes == ["quiet", "quiet", "written"] * 4
    assert await scene.windows() == [(0, 2), (3, 5), (6, 8), (9, 11)]
    assert [entry.sequence for entry in await scene.entries()] == [1, 2, 3, 4]
    assert scene.summarizer.calls == 4


async def test_thirty_turns_at_the_default_make_three_passes():
    # TR07
    scene = Scene(keep_recent=10)
    await scene.create()
    written = [turns for turns in range(1, 31) if await scene.ends(turns) == "written"]
    assert written == [10, 20, 30]


@pytest.mark.parametrize(("turns", "window"), [(4, (0, 2)), (7, (0, 5)), (10, (0, 8))])
async def test_a_backlog_is_one_pass(scene, turns, window):
    # TR04, TR09
    assert await scene.ends(turns) == "written"
    assert await scene.windows() == [window]
    assert scene.summarizer.calls == 1


async def test_the_window_starts_after_what_is_covered_whatever_k_was_then():
    # HID-21, section 17: K=3, H=8, lastEnd=3
    scene = Scene(keep_recent=4)
    await scene.create()
    await scene.ends(4)
    scene.keep_recent = 3
    await scene.ends(8)
    assert await scene.windows() == [(0, 3), (4, 6)]


async def test_other_threads_do_not_count(scene):
    # TR01
    await scene.create(OTHER)
    await scene.ends(3)
    assert await scene.ends(3, OTHER) == "written"
    (entry,) = await scene.entries(OTHER)
    assert (entry.thread_id, entry.sequence, entry.start_message_index) == (OTHER, 1, 0)


@pytest.mark.parametrize("keep_recent", [0, -1])
async def test_k_below_one_turns_everything_off(keep_recent):
    # TR12, HID-22
    scene = Scene(keep_recent=keep_recent)
    await scene.create()
    assert await scene.ends(30) == "off"
    assert scene.messages.loads == 0
    assert scene.threads.calls["get"] == scene.summaries.calls.total() == scene.summarizer.calls == 0


async def test_fewer_turns_than_a_window_has_read_nothing(scene):
    # TP19, TR11
    assert await scene.ends(2) == "quiet"
    assert scene.messages.loads == 0
    assert scene.threads.calls["get"] == scene.summaries.calls.total() == 0
    assert (scene.summarizer.transcripts, await scene.entries()) == ([], [])


@pytest.mark.parametrize("policy", [policy for policy in HISTORY_POLICIES if policy != DEFAULT_POLICY])
async def test_a_thread_with_another_way_to_stay_short_is_left_alone(policy):
    # Decision 12, X02: destructive strategies are never combined with summaries.
    scene = Scene()
    await scene.create(policy=policy)
    assert await scene.ends(9) == "off"
    assert scene.summaries.calls.total() == scene.summarizer.calls == 0


async def test_the_entry_is_stored_as_the_seed_lists_it(scene):
    # RF06, TP13, TP14, TP15, TP16, TR05
    summary = covering("#1-#2", "#3")
    scene.summarizer = ScriptedSummarizer(summary)
    await scene.ends(3)
    (entry,) = await scene.entries()
    said = [message.content for message in conversation(3)]
    assert entry.model_dump() == {
        "thread_id": THREAD,
        "sequence": 1,
        "start_message_index": 0,
        "end_message_index": 2,
        "message_count": 3,
        "message_ids": ["h1", "h2", "h3"],
        "summary": summary.model_dump(),
        "trigger_reason": "turn_based",
        "token_count_before": sum(-(-len(text) // 4) for text in said),
        "token_count_after": -(-len(format_entries(summary.entries)) // 4),
        "created_at": NOW,
    }


async def test_the_transcript_is_the_window_with_global_labels(scene):
    # TP01, TP02, TP04: the last answer is in, the next question is not; RF01
    await scene.ends(3)
    messages = [*conversation(5), HumanMessage("weather?", id="h6")]
    call = {"name": "weather", "args": {"city": "Ulm"}, "id": "t1"}
    messages += [AIMessage("", tool_calls=[call], id="a6a"), ToolMessage("sunny", tool_call_id="t1", id="t6")]
    messages += [AIMessage("It is sunny.", id="a6b"), *turn(7)]
    scene.messages.put(USER, THREAD, messages)
    assert await scene.service.after(scene.event(7)) == "written"
    lines = [json.loads(line) for line in scene.summarizer.transcripts[-1].splitlines()]
    assert [line["id"] for line in lines] == ["#4", "#5", "#6"]
    assert [message["role"] for message in lines[2]["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert "question 7" not in scene.summarizer.transcripts[-1]


async def test_system_messages_do_not_shift_the_count(scene):
    # TR14
    messages = [SystemMessage("be nice", id="s1"), *conversation(2), SystemMessage("be nicer", id="s2")]
    scene.messages.put(USER, THREAD, messages)
    assert await scene.service.after(scene.event(2)) == "quiet"
    scene.messages.put(USER, THREAD, [*messages, *turn(3)])
    assert await scene.service.after(scene.event(3)) == "written"
    assert (await scene.entries())[0].message_ids == ["h1", "h2", "h3"]


async def test_the_thread_is_only_read(scene):
    # G21
    before = conversation(3)
    scene.messages.put(USER, THREAD, before)
    await scene.service.after(scene.event(3))
    assert await scene.messages.load(USER, THREAD) == conversation(3)
    assert before == conversation(3)


async def test_a_turn_without_an_answer_waits(scene):
    # HID-20
    scene.messages.put(USER, THREAD, [*conversation(2), *turn(3, answered=False)])
    assert await scene.service.after(scene.event(3)) == "quiet"
    scene.messages.put(USER, THREAD, [*conversation(3), *turn(4, answered=False)])
    assert await scene.service.after(scene.event(4)) == "written"
    assert await scene.windows() == [(0, 2)]


async def test_messages_without_ids_are_covered_for_good(scene):
    # HID-10
    messages = [message.model_copy(update={"id": None}) for message in conversation(3)]
    event = scene.event(3)
    scene.messages.put(USER, THREAD, [*messages[:4], HumanMessage("question 3", id="h3"), messages[5]])
    assert await scene.service.after(event) == "written"
    assert await scene.service.after(event) == "quiet"
    (entry,) = await scene.entries()
    assert all(entry.message_ids)


async def test_an_event_delivered_again_and_again_costs_one_pass(scene):
    # TR13, HID-07
    outcomes = [await scene.ends(3) for _ in range(3)]
    assert outcomes == ["written", "quiet", "quiet"]
    assert scene.summarizer.calls == 1


async def test_an_event_delivered_twice_at_once_costs_one_pass(scene):
    # HID-07: both read the same backlog before either claims.
    scene.messages.put(USER, THREAD, conversation(3))

    async def let_the_others_run():
        for _ in range(50):
            await asyncio.sleep(0)

    scene.summarizer.while_thinking = let_the_others_run
    service = scene.service
    outcomes = await asyncio.gather(*(service.after(scene.event(3)) for _ in range(3)))
    assert sorted(outcomes) == ["held", "held", "written"]
    assert scene.summarizer.calls == 1
    assert await scene.windows() == [(0, 2)]


async def test_an_event_that_comes_late_does_what_is_due_now(scene):
    # The event of turn 3 arrives when the thread has seven turns.
    scene.messages.put(USER, THREAD, conversation(7))
    assert await scene.service.after(scene.event(3)) == "written"
    assert await scene.service.after(scene.event(7)) == "quiet"
    assert await scene.windows() == [(0, 5)]


async def test_a_window_covered_while_it_was_claimed_is_not_summarised_again(scene):
    # The window is checked again under the claim: another pass covered these turns within a larger window.
    scene.messages.put(USER, THREAD, conversation(3))
    inner = scene.summaries.claim

    async def claim_after_another_pass(user, thread, window_key, **limits):
        scene.summaries.claim = inner
        scene.messages.put(USER, THREAD, conversation(6))
        assert await scene.service.after(scene.event(6)) == "written"
        return await inner(user, thread, window_key, **limits)

    scene.summaries.claim = claim_after_another_pass
    assert await scene.service.after(scene.event(3)) == "done"
    assert scene.summarizer.calls == 1
    assert await scene.windows() == [(0, 5)]


async def test_an_event_ahead_of_its_checkpoint_is_to_be_delivered_again(scene):
    # AWS08: neither the turn nor the count is there yet.
    scene.messages.put(USER, THREAD, conversation(2))
    with pytest.raises(EventAheadOfCheckpointError):
        await scene.service.after(scene.event(3))
    assert scene.metrics.counts[counters.EVENT_AHEAD] == 1
    assert scene.summarizer.calls == 0
    assert await scene.ends(3) == "written"


async def test_a_turn_that_a_later_run_removed_is_not_waited_for(scene):
    # An edit or a fork took the turn away: the later run announces its own end.
    scene.messages.put(USER, THREAD, conversation(2))
    await scene.threads.acquire(USER, THREAD, LATER_RUN, now=NOW, hold=timedelta(seconds=30))
    assert await scene.service.after(scene.event(3)) == "superseded"


async def test_a_turn_is_waited_for_while_its_own_run_is_the_last(scene):
    scene.messages.put(USER, THREAD, conversation(2))
    await scene.threads.acquire(USER, THREAD, RUN, now=NOW, hold=timedelta(seconds=30))
    with pytest.raises(EventAheadOfCheckpointError):
        await scene.service.after(scene.event(3))


async def test_a_thread_that_is_gone_is_no_error(scene):
    # HID-06
    await scene.threads.mark_deleting(USER, THREAD, now=NOW)
    assert await scene.ends(3) == "thread_gone"
    assert scene.messages.loads == scene.summarizer.calls == 0


async def test_a_thread_of_somebody_else_is_gone(scene):
    scene.messages.put("user-2", THREAD, conversation(3))
    assert await scene.service.after(scene.event(3).model_copy(update={"user_id": "user-2"})) == "thread_gone"
    assert scene.summarizer.calls == 0


async def test_a_thread_deleted_while_the_model_thinks_stays_deleted(scene):
    # HID-06
    async def delete():
        await scene.threads.mark_deleting(USER, THREAD, now=NOW)
        await scene.summaries.forget(USER, THREAD)

    scene.summarizer.while_thinking = delete
    assert await scene.ends(3) == "thread_gone"
    assert await scene.entries() == []
    assert scene.metrics.counts[counters.SUMMARY_LOST] == 1


async def test_summaries_deleted_while_the_model_thinks_stay_deleted(scene):
    async def delete():
        await scene.summaries.forget(USER, THREAD)

    scene.summarizer.while_thinking = delete
    assert await scene.ends(3) == "lost"
    assert await scene.entries() == []


async def test_deleted_summaries_heal_from_the_first_turn(scene):
    # TR10, TP12
    for turns in range(1, 10):
        await scene.ends(turns)
    assert await scene.summaries.forget(USER, THREAD) == 3
    assert await scene.ends(10) == "written"
    (entry,) = await scene.entries()
    assert (entry.sequence, entry.start_message_index, entry.end_message_index) == (1, 0, 8)


async def test_a_failed_model_leaves_nothing_and_the_next_turn_tries_again(scene):
    # TP09
    scene.summarizer = ScriptedSummarizer(ModelThrottledError("busy"))
    assert await scene.ends(3) == "failed"
    assert await scene.entries() == []
    assert scene.metrics.counts[counters.SUMMARY_FAILED] == 1
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.ends(4) == "written"
    assert await scene.windows() == [(0, 2)]


async def test_an_answer_without_entries_is_a_failed_pass(scene):
    # TP10
    scene.summarizer = ScriptedSummarizer(SummaryOutput(entries=[]))
    assert await scene.ends(3) == "failed"
    assert await scene.entries() == []
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.ends(3) == "written"


async def test_a_window_that_fails_is_left_for_longer_and_longer_and_then_for_good(scene):
    # HID-17, HID-18
    scene.summarizer = ScriptedSummarizer(*(ModelThrottledError("busy") for _ in range(9)))
    assert await scene.ends(3) == "failed"
    assert await scene.ends(3) == "backing_off"
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.ends(3) == "failed"
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.ends(3) == "backing_off"
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.ends(3) == "failed"
    scene.clock.advance(timedelta(days=30))
    assert await scene.ends(3) == "exhausted"
    assert scene.summarizer.calls == 3
    assert scene.metrics.counts[counters.SUMMARY_EXHAUSTED] == 1


async def test_a_pass_that_died_is_followed_up_when_its_claim_runs_out(scene):
    # HID-08: whatever ended it, the window has one entry in the end
    class Killed(BaseException):
        pass

    async def die():
        raise Killed

    scene.summarizer.while_thinking = die
    with pytest.raises(Killed):
        await scene.ends(3)
    scene.summarizer.while_thinking = None
    assert await scene.ends(3) == "held"
    scene.clock.advance(timedelta(minutes=3))
    assert await scene.ends(3) == "written"
    assert len(await scene.entries()) == 1


async def test_a_pass_that_outlives_its_claim_writes_nothing(scene):
    # Somebody else has taken over the window by then.
    first = scene.summarizer

    async def take_over():
        scene.clock.advance(timedelta(minutes=3))
        scene.summarizer = ScriptedSummarizer()
        assert await scene.ends(3) == "written"

    first.while_thinking = take_over
    assert await scene.ends(3) == "lost"
    assert await scene.windows() == [(0, 2)]


@pytest.mark.parametrize("call", ["of_thread", "append"])
async def test_a_database_that_cannot_answer_is_an_error_and_frees_the_window(scene, call):
    # Failure is not absence: the delivery is made again.
    scene.messages.put(USER, THREAD, conversation(3))
    calls = scene.summaries.calls

    async def break_down():
        scene.summaries.failures[call] = StoreError("down")

    scene.summarizer.while_thinking = break_down
    if call == "of_thread":
        scene.summaries.failures[call] = StoreError("down")
    with pytest.raises(StoreError):
        await scene.service.after(scene.event(3))
    scene.summaries.failures.clear()
    scene.summarizer.while_thinking = None
    scene.clock.advance(timedelta(minutes=1))
    assert await scene.service.after(scene.event(3)) == "written"
    assert calls["fail"] == (1 if call == "append" else 0)


async def test_a_claim_that_cannot_be_given_back_runs_out_by_itself(scene):
    scene.summarizer = ScriptedSummarizer(ModelThrottledError("busy"))
    scene.summaries.failures["fail"] = StoreError("down")
    assert await scene.ends(3) == "failed"
    scene.summaries.failures.clear()
    assert await scene.ends(3) == "held"
    scene.clock.advance(timedelta(minutes=3))
    assert await scene.ends(3) == "written"


async def test_refs_outside_the_window_are_dropped_and_counted(scene):
    # RF08, HID-19
    await scene.ends(3)
    scene.summarizer = ScriptedSummarizer(
        SummaryOutput(entries=[*covering("#4-#6").entries, *covering("#1", "#5").entries, *covering("#99").entries])
    )
    await scene.ends(6)
    entry = (await scene.entries())[1]
    assert [each.refs for each in entry.summary.entries] == [["#4-#6"], ["#5"]]
    assert scene.metrics.counts[counters.SUMMARY_REFS_DROPPED] == 2


async def test_a_pass_that_skips_most_turns_is_kept_and_counted(scene):
    # HID-19
    scene.summarizer = ScriptedSummarizer(covering("#1"))
    assert await scene.ends(3) == "written"
    assert scene.metrics.counts[counters.SUMMARY_LOW_COVERAGE] == 1
    assert len(await scene.entries()) == 1


async def test_a_pass_that_covers_half_its_turns_is_not_counted():
    scene = Scene(keep_recent=4)
    await scene.create()
    scene.summarizer = ScriptedSummarizer(covering("#1", "#3"))
    await scene.ends(4)
    assert scene.metrics.counts[counters.SUMMARY_LOW_COVERAGE] == 0


async def test_a_large_backlog_is_cut_into_windows_that_fit(scene):
    # HID-17, decision 10: multiples of K, one pass a turn end.
    scene.messages.put(USER, THREAD, conversation(12))
    await scene.service.after(scene.event(12))
    tokens_of_twelve = -(-len(scene.summarizer.transcripts[0]) // 4)
    await scene.summaries.forget(USER, THREAD)

    scene.token_budget = tokens_of_twelve * 3 // 5
    assert await scene.ends(12) == "written"
    assert await scene.ends(13) == "written"
    assert await scene.windows() == [(0, 5), (6, 11)]


async def test_even_the_smallest_window_fits_after_its_messages_are_cut(scene):
    # HID-17: one turn holds a whole document.
    long = [HumanMessage("x" * 50_000, id="h3"), AIMessage("read", id="a3")]
    scene.messages.put(USER, THREAD, [*conversation(2), *long])
    scene.token_budget = 2_000
    assert await scene.service.after(scene.event(3)) == "written"
    (transcript,) = scene.summarizer.transcripts
    assert len(transcript) <= 4 * scene.token_budget
    assert scene.metrics.counts[counters.SUMMARY_TRANSCRIPT_CUT] == 1


async def test_a_lost_entry_in_the_middle_is_made_again(scene):
    # AMB-31, TS06: the first gap is what the next pass covers; its sequence is free.
    for turns in range(1, 10):
        await scene.ends(turns)
    scene.summaries.plant_corrupt(USER, THREAD, 2)
    assert await scene.ends(10) == "written"
    assert sorted(await scene.windows()) == [(0, 2), (3, 5), (6, 8)]
    assert (await scene.entries())[-1].sequence == 4
    assert scene.metrics.counts[counters.CORRUPT_SUMMARIES] > 0
    assert await scene.ends(10) == "quiet"


async def test_an_edited_turn_is_summarised_again(scene):
    # HID-14, decision 2
    await scene.ends(3)
    edited = [*conversation(1), HumanMessage("another question", id="h2-edited"), AIMessage("yes", id="a2-edited")]
    scene.messages.put(USER, THREAD, [*edited, *turn(3)])
    assert await scene.service.after(scene.event(3)) == "written"
    newest = (await scene.entries())[-1]
    assert newest.message_ids == ["h1", "h2-edited", "h3"]
    assert newest.sequence == 2


async def test_what_cannot_be_stored_counts_as_a_failed_pass(scene):
    # HID-31, TS05, TS07: an entry that no reader accepts is not written.
    class WithoutZone(FixedClock):
        def now(self):
            return super().now().replace(tzinfo=None)

    scene.clock = WithoutZone()
    assert await scene.ends(3) == "failed"
    assert await scene.entries() == []
    assert scene.metrics.counts[counters.SUMMARY_FAILED] == 1


def test_rules_come_from_the_settings():
    settings = SummarizeSettings(
        memory_table="m", checkpoint_table="c", summary_model="s", memory_thread_summary_keep_recent=7
    )
    rules = PassRules.of(settings)
    assert rules == PassRules(
        keep_recent=7,
        hold=timedelta(seconds=settings.claim_seconds),
        max_attempts=settings.pass_max_attempts,
        back_off=timedelta(seconds=settings.pass_back_off_seconds),
        token_budget=settings.window_token_budget,
        char_limit=settings.message_char_limit,
    )


async def with_files(scene, turns, texts):
    """So many turns, some of which bring a text as a file."""
    library = ChatKnowledge(document_tokens=100)
    messages = conversation(turns)
    for number, text in texts.items():
        record = await library.upload(f"{number}.md", text, user=USER)
        at = 2 * (number - 1)
        file = {"type": "file", "file_id": record.id, "filename": f"{number}.md"}
        messages[at] = HumanMessage(["Read this.", *marked(file, record.id)], id=messages[at].id)
    scene.messages.put(USER, THREAD, messages)
    scene.documents = library.services().show
    for port in (library.base.documents, library.base.pages):
        port.calls.clear()
    return library


async def test_a_turn_end_without_a_window_reads_no_document(scene):
    library = await with_files(scene, 2, {1: "The heron nests in March."})
    assert await scene.service.after(scene.event(2)) == "quiet"
    assert (library.base.documents.calls, library.base.pages.calls) == ({}, {})


async def test_a_window_is_told_with_its_own_files_whatever_later_turns_brought(scene):
    # TP18
    await with_files(scene, 4, {1: "The heron nests in March.", 4: "The egret. " * 500})
    assert await scene.service.after(scene.event(4)) == "written"
    (asked,) = scene.summarizer.transcripts
    assert "The heron nests in March." in asked
    assert "egret" not in asked
