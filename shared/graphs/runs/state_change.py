"""Changing a thread's state from outside a run, under the same lease as a run."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError

from shared.domain.errors import InvalidInputError, LeaseLostError, NotFoundError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.root_checkpoint import is_root
from shared.domain.threads import ThreadStatus
from shared.graphs.runs.graph_stream import Graph
from shared.graphs.runs.place import config_of
from shared.graphs.runs.run import LEASE_NUMBER
from shared.graphs.runs.state_messages import messages_in
from shared.graphs.runs.turn_input import not_stored
from shared.graphs.runs.turn_saver import TurnSaver
from shared.ports import Clock, Runs, Threads


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A change that a client wants.

    Parameters
    ----------
    user, thread : str
        Whose thread, and which.
    values : mapping or None
        What the node that the change is made as would give; ``None`` for a copy of the state.
    as_node : str or None
        That node; the last one by default.
    checkpoint_id : str or None
        Where the change is made; the thread's head by default.
    """

    user: UserId
    thread: ThreadId
    values: Mapping[str, Any] | None = None
    as_node: str | None = None
    checkpoint_id: str | None = None


async def change_state(
    change: StateChange, graph: Graph, *, threads: Threads, runs: Runs, clock: Clock, hold: timedelta
) -> RunnableConfig:
    """Make a change and give the checkpoint that has it.

    Parameters
    ----------
    change : StateChange
        What is wanted.
    graph : CompiledStateGraph
        The graph, with the owner's checkpointer.
    threads : Threads
        Where the thread's lease is.
    runs : Runs
        Where a dead run is remembered whose lease is taken over.
    clock : Clock
        The time of day.
    hold : timedelta
        For how long the lease is taken.

    Raises
    ------
    ThreadNotFoundError
        When there is no such thread for this user.
    NotFoundError
        When there is no such checkpoint in it.
    ThreadBusyError
        When a run holds the thread.
    InvalidInputError
        When the graph cannot be changed like this.
    """
    row = await threads.acquire(change.user, change.thread, RunId(str(uuid.uuid4())), now=clock.now(), hold=hold)
    if row.lease is None:
        raise LeaseLostError("The thread was given without a lease.")
    status: ThreadStatus = row.status_before
    head: str | None = None
    pending: Sequence[Mapping[str, Any]] = row.pending
    try:
        if row.left_run is not None:
            dead = replace(row.left_run, status="error", updated_at=clock.now())
            await runs.save(change.user, rows=[dead], now=clock.now())
        if pending:
            # A run may have died after it stored its question. After the change that may look as if it had not.
            before = await graph.aget_state(config_of(change.thread))
            pending = not_stored(pending, {message.id for message in messages_in(before.values)})
        changed = await _change(change, graph, row.lease.number)
        now = await graph.aget_state(config_of(change.thread))
        status = "interrupted" if now.next else "idle"
        head = now.config.get("configurable", {}).get("checkpoint_id")
    finally:
        await threads.release(
            change.user,
            change.thread,
            row.lease,
            status=status,
            now=clock.now(),
            checkpoint_id=head,
            pending=pending,
        )
    return changed


async def _change(change: StateChange, graph: Graph, lease: int) -> RunnableConfig:
    if is_root(change.checkpoint_id, change.thread):
        place = config_of(change.thread)
        graph = starting_empty(graph)
    else:
        place = config_of(change.thread, change.checkpoint_id)
    if "checkpoint_id" in place.get("configurable", {}) and (await graph.aget_state(place)).created_at is None:
        raise NotFoundError(f"Checkpoint {change.checkpoint_id} not found")
    fenced: RunnableConfig = {"configurable": {**place.get("configurable", {}), LEASE_NUMBER: lease}}
    values = None if change.values is None else dict(change.values)
    try:
        return await graph.aupdate_state(fenced, values, as_node=change.as_node)
    except InvalidUpdateError:
        raise InvalidInputError("as_node: The state cannot be changed as this node, or it must be named.") from None
    except ValueError:
        # LangGraph's own way to say it.
        raise InvalidInputError("values.messages: A message that is to be removed is not there.") from None


def starting_empty(graph: Graph) -> Graph:
    """Give the graph as it is before a thread's first checkpoint."""
    owners = cast("BaseCheckpointSaver[Any]", graph.checkpointer)  # pyright: ignore[reportUnknownMemberType]
    saver = TurnSaver(owners, may_write=lambda: True, fresh=True)
    saver.begin_empty()
    return graph.copy(update={"checkpointer": saver})
