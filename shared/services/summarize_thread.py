"""One summary pass: compress the turns that wait, once, and leave an entry that nobody changes again.

At-least-once delivery is the normal case. A turn end may be announced three times, late, out of order or at the same
time as another; what is due is read from the thread and its entries, never from the event, and the window is claimed
before the model is called, so that a window costs one model call and leaves one entry. The thread's messages are only
read.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Final, Literal, Self

from pydantic import ValidationError

from shared.domain import counters
from shared.domain.claims import Claim, ClaimRefusal
from shared.domain.errors import (
    ClaimLostError,
    EventAheadOfCheckpointError,
    ModelError,
    StoreError,
    ThreadNotFoundError,
)
from shared.domain.events import TurnEnded
from shared.domain.ids import ThreadId, UserId
from shared.domain.summary import (
    SummaryEntry,
    SummaryOutput,
    SummaryRows,
    estimate_tokens,
    format_entries,
    refs_within,
    turns_covered,
)
from shared.domain.threads import ThreadRow
from shared.domain.turns import Turn, is_answered, text_of, transcript, turns_of
from shared.domain.window import Window, next_window, window_key
from shared.kb_ports import MessageDocuments
from shared.ports import Clock, Metrics, Summaries, Summarizer, ThreadMessages, Threads
from shared.settings import SummarizeSettings

PassOutcome = Literal["off", "quiet", "superseded", "written", "failed", "lost"] | ClaimRefusal
"""What became of a turn end.

``off``: no summaries are made of this thread. ``quiet``: fewer turns wait than a window has. ``superseded``: a later
run has the thread, and its own turn end will do. ``written``: an entry was added. ``failed``: the model gave nothing
usable, a later turn end tries again. ``lost``: the pass came too late to write. The others are a claim's refusals.
"""

_SHORTEST_MESSAGE: Final = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRules:
    """The limits of summary passes.

    Parameters
    ----------
    keep_recent : int
        K of the seed; below 1 there are no passes.
    hold : timedelta
        How long a pass may take before its window is free again.
    max_attempts : int
        How many passes may fail on one window.
    back_off : timedelta
        The wait after the first failure; doubles with each.
    token_budget : int
        Estimated tokens of transcript one pass may send.
    char_limit : int
        Characters of one message that go into the transcript.
    """

    keep_recent: int
    hold: timedelta
    max_attempts: int
    back_off: timedelta
    token_budget: int
    char_limit: int

    @classmethod
    def of(cls, settings: SummarizeSettings) -> Self:
        """Take the limits from the function's settings."""
        return cls(
            keep_recent=settings.memory_thread_summary_keep_recent,
            hold=timedelta(seconds=settings.claim_seconds),
            max_attempts=settings.pass_max_attempts,
            back_off=timedelta(seconds=settings.pass_back_off_seconds),
            token_budget=settings.window_token_budget,
            char_limit=settings.message_char_limit,
        )


