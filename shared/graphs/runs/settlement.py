"""What stays of a run: its row and its events, its trace, the news of its turn, and what the thread's row says."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from shared.domain import counters
from shared.domain.events import TurnEnded, TurnOutcome
from shared.domain.ids import MessageId, RunId
from shared.domain.runs import EventPage, RunRow, RunStatus
from shared.domain.spans import Trace
from shared.domain.threads import ThreadStatus
from shared.domain.turns import human_ids
from shared.graphs.agent.envelope import TurnMark
from shared.graphs.runs.admission import Admitted
from shared.graphs.runs.graph_stream import GraphStream
from shared.graphs.runs.journal import Journal
from shared.graphs.runs.lease_keeper import LeaseKeeper
from shared.graphs.runs.request import RunRequest
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.turn_input import not_of, not_stored
from shared.graphs.runs.turn_saver import TurnSaver
from shared.graphs.spans import SpanRecorder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended: for the client, for the thread's row, for the event bus, and what stays of the run itself.

    Without a ``thread`` the run does not have it any more.
    """

    status: RunStatus
    thread: ThreadStatus | None
    outcome: TurnOutcome | None = None
    code: str | None = None
    remembered: Literal["run", "events", "others", "nothing"] = "run"


@dataclass(slots=True)
class Intake:
    """Messages on their way into the thread.

    Parameters
    ----------
    pending : sequence of mapping
        What the thread's row keeps of runs that have not stored it.
    asked : tuple of str
        Ids of the human messages that the run brings.
    taken_in : set of str
        Ids of everything that is in the thread once the run's input is.
    """

    pending: Sequence[Mapping[str, Any]] = ()
    asked: tuple[str, ...] = ()
    taken_in: set[str | None] = field(default_factory=set[str | None])


