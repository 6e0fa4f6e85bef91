"""Starts runs of one graph."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id
from langgraph.store.base import BaseStore
from langgraph.types import StateSnapshot

from shared.domain.errors import InvalidInputError, LeaseLostError, NotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.root_checkpoint import is_root
from shared.graphs.runs.admission import Admission
from shared.graphs.runs.graph_stream import Graph
from shared.graphs.runs.journal import Journal, NoJournal
from shared.graphs.runs.lease_keeper import LeaseKeeper
from shared.graphs.runs.place import config_of
from shared.graphs.runs.request import GraphRequest, RunRequest
from shared.graphs.runs.run import Run
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.state_change import StateChange, change_state
from shared.graphs.runs.state_messages import messages_in
from shared.graphs.runs.stateless_run import StatelessRun
from shared.graphs.runs.turn_saver import TurnSaver
from shared.services.recall import Recall
from shared.services.turn_memory import TurnMemory

Checkpointers = Callable[[UserId], BaseCheckpointSaver[Any]]
"""Gives the checkpointer of one owner, which reaches no other's threads."""


@runtime_checkable
class KnowsChildren(Protocol):
    """A checkpointer that finds what follows a checkpoint without reading everything that is newer."""

    def achildren(self, config: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
        """Give the checkpoints that follow one, or that follow none, the newest first."""
        ...


TakeIn = Callable[[UserId, Sequence[AnyMessage]], Awaitable[Sequence[AnyMessage]]]
"""Stores what messages bring that has no place in a thread, and gives them as they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTiming:
    """How long things may take.

    Parameters
    ----------
    hold, renew_every, watch_every : timedelta
        Of the lease, see ``LeaseKeeper``.
    wait, look_every : timedelta
        For a busy thread, see ``Admission``.
    """

    hold: timedelta = timedelta(seconds=30)
    renew_every: timedelta = timedelta(seconds=10)
    watch_every: timedelta = timedelta(seconds=1)
    wait: timedelta = timedelta(seconds=35)
    look_every: timedelta = timedelta(milliseconds=500)


class GraphRunner:
    """Runs one graph for any owner.

    Parameters
    ----------
    graph : CompiledStateGraph
        Compiled without a checkpointer; each run gets its owner's.
    checkpointers : callable
        Gives them.
    store : BaseStore, optional
        LangGraph's store, for nodes that use it.
    recall : Recall
        Reads a turn's memory; the read is begun before the thread is asked for.
    ports : RunPorts
        What every run works with.
    timing : RunTiming, optional
        How long things may take.
    take_in : callable, optional
        Applied to the messages of every request before any of them is written anywhere: a thread's row and its
        checkpoints have no room for files.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        checkpointers: Checkpointers,
        store: BaseStore | None = None,
        recall: Recall,
        ports: RunPorts,
        timing: RunTiming | None = None,
        take_in: TakeIn | None = None,
    ) -> None:
        self._take_in = take_in
        self._graph = graph if store is None else graph.copy(update={"store": store})
        self._checkpointers = checkpointers
        self._recall = recall
        self._ports = ports
        self._timing = timing or RunTiming()
        self._admission = Admission(
            ports.threads,
            ports.clock,
            hold=self._timing.hold,
            wait=self._timing.wait,
            look_every=self._timing.look_every,
        )
        # The event loop itself keeps no task alive.
        self._running: set[asyncio.Task[None]] = set()

    @property
    def graph(self) -> Graph:
        """The graph, without a checkpointer."""
        return self._graph

    @property
    def nodes(self) -> frozenset[str]:
        """Names of the graph's nodes."""
        return frozenset(self._graph.nodes)

    async def start(self, request: RunRequest, journal: Journal | None = None) -> Run:
        """Take the thread and set the run going.

        Everything that a status can still tell goes wrong here; from then on errors come out of the run.

        Parameters
        ----------
        request : RunRequest
            What is asked for.
        journal : Journal, optional
            Hears of everything that comes out of the run.

        Raises
        ------
        ThreadNotFoundError
            When the user has no such thread and none is to be made.
        NotFoundError
            When there is no such checkpoint.
        ThreadBusyError
            When another run holds the thread.
        InvalidInputError
            When there is nothing to do: no input, no command, and no open step; or when what is asked for does not fit
            what the thread has.
        """
        asked_at = self._ports.clock.now()
        request = await self._settled(request)
        request = replace(request, messages=await self._taken_in(request.user, request.messages))
        if request.command is not None and request.command.update is not None:
            update = await self._values_taken_in(request.user, request.command.update)
            request = replace(request, command=replace(request.command, update=update))
        memory = TurnMemory(self._recall, request.user, request.thread, request.account).start()
        try:
            admitted = await self._admission.admit(request)
        except Exception:
            # The read was begun and must not outlive the invocation.
            await memory.get()
            raise
        lease = admitted.row.lease
        if lease is None:
            raise LeaseLostError("The thread was given without a lease.")
        keeper = LeaseKeeper(
            self._ports.threads,
            self._ports.clock,
            request.user,
            request.thread,
            lease,
            hold=self._timing.hold,
            renew_every=self._timing.renew_every,
            watch_every=self._timing.watch_every,
        )
        saver = TurnSaver(self._checkpointers(request.user), may_write=keeper.may_write, fresh=bool(request.messages))
        run = Run(
            self._in_the_time_left(request, asked_at),
            admitted,
            graph=self._graph.copy(update={"checkpointer": saver}),
            saver=saver,
            keeper=keeper,
            memory=memory,
            ports=self._ports,
            journal=journal or NoJournal(),
        )
        self._keep(run.begin())
        await run.accepted()
        return run

    async def start_stateless(self, request: GraphRequest, journal: Journal | None = None) -> StatelessRun:
        """Set a run going that has no thread. Errors come out of the run.

        Parameters
        ----------
        request : GraphRequest
            What is asked for, the whole conversation included.
        journal : Journal, optional
            Hears of everything that comes out of the run.

        Raises
        ------
        StoreError
            When a file of a message cannot be stored.
        """
        request = replace(request, messages=await self._taken_in(request.user, request.messages))
        run = StatelessRun(
            request,
            graph=self._graph,
            memory=TurnMemory(self._recall, request.user, None, request.account).start(),
            metrics=self._ports.metrics,
            journal=journal or NoJournal(),
        )
        self._keep(run.begin())
        return run

    async def finish(self) -> None:
        """Wait for every run that goes on, for a process that is about to stand still."""
        while self._running:
            await asyncio.wait(self._running)

    def reading(self, user: UserId) -> Graph:
        """Give the graph with a user's checkpointer, for reading states."""
        return self._graph.copy(update={"checkpointer": self._checkpointers(user)})

    async def history(
        self,
        user: UserId,
        thread: ThreadId,
        *,
        metadata: Mapping[str, Any] | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Give a thread's states, the newest first, each read when it is asked for.

        LangGraph's own way to read them has all of them in memory before it gives the first.

        Parameters
        ----------
        user, thread : str
            Whose thread, and which.
        metadata : mapping, optional
            What the states' metadata must hold.
        before : str, optional
            A checkpoint's id; only older states are given.
        limit : int, optional
            How many are given at most.
        """
        owners = self._checkpointers(user)
        saver = TurnSaver(owners, may_write=lambda: False, fresh=False)
        graph = self._graph.copy(update={"checkpointer": saver})
        found = owners.alist(
            config_of(thread),
            filter=dict(metadata) if metadata else None,
            before=None if before is None else config_of(thread, before),
            limit=limit,
        )
        async for each in found:
            saver.has_read(each)
            yield await graph.aget_state(each.config)

    async def change_state(self, change: StateChange) -> RunnableConfig:
        """Change a thread's state from outside a run; see :func:`~shared.graphs.runs.state_change.change_state`."""
        ports = self._ports
        if change.values is not None:
            change = replace(change, values=await self._values_taken_in(change.user, change.values))
        graph = self.reading(change.user)
        return await change_state(
            change, graph, threads=ports.threads, runs=ports.runs, clock=ports.clock, hold=self._timing.hold
        )

    async def copy(self, user: UserId, source: ThreadId, target: ThreadId) -> None:
        """Copy every checkpoint of a thread to one that has none."""
        await self._checkpointers(user).acopy_thread(source, target)

    async def _taken_in(self, user: UserId, messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
        return messages if self._take_in is None else await self._take_in(user, messages)

    async def _values_taken_in(self, user: UserId, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if "messages" not in values:
            return values
        return {**values, "messages": await self._taken_in(user, values["messages"])}

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _in_the_time_left(self, request: RunRequest, asked_at: datetime) -> RunRequest:
        """Take what a busy thread has cost off the time limit: the process ends when it ends."""
        if request.time_limit is None:
            return request
        left = request.time_limit - (self._ports.clock.now() - asked_at)
        return replace(request, time_limit=max(left, timedelta(0)))

    async def _settled(self, request: RunRequest) -> RunRequest:
        """Check a request that does not just bring new messages; owner first, then checkpoints."""
        if request.checkpoint_id is None and (request.messages or request.command is not None):
            return request
        await self._ports.threads.get(request.user, request.thread)
        graph = self.reading(request.user)
        if is_root(request.checkpoint_id, request.thread):
            return await self._settled_at_root(request)
        snapshot = await graph.aget_state(config_of(request.thread, request.checkpoint_id))
        if request.checkpoint_id is not None and snapshot.created_at is None:
            raise NotFoundError(f"Checkpoint {request.checkpoint_id} not found")
        if request.messages or request.command is not None or snapshot.next:
            return request
        if request.checkpoint_id is None:
            raise InvalidInputError("There is nothing to go on with: give an input, a command or a checkpoint.")
        # A turn is stored as a whole, so "answer again from here" means: take the turn that came next once more.
        known = {message.id for message in messages_in(snapshot.values)}
        return await self._asked_again(request, request.checkpoint_id, known)

    async def _settled_at_root(self, request: RunRequest) -> RunRequest:
        """Check a request that starts before everything that was said."""
        if request.messages:
            return request
        if request.command is not None:
            raise InvalidInputError("command: Nothing is open before the first turn.")
        return await self._asked_again(request, None, set())

    async def _asked_again(self, request: RunRequest, parent: str | None, known: set[str | None]) -> RunRequest:
        """Give the request with the question that came after a checkpoint; after the root when there is none."""
        async for child in _children(self._checkpointers(request.user), config_of(request.thread, parent)):
            said = messages_in(child.checkpoint["channel_values"])
            new = [message for message in said if message.id not in known]
            again = [message for message in new if isinstance(message, HumanMessage)]
            if again:
                return replace(request, messages=again)
        raise InvalidInputError("No turn follows this checkpoint: there is nothing to answer again.")


async def _children(saver: BaseCheckpointSaver[Any], place: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
    """Give the checkpoints that follow one, or that follow none, the newest first."""
    if isinstance(saver, KnowsChildren):
        async for child in saver.achildren(place):
            yield child
        return
    parent, thread = get_checkpoint_id(place), place.get("configurable", {})["thread_id"]
    async for each in saver.alist(config_of(thread)):
        if each.config.get("configurable", {}).get("checkpoint_id") == parent:
            # What follows it is newer.
            return
        if (each.parent_config or {}).get("configurable", {}).get("checkpoint_id") == parent:
            yield each
