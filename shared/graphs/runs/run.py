"""One run, from the lease it was given to the lease it gives back."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send

from shared.domain import counters
from shared.domain.errors import LeaseLostError
from shared.domain.events import TurnEnded, TurnOutcome
from shared.domain.ids import MessageId
from shared.domain.threads import ThreadStatus
from shared.domain.turns import Turn, human_ids, is_answered, turns_of
from shared.graphs.agent.envelope import Envelope, TurnMark
from shared.graphs.runs.admission import Admitted
from shared.graphs.runs.failures import OUT_OF_TIME, failure_code
from shared.graphs.runs.lease_keeper import LeaseKeeper, StopReason
from shared.graphs.runs.partial_answer import PartialAnswer
from shared.graphs.runs.request import ResumeCommand, RunRequest
from shared.graphs.runs.stream import Ended, Failed, RunOutput, RunStatus, Streamed
from shared.graphs.runs.turn_saver import TurnSaver
from shared.ports import Clock, Metrics, Threads, TurnEvents
from shared.services.turn_memory import TurnMemory

Graph = CompiledStateGraph[Any, Any, Any, Any]

# What the run needs for itself, whatever the client asks for: the state, interrupts, and tokens for a partial answer.
_OWN_MODES: Final = ("values", "updates", "messages", "custom")
# A client sees tokens and notices of the agents as the graph's own; agents are subgraphs only by our choice.
_SEEN_THROUGH: Final = frozenset({"messages", "custom"})
_INTERRUPT: Final = "__interrupt__"

LEASE_NUMBER: Final = "lease_number"
"""Where a lease's number stands in ``configurable``, for the checkpointer."""

# What LangGraph's own server sets when a client asks for it; there is no argument for it.
_STRICT_RESUME: Final = "__pregel_strict_resume"
_INTERRUPT_ID: Final = re.compile(r"[0-9a-f]{32}")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunPorts:
    """What every run works with.

    Parameters
    ----------
    threads, turn_events, clock, metrics
        The ports.
    turn_end : str
        The graph's last node. A partial answer is stored as that node's, so that nothing is left to do after it.
    """

    threads: Threads
    turn_events: TurnEvents
    clock: Clock
    metrics: Metrics
    turn_end: str


@dataclass(frozen=True, slots=True)
class _Result:
    """How a run ended: for the client, for the thread's row, and for the event bus."""

    status: RunStatus
    thread: ThreadStatus
    outcome: TurnOutcome | None = None
    code: str | None = None


