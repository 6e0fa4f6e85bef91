"""One run, from the lease it was given to the lease it gives back."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.errors import UnknownInterruptError

from shared.domain import counters
from shared.domain.errors import InvalidInputError, LeaseLostError
from shared.domain.kb.citations import passages_found, with_citations
from shared.domain.root_checkpoint import is_root
from shared.domain.threads import ThreadStatus
from shared.domain.turns import Turn
from shared.graphs.agent.envelope import Envelope, TurnMark
from shared.graphs.runs.admission import Admitted
from shared.graphs.runs.failures import OUT_OF_TIME, failure_code
from shared.graphs.runs.graph_stream import Graph, GraphStream
from shared.graphs.runs.journal import Journal
from shared.graphs.runs.lease_keeper import LeaseKeeper, StopReason
from shared.graphs.runs.request import RunRequest
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.running import Running
from shared.graphs.runs.settlement import Intake, Result, Settlement
from shared.graphs.runs.state_messages import messages_in
from shared.graphs.runs.stream import Ended, Failed, RunOutput, Streamed
from shared.graphs.runs.turn_input import answered_turn, asked_in, graph_input, not_of, not_stored
from shared.graphs.runs.turn_saver import TurnSaver
from shared.graphs.spans import SpanRecorder
from shared.services.turn_memory import TurnMemory

LEASE_NUMBER: Final = "lease_number"
"""Where a lease's number stands in ``configurable``, for the checkpointer."""