class SummarizeThread:
    """Makes at most one summary pass for each turn end.

    Parameters
    ----------
    threads : Threads
        Says whether the thread lives and how it is kept within the context window.
    messages : ThreadMessages
        The thread's messages; read only.
    summaries : Summaries
        Entries and claims.
    summarizer : Summarizer
        The model.
    clock : Clock
        The time of day.
    metrics : Metrics
        See ``shared.domain.counters``.
    rules : PassRules
        The limits.
    documents : MessageDocuments, optional
        Shows the documents of what is summarised (row TP18); without it files are names.
    """

    def __init__(
        self,
        *,
        threads: Threads,
        messages: ThreadMessages,
        summaries: Summaries,
        summarizer: Summarizer,
        clock: Clock,
        metrics: Metrics,
        rules: PassRules,
        documents: MessageDocuments | None = None,
    ) -> None:
        self._threads = threads
        self._messages = messages
        self._summaries = summaries
        self._summarizer = summarizer
        self._clock = clock
        self._metrics = metrics
        self._rules = rules
        self._documents = documents

    async def after(self, event: TurnEnded) -> PassOutcome:
        """Do what a turn end asks for.

        Parameters
        ----------
        event : TurnEnded
            The turn that ended. Its user is the thread's owner, from the verified token.

        Returns
        -------
        PassOutcome
            What became of it. A failure of the model is an outcome, not an error: the window is tried again at a
            later turn end.

        Raises
        ------
        EventAheadOfCheckpointError
            When the checkpoint the event speaks of cannot be read yet. Redelivery settles it.
        StoreError
            When the database cannot answer.
        """
        outcome = await self._after(event)
        ids = {"user_id": event.user_id, "thread_id": event.thread_id, "run_id": event.run_id}
        _log.info("turn end handled", extra={**ids, "outcome": outcome})
        return outcome

    async def _after(self, event: TurnEnded) -> PassOutcome:
        if self._rules.keep_recent < 1:
            return "off"
        if event.human_count < self._rules.keep_recent:
            return "quiet"
        try:
            row = await self._threads.get(event.user_id, event.thread_id)
        except ThreadNotFoundError:
            return "thread_gone"
        if row.policy != "summaries":
            return "off"
        turns = turns_of(await self._messages.load(event.user_id, event.thread_id))
        if _is_behind(turns, event):
            return self._behind(row, event)
        if len(_answered(turns)) < self._rules.keep_recent:
            return "quiet"
        return await self._pass(event.user_id, event.thread_id, turns)

    def _behind(self, row: ThreadRow, event: TurnEnded) -> PassOutcome:
        if row.lease is not None and row.lease.run_id != event.run_id:
            # The turn may be gone for good by now (an edit, a fork): waiting for it would end in the dead letters.
            return "superseded"
        self._metrics.count(counters.EVENT_AHEAD)
        raise EventAheadOfCheckpointError(f"The checkpoint of run {event.run_id} cannot be read yet.")

    async def _pass(self, user: UserId, thread: ThreadId, turns: Sequence[Turn]) -> PassOutcome:
        rows = await self._read(user, thread)
        window = self._due(turns, rows)
        if window is None:
            return "quiet"
        claim = await self._summaries.claim(
            user,
            thread,
            _claim_key(window, rows),
            now=self._clock.now(),
            hold=self._rules.hold,
            max_attempts=self._rules.max_attempts,
            back_off=self._rules.back_off,
        )
        if not isinstance(claim, Claim):
            if claim == "exhausted":
                self._metrics.count(counters.SUMMARY_EXHAUSTED)
            return claim
        try:
            return await self._hold(user, claim, window, turns, rows.highest_sequence)
        except StoreError:
            await self._give_back(user, claim)
            raise

    async def _hold(self, user: UserId, claim: Claim, window: Window, turns: Sequence[Turn], seen: int) -> PassOutcome:
        """Do the pass that the claim is for; ``seen`` is the highest sequence the window was worked out with."""
        # Read again: another pass may have covered these turns, as part of another window, before the claim was ours.
        rows = await self._read(user, claim.thread_id)
        covered = {each for entry in rows.entries if entry.sequence > seen for each in entry.message_ids}
        if not covered.isdisjoint(window.message_ids):
            await self._give_back(user, claim)
            return "done"
        entry = await self._summarize(user, claim, window, turns, rows.highest_sequence + 1)
        if entry is None:
            self._metrics.count(counters.SUMMARY_FAILED)
            await self._give_back(user, claim)
            return "failed"
        try:
            await self._summaries.append(user, entry, claim)
        except ClaimLostError:
            self._metrics.count(counters.SUMMARY_LOST)
            return "lost"
        except ThreadNotFoundError:
            self._metrics.count(counters.SUMMARY_LOST)
            return "thread_gone"
        self._count_quality(entry)
        return "written"

    async def _summarize(
        self, user: UserId, claim: Claim, window: Window, turns: Sequence[Turn], sequence: int
    ) -> SummaryEntry | None:
        """Ask the model for the window's entry; ``None`` when it gave nothing that could be kept."""
        facts = {"thread_id": claim.thread_id, "window_key": claim.window_key, "attempts": claim.attempts}
        covered = turns[window.start : window.end + 1]
        try:
            answer = await self._summarizer.summarize(self._transcript(await self._with_documents(user, covered)))
        except ModelError as error:
            _log.warning("summary pass failed", extra={**facts, "code": error.code})
            return None
        output, dropped = refs_within(answer, window)
        if dropped:
            self._metrics.count(counters.SUMMARY_REFS_DROPPED, dropped)
        if not output.entries:
            _log.warning("summary pass was empty", extra={**facts, "refs_dropped": dropped})
            return None
        try:
            return self._entry(claim.thread_id, window, covered, output, sequence)
        except ValidationError as error:
            # A row that no reader accepts would be an invisible one (TS07).
            _log.warning("summary entry refused", extra={**facts, "problems": error.error_count()})
            return None

    def _entry(
        self, thread: ThreadId, window: Window, covered: Sequence[Turn], output: SummaryOutput, sequence: int
    ) -> SummaryEntry:
        said = (message for turn in covered for message in turn.messages)
        return SummaryEntry(
            thread_id=thread,
            sequence=sequence,
            start_message_index=window.start,
            end_message_index=window.end,
            message_count=len(window.message_ids),
            message_ids=list(window.message_ids),
            summary=output,
            trigger_reason="turn_based",
            token_count_before=sum(estimate_tokens(text_of(message.content)) for message in said),
            token_count_after=estimate_tokens(format_entries(output.entries)),
            created_at=self._clock.now(),
        )

    def _count_quality(self, entry: SummaryEntry) -> None:
        covered = len(turns_covered(entry.summary))
        self._metrics.count(counters.SUMMARY_WRITTEN)
        if covered * 2 < entry.message_count:
            self._metrics.count(counters.SUMMARY_LOW_COVERAGE)
        _log.info(
            "summary entry written",
            extra={
                "thread_id": entry.thread_id,
                "sequence": entry.sequence,
                "turns": entry.message_count,
                "turns_covered": covered,
                "tokens_before": entry.token_count_before,
                "tokens_after": entry.token_count_after,
            },
        )

    def _due(self, turns: Sequence[Turn], rows: SummaryRows) -> Window | None:
        return next_window(
            [turn.message_id for turn in turns],
            rows.entries,
            keep_recent=self._rules.keep_recent,
            last_answered=len(_answered(turns)) == len(turns),
            fits=lambda window: self._fits(
                transcript(turns[window.start : window.end + 1], char_limit=self._rules.char_limit)
            ),
        )

    async def _with_documents(self, user: UserId, covered: Sequence[Turn]) -> Sequence[Turn]:
        """Give turns with the texts of their files; of no other turn's, whose files might take all the room."""
        if self._documents is None:
            return covered
        shown = iter(await self._documents.shown(user, [message for turn in covered for message in turn.messages]))
        return [replace(turn, messages=tuple(islice(shown, len(turn.messages)))) for turn in covered]

    def _transcript(self, covered: Sequence[Turn]) -> str:
        """Write the turns for the model, with shorter messages if even the smallest window is over the budget."""
        limit = self._rules.char_limit
        text = transcript(covered, char_limit=limit)
        while not self._fits(text) and limit > _SHORTEST_MESSAGE:
            limit = max(limit // 2, _SHORTEST_MESSAGE)
            text = transcript(covered, char_limit=limit)
        if limit != self._rules.char_limit:
            self._metrics.count(counters.SUMMARY_TRANSCRIPT_CUT)
        return text

    def _fits(self, text: str) -> bool:
        return estimate_tokens(text) <= self._rules.token_budget

    async def _read(self, user: UserId, thread: ThreadId) -> SummaryRows:
        rows = await self._summaries.of_thread(user, thread)
        if rows.corrupt:
            self._metrics.count(counters.CORRUPT_SUMMARIES, rows.corrupt)
        return rows

    async def _give_back(self, user: UserId, claim: Claim) -> None:
        """Free the window for a later try. If that fails too, the claim runs out by itself."""
        try:
            await self._summaries.fail(user, claim, now=self._clock.now())
        except StoreError as error:
            facts = {"thread_id": claim.thread_id, "window_key": claim.window_key, "code": error.code}
            _log.warning("claim not given back", extra=facts)


def _is_behind(turns: Sequence[Turn], event: TurnEnded) -> bool:
    return len(turns) < event.human_count or all(turn.message_id != event.human_message_id for turn in turns)


def _claim_key(window: Window, rows: SummaryRows) -> str:
    """Name the window's claim.

    A window whose entry can no longer be read is due again, but its claim says that it is done: with each row that
    is lost a new claim is made.
    """
    return f"{window_key(window)}-{rows.corrupt}" if rows.corrupt else window_key(window)


def _answered(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Leave out the last turn while it has no answer (HID-20)."""
    return turns if turns and is_answered(turns[-1]) else turns[:-1]