class Settlement:
    """Keeps what stays of one run. None of it fails the turn, which is stored by then.

    Parameters
    ----------
    request : RunRequest
        What was asked for.
    admitted : Admitted
        The thread.
    stream : GraphStream
        What the graph has said.
    saver : TurnSaver
        Knows the checkpoint that was stored last.
    keeper : LeaseKeeper
        Holds the thread.
    mark : TurnMark
        Set when the graph came to the turn's end.
    journal : Journal
        Has heard of all outputs.
    recorder : SpanRecorder or None
        Has noted what happened.
    ports : RunPorts
        Where things are kept.
    """

    def __init__(
        self,
        request: RunRequest,
        admitted: Admitted,
        *,
        stream: GraphStream,
        saver: TurnSaver,
        keeper: LeaseKeeper,
        mark: TurnMark,
        journal: Journal,
        recorder: SpanRecorder | None,
        ports: RunPorts,
    ) -> None:
        self._request = request
        self._admitted = admitted
        self._stream = stream
        self._saver = saver
        self._keeper = keeper
        self._mark = mark
        self._journal = journal
        self._recorder = recorder
        self._ports = ports

    async def settle(self, result: Result, intake: Intake) -> None:
        """Keep what stays of a run that has ended, then give the thread back: who finds it free finds the rest too."""
        await asyncio.gather(self._announce(result), self._remember(result), self._keep_trace(result))
        await self._release(result, intake)

    async def turn_away(self, result: Result, intake: Intake) -> None:
        """Give the thread back as it was, of a run that has done nothing."""
        await self._remember(result)
        await self._release(result, intake)

    async def keep_events(self) -> None:
        """Keep the events so far: somebody follows the run from elsewhere."""
        pages = self._journal.pages()
        if pages:
            await self._save((), pages)

    async def _remember(self, result: Result) -> None:
        """Keep the run's row and its events, and the row of a dead run whose thread this one took over."""
        if result.remembered == "nothing":
            return
        now = self._ports.clock.now()
        row = self._admitted.row
        rows: list[RunRow] = []
        if row.run is not None and result.remembered == "run":
            rows.append(replace(row.run, status=result.status, updated_at=now))
        if row.left_run is not None:
            rows.append(replace(row.left_run, status="error", updated_at=now))
        await self._save(rows, () if result.remembered == "others" else self._journal.pages())

    async def _save(self, rows: Sequence[RunRow], pages: Sequence[EventPage]) -> None:
        if not rows and not pages:
            return
        try:
            await self._ports.runs.save(self._request.user, rows=rows, pages=pages, now=self._ports.clock.now())
        except Exception:  # noqa: BLE001 - whatever it is, the turn itself is well
            _log.exception("run not remembered", extra=self._facts())
        else:
            self._journal.kept(pages)

    async def _keep_trace(self, result: Result) -> None:
        """Keep what happened, in one write; nothing of it was written while somebody waited."""
        if self._recorder is None or self._ports.traces is None or result.remembered != "run":
            return
        trace = Trace(
            run_id=self._request.run,
            thread_id=self._request.thread,
            origin="chat",
            message_id=self._question() or MessageId(""),
            spans=self._recorder.spans(self._request.run),
        )
        await self._ports.traces.keep(self._request.user, trace)

    def _question(self) -> MessageId | None:
        """Give the human message that the run answers, as far as it has come."""
        asked = human_ids(self._stream.messages) or human_ids(self._request.messages)
        return self._mark.human_message_id or (asked[-1] if asked else None)

    async def _announce(self, result: Result) -> None:
        """Announce the turn's end, now that it is stored. A bus that fails never fails the turn (G15)."""
        event = self._turn_ended(result)
        if event is None:
            return
        try:
            await self._ports.turn_events.publish(event)
        except Exception:  # noqa: BLE001 - whatever it is, the turn itself is well
            self._ports.metrics.count(counters.TURN_EVENT_FAILED)
            _log.exception("turn end not announced", extra=self._facts())

    def _turn_ended(self, result: Result) -> TurnEnded | None:
        if result.outcome is None or self._saver.stored is None:
            return None
        ids: Sequence[MessageId]
        if self._mark.human_message_id is not None:
            last, count = self._mark.human_message_id, self._mark.human_count
        elif ids := human_ids(self._stream.messages):
            last, count = ids[-1], len(ids)
        else:
            return None
        return TurnEnded(
            user_id=self._request.user,
            thread_id=self._request.thread,
            run_id=self._request.run,
            human_message_id=last,
            human_count=count,
            ended_at=self._ports.clock.now(),
            outcome=result.outcome,
        )

    async def _release(self, result: Result, intake: Intake) -> None:
        if result.thread is None:
            return
        # What was not taken in and stored stays for the next run; what was undone or turned away does not.
        gone = {self._request.run} if result.remembered in ("events", "others") else set[RunId]()
        pending = not_stored(not_of(intake.pending, gone), self._stored(intake))
        row = self._admitted.row
        is_empty = row.checkpoint_id is None and row.left_run is None and not pending
        try:
            await self._ports.threads.release(
                self._request.user,
                self._request.thread,
                self._keeper.lease,
                status=result.thread,
                now=self._ports.clock.now(),
                checkpoint_id=self._saver.stored,
                pending=pending,
                keep_preview=not (gone and is_empty),
            )
        except Exception:  # noqa: BLE001 - the lease ends by itself
            _log.exception("lease not released", extra=self._facts())

    def _stored(self, intake: Intake) -> set[str | None]:
        """Give the ids of messages that need no keeping any more: of what is stored, and of what was in it for a while.

        The checkpoint of a run that hardly began has its input as an open step. A later input takes such a step's
        place, and the question would be lost with it; so it is the state that counts.
        """
        if self._saver.stored is None:
            return set()
        there = {message.id for message in self._stream.messages}
        asked = set(human_ids(self._request.messages))
        return there | intake.taken_in if asked <= there else there

    def _facts(self) -> dict[str, str]:
        return {"run_id": self._request.run, "thread_id": self._request.thread}