# What LangGraph's own server sets when a client asks for it; there is no argument for it.
_STRICT_RESUME: Final = "__pregel_strict_resume"
_INTERRUPT_ID: Final = re.compile(r"[0-9a-f]{32}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Start:
    """What a run begins with: a turn that answers it already, or what the graph is given."""

    answered: Turn | None
    given: Any


class Run(Running):
    """A run that has its thread. Made by the runner, and going on from then on whether or not anybody listens.

    Parameters
    ----------
    request : RunRequest
        What was asked for.
    admitted : Admitted
        The thread.
    graph : CompiledStateGraph
        The graph, with ``saver`` as its checkpointer.
    saver : TurnSaver
        The checkpointer.
    keeper : LeaseKeeper
        Holds the thread.
    memory : TurnMemory
        Already being read.
    ports : RunPorts
        What it works with.
    journal : Journal
        Hears of all outputs; what it gives is kept.
    """

    def __init__(
        self,
        request: RunRequest,
        admitted: Admitted,
        *,
        graph: Graph,
        saver: TurnSaver,
        keeper: LeaseKeeper,
        memory: TurnMemory,
        ports: RunPorts,
        journal: Journal,
    ) -> None:
        super().__init__(request.run)
        self._request = request
        self._admitted = admitted
        self._graph = graph
        self._saver = saver
        self._keeper = keeper
        self._memory = memory
        self._ports = ports
        self._journal = journal
        self._stream = GraphStream(graph, request)
        self._mark = TurnMark()
        self._recorder = None if ports.traces is None else SpanRecorder(ports.traces.clock)
        self._intake = Intake()
        self._settlement = Settlement(
            request,
            admitted,
            stream=self._stream,
            saver=saver,
            keeper=keeper,
            mark=self._mark,
            journal=journal,
            recorder=self._recorder,
            ports=ports,
        )
        self._accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Whoever started the run may have gone.
        self._accepted.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def accepted(self) -> None:
        """Wait until it is known whether what was asked for fits the thread.

        Raises
        ------
        InvalidInputError
            When it does not. Nothing was done, nothing comes out of the run, and the thread is free.
        """
        await asyncio.shield(self._accepted)

    async def _drive(self) -> None:
        start: _Start | None = None
        result: Result | None = None
        try:
            start = await self._prepare()
        except InvalidInputError as error:
            await self._turn_away(error)
            return
        except Exception as error:  # noqa: BLE001 - a run ends in order, whatever went wrong
            result = self._failure(error)
        self._accepted.set_result(None)
        if start is not None:
            try:
                result = await self._go(start)
            except Exception as error:  # noqa: BLE001 - as above
                result = self._failure(error)
        await self._end(result or Result("error", "error"))

    async def _end(self, result: Result) -> None:
        last: list[RunOutput] = [] if result.code is None else [Failed(result.code)]
        last.append(Ended(result.status))
        for output in last:
            self._journal.write(output, shown=False)
        await self._settlement.settle(result, self._intake)
        _log.info("run ended", extra={**self._facts(), "status": result.status, "outcome": result.outcome})
        self._journal.show_all()
        for output in last:
            self._outputs.put_nowait(output)

    async def _turn_away(self, error: InvalidInputError) -> None:
        """Give the thread back as it was; then tell whoever started the run."""
        result = Result("error", self._admitted.row.status_before, remembered="others")
        # Its read must not outlive the invocation.
        await asyncio.gather(self._settlement.turn_away(result, self._intake), self._memory.get())
        self._accepted.set_exception(error)

    async def _prepare(self) -> _Start:
        """Read where the run starts, and find out what it has to do.

        Raises
        ------
        InvalidInputError
            When that does not fit the thread.
        """
        request, left = self._request, self._admitted.row.left_run
        self._intake.pending = self._admitted.row.pending
        if left is not None and request.strategy == "rollback":
            await self._saver.undo(left.run_id)
            self._intake.pending = not_of(self._intake.pending, {left.run_id})
        if request.checkpoint_id is not None and not_of(self._intake.pending, {request.run}):
            # A run may have died after it stored its question. In a branch that would look as if it had not.
            head = await self._graph.aget_state({"configurable": {"thread_id": request.thread}})
            self._intake.pending = not_stored(
                self._intake.pending, {message.id for message in messages_in(head.values)}
            )
        known = self._starts_from(await self._load())
        answered = answered_turn(request, known)
        given = None if answered is not None else graph_input(request, known, self._intake.pending)
        self._intake.asked = asked_in(given)
        self._intake.taken_in = {*self._intake.asked, *(message.id for message in known)}
        return _Start(answered, given)

    async def _load(self) -> CheckpointTuple | None:
        if is_root(self._request.checkpoint_id, self._request.thread):
            self._saver.begin_empty()
            return None
        return await self._saver.load(self._config())

    async def _go(self, start: _Start) -> Result:
        if start.answered is not None:
            return await self._replay(start.answered)
        reason = await self._run_graph(start.given)
        match reason:
            case None if self._stream.interrupted:
                return Result("interrupted", "interrupted")
            case None:
                return Result("success", "idle", outcome="completed" if self._mark.ended else None)
            case "cancelled":
                await self._keep_partial()
                self._ports.metrics.count(counters.RUN_CANCELLED)
                return Result("interrupted", "idle", outcome="cancelled")
            case "rolled_back":
                await self._saver.undo(self._request.run)
                self._ports.metrics.count(counters.RUN_CANCELLED)
                return Result("interrupted", self._admitted.row.status_before, remembered="events")
            case "out_of_time":
                await self._keep_partial()
                self._ports.metrics.count(counters.RUN_FAILED)
                return Result("timeout", "error", outcome="failed", code=OUT_OF_TIME)
            case "deleting":
                return Result("interrupted", "idle", remembered="nothing")
            case "lost":
                raise LeaseLostError("Another run has taken the thread over.")

    # What goes in

    def _config(self) -> RunnableConfig:
        request = self._request
        envelope = Envelope(
            user=request.user,
            thread=request.thread,
            account=request.account,
            title=self._admitted.row.title,
            policy=self._admitted.row.policy,
            memory=self._memory,
            mark=self._mark,
            asked=self._intake.asked,
        )
        configurable = {**envelope.configurable(), **self._fence(), _STRICT_RESUME: self._is_strict()}
        if request.checkpoint_id is not None and not is_root(request.checkpoint_id, request.thread):
            configurable["checkpoint_id"] = request.checkpoint_id
        return {
            "configurable": configurable,
            "metadata": {**request.metadata, "run_id": request.run},
            "tags": list(request.tags),
            "recursion_limit": request.recursion_limit,
        }

    def _fence(self) -> dict[str, int]:
        """Give what the checkpointer tells a late writer by: the number of the lease."""
        return {LEASE_NUMBER: self._keeper.lease.number}

    def _is_strict(self) -> bool:
        """Say whether LangGraph is to look whether an answer fits the open interrupts.

        One answer to several interrupts is an error in any case, and only so is it one that can be told from others.
        """
        resume = self._request.command and self._request.command.resume
        by_id = isinstance(resume, Mapping) and all(
            _INTERRUPT_ID.fullmatch(str(key)) for key in cast("Mapping[object, object]", resume)
        )
        return self._request.strict_resume or not by_id

    def _starts_from(self, base: CheckpointTuple | None) -> Sequence[AnyMessage]:
        """Take note of the checkpoint the run starts from, and give its messages."""
        if base is None:
            self._journal.begin(None, ())
            return ()
        known = messages_in(base.checkpoint["channel_values"])
        self._journal.begin(base.checkpoint["id"], known)
        return known

    # What happens

    def _give(self, output: Streamed) -> None:
        self._journal.write(output)
        self._outputs.put_nowait(output)

    async def _run_graph(self, given: Any) -> StopReason | None:  # noqa: ANN401 - LangGraph's own
        """Run the graph to its end, or until there is a reason to stop; then it has stored what it had."""
        limit = self._request.time_limit
        running = asyncio.create_task(self._pump(given))
        stopping = asyncio.create_task(self._keeper.until_stopped(self._settlement.keep_events))
        reason: StopReason | None = None
        try:
            done, _ = await asyncio.wait(
                {running, stopping},
                timeout=None if limit is None else limit.total_seconds(),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if running not in done:
                reason = stopping.result() if stopping in done else "out_of_time"
        finally:
            if not running.done():
                self._saver.let_agents_go()
            running.cancel()
            stopping.cancel()
            # The cancelled graph stores its last whole step before it ends; wait for that.
            await asyncio.wait({running, stopping})
        if running.cancelled():
            return reason
        error = running.exception()
        if error is not None and reason is None:
            raise error
        return reason

    async def _pump(self, given: Any) -> None:  # noqa: ANN401 - LangGraph's own
        # Once at the end is enough while the thread's row keeps the question. Where it does not, nobody is asked for an
        # answer before the question is stored.
        durability = self._request.durability if self._admitted.keeps_input else "sync"
        config = self._config()
        if self._recorder is not None:
            config["callbacks"] = [self._recorder]
        async for output in self._stream.outputs(given, config, durability=durability):
            self._give(output)

    async def _replay(self, turn: Turn) -> Result:
        """Give out the stored answer. The turn is announced again only if its run died before it could."""
        self._ports.metrics.count(counters.ANSWER_REPLAYED)
        snapshot = await self._graph.aget_state(self._config())
        self._stream.values = snapshot.values
        if "values" in self._request.modes:
            self._give(Streamed("values", snapshot.values))
        if "messages" in self._request.modes:
            for message in turn.messages[1:]:
                self._give(Streamed("messages", (message, {})))
        # For the release: the thread's head is what it was.
        self._saver.stored = snapshot.config.get("configurable", {})["checkpoint_id"]
        row = self._admitted.row
        # The answer may be an earlier turn's, and a question be open in the last one.
        is_open = bool(snapshot.interrupts) or row.status_before == "interrupted"
        status: ThreadStatus = "interrupted" if is_open else "idle"
        if row.checkpoint_id == self._saver.stored:
            return Result("success", status)
        self._mark.set(self._stream.messages)
        return Result("success", status, outcome="completed")

    async def _keep_partial(self) -> None:
        """Store what was said of an answer that was stopped, marked as such."""
        messages = self._stream.messages
        kept = self._stream.partial.messages(known={message.id for message in messages})
        found = passages_found([*messages, *kept])
        kept = [with_citations(message, found) if isinstance(message, AIMessage) else message for message in kept]
        if not kept or self._saver.stored is None:
            return
        config: RunnableConfig = {
            "configurable": {"thread_id": self._request.thread, **self._fence()},
            "metadata": {"run_id": self._request.run},
        }
        await self._graph.aupdate_state(config, {"messages": kept}, as_node=self._ports.turn_end)
        self._stream.values = {**self._stream.values, "messages": [*messages, *kept]}
        if "values" in self._request.modes:
            self._give(Streamed("values", self._stream.values))

    def _failure(self, error: Exception) -> Result:
        code = failure_code(error)
        if isinstance(error, UnknownInterruptError | InvalidInputError) and self._saver.stored is None:
            # Nothing was done: what was open is open.
            return Result("error", self._admitted.row.status_before, code=code)
        self._ports.metrics.count(counters.RUN_FAILED)
        _log.error("run failed", extra={**self._facts(), "code": code}, exc_info=error)
        if isinstance(error, LeaseLostError):
            self._ports.metrics.count(counters.LEASE_LOST)
            # Whoever takes the thread next remembers this run. Until then its row says of it what is true: that its
            # lease has ended.
            return Result("error", None, outcome="failed", code=code, remembered="nothing")
        return Result("error", "error", outcome="failed", code=code)

    def _facts(self) -> dict[str, str]:
        return {"run_id": self._request.run, "thread_id": self._request.thread}