class Run:
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
    ) -> None:
        self._request = request
        self._admitted = admitted
        self._graph = graph
        self._saver = saver
        self._keeper = keeper
        self._memory = memory
        self._ports = ports
        self._outputs: asyncio.Queue[RunOutput] = asyncio.Queue()
        self._mark = TurnMark()
        self._partial = PartialAnswer()
        self._values: Mapping[str, Any] = {}
        self._interrupted = False
        self._driving: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._request.run

    def begin(self) -> asyncio.Task[None]:
        """Set the run going; give its task, which never raises."""
        self._driving = asyncio.create_task(self._drive(), name=f"run-{self.id}")
        return self._driving

    async def outputs(self) -> AsyncIterator[RunOutput]:
        """Give what comes out of the run, up to and with :class:`Ended`. For one reader."""
        while True:
            output = await self._outputs.get()
            yield output
            if isinstance(output, Ended):
                return

    async def finished(self) -> None:
        """Wait until everything is stored and the thread is free, however often the waiting is cancelled."""
        if self._driving is not None:
            await asyncio.shield(self._driving)

    async def _drive(self) -> None:
        try:
            result = await self._go()
        except Exception as error:  # noqa: BLE001 - a run ends in order, whatever went wrong
            result = self._failure(error)
        await self._announce(result)
        await self._release(result)
        _log.info("run ended", extra={**self._facts(), "status": result.status, "outcome": result.outcome})
        if result.code is not None:
            self._outputs.put_nowait(Failed(result.code))
        self._outputs.put_nowait(Ended(result.status))

    async def _go(self) -> _Result:
        base = await self._saver.load(self._config())
        known: Sequence[AnyMessage] = base.checkpoint["channel_values"].get("messages", ()) if base else ()
        answered = self._answered(known)
        if answered is not None:
            return await self._replay(answered)
        reason = await self._run_graph(self._input(known))
        match reason:
            case None if self._interrupted:
                return _Result("interrupted", "interrupted")
            case None:
                return _Result("success", "idle", outcome="completed" if self._mark.ended else None)
            case "cancelled":
                await self._keep_partial()
                self._ports.metrics.count(counters.RUN_CANCELLED)
                return _Result("interrupted", "idle", outcome="cancelled")
            case "out_of_time":
                await self._keep_partial()
                self._ports.metrics.count(counters.RUN_FAILED)
                return _Result("error", "error", outcome="failed", code=OUT_OF_TIME)
            case "deleting":
                return _Result("interrupted", "idle")
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
        )
        configurable = {**envelope.configurable(), **self._fence(), _STRICT_RESUME: self._is_strict()}
        if request.checkpoint_id is not None:
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
        by_id = isinstance(resume, Mapping) and all(_INTERRUPT_ID.fullmatch(str(key)) for key in resume)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return self._request.strict_resume or not by_id

    def _input(self, known: Sequence[AnyMessage]) -> Any:  # noqa: ANN401 - LangGraph's own
        if self._request.command is not None:
            return _command(self._request.command)
        if not self._request.messages:
            return None
        return {"messages": [*self._left_behind(known), *self._new(known)]}

    def _new(self, known: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Give the messages without answers the thread has: clients that resend them have them in less detail."""
        there = {message.id for message in known if message.id is not None}
        return [
            message
            for message in self._request.messages
            if isinstance(message, HumanMessage) or message.id not in there
        ]

    def _left_behind(self, known: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Give what a dead run had taken in and the thread does not have (decision 9b); a branch takes in nothing."""
        if self._request.checkpoint_id is not None:
            return []
        there = {message.id for message in (*known, *self._request.messages)}
        return [
            HumanMessage(id=message["id"], content=message["content"])
            for message in self._admitted.row.pending
            if message["id"] not in there
        ]

    def _answered(self, known: Sequence[AnyMessage]) -> Turn | None:
        """Give the turn that answers the last human message already, if this is a message that was sent again."""
        ids = human_ids(self._request.messages)
        if not ids or self._request.checkpoint_id is not None:
            return None
        turn = next((turn for turn in turns_of(known) if turn.message_id == ids[-1]), None)
        return turn if turn is not None and is_answered(turn) else None

    # What happens

    async def _run_graph(self, graph_input: Any) -> StopReason | None:  # noqa: ANN401 - LangGraph's own
        """Run the graph to its end, or until there is a reason to stop; then it has stored what it had."""
        limit = self._request.time_limit
        running = asyncio.create_task(self._pump(graph_input))
        stopping = asyncio.create_task(self._keeper.until_stopped())
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

    async def _pump(self, graph_input: Any) -> None:  # noqa: ANN401 - LangGraph's own
        request = self._request
        stream = self._graph.astream(  # pyright: ignore[reportUnknownMemberType]
            graph_input,
            self._config(),
            stream_mode=list(_OWN_MODES),
            interrupt_before=_nodes(request.interrupt_before),
            interrupt_after=_nodes(request.interrupt_after),
            # Once at the end is enough while the thread's row keeps the question.
            durability=request.durability if self._admitted.keeps_input else "async",
            subgraphs=True,
        )
        async for part in stream:
            namespace, mode, data = cast("tuple[tuple[str, ...], str, Any]", part)
            self._note(namespace, mode, data)
            if mode in request.modes and (request.subgraphs or not namespace or mode in _SEEN_THROUGH):
                self._outputs.put_nowait(Streamed(mode, data, namespace if request.subgraphs else ()))

    def _note(self, namespace: tuple[str, ...], mode: str, data: Any) -> None:  # noqa: ANN401 - LangGraph's own
        if mode == "messages":
            self._partial.add(data[0])
        elif not namespace and mode == "values":
            self._values = data
        elif not namespace and mode == "updates" and _INTERRUPT in data:
            self._interrupted = True

    async def _replay(self, turn: Turn) -> _Result:
        """Give out the stored answer. The turn is announced again only if its run died before it could."""
        self._ports.metrics.count(counters.ANSWER_REPLAYED)
        snapshot = await self._graph.aget_state(self._config())
        self._values = snapshot.values
        if "values" in self._request.modes:
            self._outputs.put_nowait(Streamed("values", snapshot.values))
        if "messages" in self._request.modes:
            for message in turn.messages[1:]:
                self._outputs.put_nowait(Streamed("messages", (message, {})))
        # For the release: the thread's head is what it was.
        self._saver.stored = snapshot.config.get("configurable", {})["checkpoint_id"]
        row = self._admitted.row
        if row.checkpoint_id == self._saver.stored:
            return _Result("success", "idle")
        self._mark.set(self._messages())
        return _Result("success", "idle", outcome="completed")

    async def _keep_partial(self) -> None:
        """Store what was said of an answer that was stopped, marked as such."""
        kept = self._partial.messages(known={message.id for message in self._messages()})
        if not kept or self._saver.stored is None:
            return
        config: RunnableConfig = {
            "configurable": {"thread_id": self._request.thread, **self._fence()},
            "metadata": {"run_id": self._request.run},
        }
        await self._graph.aupdate_state(config, {"messages": kept}, as_node=self._ports.turn_end)
        self._values = {**self._values, "messages": [*self._messages(), *kept]}
        if "values" in self._request.modes:
            self._outputs.put_nowait(Streamed("values", self._values))

    def _failure(self, error: Exception) -> _Result:
        code = failure_code(error)
        if isinstance(error, UnknownInterruptError):
            # Nothing was done: the question is still open.
            return _Result("error", "interrupted", code=code)
        if isinstance(error, LeaseLostError):
            self._ports.metrics.count(counters.LEASE_LOST)
        self._ports.metrics.count(counters.RUN_FAILED)
        _log.error("run failed", extra={**self._facts(), "code": code}, exc_info=error)
        return _Result("error", "error", outcome="failed", code=code)

    # How it ends

    def _messages(self) -> Sequence[AnyMessage]:
        return cast("Sequence[AnyMessage]", self._values.get("messages", ()))

    async def _announce(self, result: _Result) -> None:
        """Announce the turn's end, now that it is stored. A bus that fails never fails the turn (G15)."""
        event = self._turn_ended(result)
        if event is None:
            return
        try:
            await self._ports.turn_events.publish(event)
        except Exception:  # noqa: BLE001 - whatever it is, the turn itself is well
            self._ports.metrics.count(counters.TURN_EVENT_FAILED)
            _log.exception("turn end not announced", extra=self._facts())

    def _turn_ended(self, result: _Result) -> TurnEnded | None:
        if result.outcome is None or self._saver.stored is None:
            return None
        ids: Sequence[MessageId]
        if self._mark.human_message_id is not None:
            last, count = self._mark.human_message_id, self._mark.human_count
        elif ids := human_ids(self._messages()):
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

    async def _release(self, result: _Result) -> None:
        try:
            await self._ports.threads.release(
                self._request.user,
                self._request.thread,
                self._keeper.lease,
                status=result.thread,
                now=self._ports.clock.now(),
                checkpoint_id=self._saver.stored,
                # What was not stored stays for the next run; a branch does not take in what the trunk left behind.
                keep_pending=not self._has_stored_input() or self._request.checkpoint_id is not None,
            )
        except Exception:  # noqa: BLE001 - the lease ends by itself
            _log.exception("lease not released", extra=self._facts())

    def _has_stored_input(self) -> bool:
        """Say whether the checkpoint has what was asked: that of a run that hardly began has it as an open step.

        A later input takes such a step's place, and the question would be lost with it.
        """
        there = {message.id for message in self._messages()}
        asked = {message.id for message in self._request.messages if isinstance(message, HumanMessage)}
        return self._saver.stored is not None and asked <= there

    def _facts(self) -> dict[str, str]:
        return {"run_id": self._request.run, "thread_id": self._request.thread}


def _command(command: ResumeCommand) -> Command[Any]:
    return Command(
        resume=command.resume if command.has_resume else None,
        update=dict(command.update) if command.update is not None else None,
        goto=[Send(to.node, to.input) if to.has_input else to.node for to in command.goto],
    )


def _nodes(nodes: Sequence[str] | str) -> Any:  # noqa: ANN401 - LangGraph takes a list, "*" or nothing
    return "*" if nodes == "*" else list(nodes) or None
