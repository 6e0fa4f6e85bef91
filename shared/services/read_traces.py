"""What a user sees of what happened in the runs of a thread."""

import asyncio
from collections.abc import Iterator, Sequence

from shared.domain.ids import MessageId, ThreadId, UserId
from shared.domain.runs import RunRow
from shared.domain.spans import CRASHED, Span, SpanKind, SpanStatus, Trace
from shared.domain.threads import ThreadRow
from shared.ports import Clock, Threads, Traces


class ReadTraces:
    """Shows traces, and the runs that have none because they go on or died.

    Parameters
    ----------
    threads : Threads
        Whose a thread is; its row knows of a run that has not ended.
    traces : Traces
        What was noted when runs ended.
    clock : Clock
        Tells whether a run that does not end has died.
    """

    def __init__(self, threads: Threads, traces: Traces, clock: Clock) -> None:
        self._threads = threads
        self._traces = traces
        self._clock = clock

    async def of_thread(self, user: UserId, thread: ThreadId, message: str | None = None) -> Sequence[Trace]:
        """Give the traces of a thread's runs, the oldest first (rows OB04, OB05).

        Parameters
        ----------
        user, thread : str
            Whose thread, and which.
        message : str, optional
            Only those of the turn of this human message.

        Raises
        ------
        ThreadNotFoundError
            When there is no such thread for this user.
        StoreError
            When the database cannot answer.
        """
        row, kept = await asyncio.gather(self._threads.get(user, thread), self._traces.of_thread(user, thread))
        known = {trace.run_id for trace in kept if trace.origin == "chat"}
        every = [*kept, *(trace for trace in self._not_ended(row) if trace.run_id not in known)]
        found = [trace for trace in every if message is None or trace.message_id == message]
        return sorted(found, key=lambda trace: trace.started_at)

    def _not_ended(self, row: ThreadRow) -> Iterator[Trace]:
        """Give what is known of the run that holds the thread, or died holding it, and of a dead one before it.

        A trace is written at a run's end, so that of these there is only that they began.
        """
        if row.run is not None:
            asked = str(row.pending[-1].get("id", "")) if row.pending else ""
            yield _begun(row.run, MessageId(asked), dead=not row.is_busy(self._clock.now()))
        if row.left_run is not None:
            yield _begun(row.left_run, MessageId(""), dead=True)


def _begun(run: RunRow, message: MessageId, *, dead: bool) -> Trace:
    root = Span(
        id="1",
        run=run.run_id,
        name="run",
        kind=SpanKind.RUN,
        status=SpanStatus.FAILED if dead else SpanStatus.RUNNING,
        started_at=run.created_at,
        error=CRASHED if dead else "",
    )
    return Trace(run_id=run.run_id, thread_id=run.thread_id, origin="chat", message_id=message, spans=(root,))
