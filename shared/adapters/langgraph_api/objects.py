"""Threads and states as clients read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol, Self, cast

from shared.adapters.langgraph_api.assistants import assistant_id_of, assistant_metadata
from shared.adapters.langgraph_api.bodies import SortBy, ThreadCount, ThreadSearch
from shared.domain.errors import InvalidInputError
from shared.domain.ids import ThreadId
from shared.domain.root_checkpoint import root_checkpoint_id
from shared.domain.runs import RunRow
from shared.domain.threads import (
    DEFAULT_POLICY,
    DEFAULT_TITLE,
    HISTORY_POLICIES,
    HistoryPolicy,
    ThreadQuery,
    ThreadRow,
)

TITLE_KEY: Final = "title"
"""A thread's name rides in its metadata, where clients of this API look for such things."""

POLICY_KEY: Final = "history_policy"
"""How a thread is kept within the context window; in its metadata too, unless it is the ordinary way."""

# Of a state's metadata, what LangGraph writes there for itself or copies from the run's configuration.
INNER_METADATA: Final = frozenset(
    {"userId", "thread_id", "thread_title", "history_policy", "lease_number", "checkpoint_ns", "parents"}
)

ROOT_METADATA: Final[Mapping[str, Any]] = {"source": "input", "step": -1}
"""Of the state before everything that was said; LangGraph's server has the same of a thread's first checkpoint."""

STEP_FAILED: Final = "The step failed."
"""All that is said of an error: its text may be of no client's business."""


class Snapshot(Protocol):
    """What is read of LangGraph's ``StateSnapshot``."""

    @property
    def values(self) -> Any: ...  # noqa: ANN401, D102 - LangGraph's own
    @property
    def next(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def config(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def metadata(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def created_at(self) -> str | None: ...  # noqa: D102
    @property
    def parent_config(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def tasks(self) -> Sequence[Any]: ...  # noqa: D102
    @property
    def interrupts(self) -> Sequence[Any]: ...  # noqa: D102


def thread_object(row: ThreadRow, *, graph_id: str, now: datetime) -> dict[str, Any]:
    """Give a thread, from its row alone: of the values, the first message's beginning, which lists show."""
    named = {} if row.title == DEFAULT_TITLE else {TITLE_KEY: row.title}
    kept = {} if row.policy == DEFAULT_POLICY else {POLICY_KEY: row.policy}
    values = {"messages": [{"type": "human", "content": row.preview}]} if row.preview else None
    return {
        "thread_id": row.thread_id,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "state_updated_at": row.last_message_at,
        "metadata": {**assistant_metadata(graph_id), **row.metadata, **named, **kept},
        "status": row.status_at(now),
        "config": {},
        "values": values,
        "interrupts": {},
    }


def run_object(run: RunRow, *, graph_id: str) -> dict[str, Any]:
    """Give a run."""
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": assistant_id_of(graph_id),
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "status": run.status,
        "metadata": run.metadata,
        "multitask_strategy": run.strategy,
    }


def thread_query(asked: ThreadCount, *, graph_id: str) -> ThreadQuery | None:
    """Give the query a client asks for; ``None`` when it asks for threads of another graph, of which there are none.

    Raises
    ------
    InvalidInputError
        When it names a history policy that there is not.
    """
    metadata = dict(asked.metadata or {})
    for key, value in assistant_metadata(graph_id).items():
        # Clients filter by either key, and by either of the graph's names.
        if metadata.pop(key, value) not in assistant_metadata(graph_id).values():
            return None
    policy = _policy(metadata.pop(POLICY_KEY, None))
    if not isinstance(asked, ThreadSearch):
        return ThreadQuery(metadata=metadata, policy=policy, status=asked.status)
    sort_by: SortBy = asked.sort_by or "last_message_at"
    return ThreadQuery(
        metadata=metadata,
        policy=policy,
        status=asked.status,
        limit=asked.limit,
        offset=asked.offset,
        sort_by="last_message_at" if sort_by == "state_updated_at" else sort_by,
        descending=asked.sort_order != "asc",
    )


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """What a client sent as a thread's metadata, told apart.

    Parameters
    ----------
    rest : dict
        The client's own.
    title : str or None
        The thread's name.
    policy : str or None
        How the thread is kept within the context window.
    """

    rest: dict[str, Any]
    title: str | None
    policy: HistoryPolicy | None

    @classmethod
    def of(cls, metadata: Mapping[str, Any] | None) -> Self:
        """Read it.

        Raises
        ------
        InvalidInputError
            When the title is no text, or there is no such policy.
        """
        rest = dict(metadata or {})
        title = rest.pop(TITLE_KEY, None)
        if title is not None and not isinstance(title, str):
            raise InvalidInputError(f"metadata.{TITLE_KEY}: A title is a text.")
        return cls(rest, title, _policy(rest.pop(POLICY_KEY, None)))


def _policy(value: object) -> HistoryPolicy | None:
    if value is not None and value not in HISTORY_POLICIES:
        raise InvalidInputError(f"metadata.{POLICY_KEY}: There are {', '.join(HISTORY_POLICIES)}.")
    return value


def state_object(snapshot: Snapshot, thread: ThreadId) -> dict[str, Any]:
    """Give a state of a thread."""
    checkpoint = checkpoint_object(snapshot.config, thread)
    is_own = snapshot.created_at is not None and not checkpoint["checkpoint_ns"]
    parent = parent_object(snapshot.parent_config, thread, root_of=thread if is_own else None)
    return {
        "values": snapshot.values,
        "next": list(snapshot.next),
        "tasks": [_task(task, thread) for task in snapshot.tasks],
        "interrupts": list(snapshot.interrupts),
        "metadata": {k: v for k, v in (snapshot.metadata or {}).items() if k not in INNER_METADATA},
        "created_at": snapshot.created_at,
        "checkpoint": checkpoint,
        "checkpoint_id": checkpoint["checkpoint_id"],
        "parent_checkpoint": parent,
        "parent_checkpoint_id": None if parent is None else parent["checkpoint_id"],
    }


def interrupts_of(snapshot: Snapshot) -> dict[str, list[Any]]:
    """Give what a person is asked in a state, by the id of the task that asks."""
    return {task.id: list(task.interrupts) for task in snapshot.tasks if task.interrupts}


def root_state(thread: ThreadId, created_at: datetime) -> dict[str, Any]:
    """Give the state before everything that was said: empty, and the parent of the first one."""
    root = root_checkpoint_id(thread)
    return {
        "values": {"messages": []},
        "next": [],
        "tasks": [],
        "interrupts": [],
        "metadata": dict(ROOT_METADATA),
        "created_at": created_at,
        "checkpoint": _root_object(thread),
        "checkpoint_id": root,
        "parent_checkpoint": None,
        "parent_checkpoint_id": None,
    }


def parent_object(
    config: Mapping[str, Any] | None, thread: ThreadId | None, *, root_of: ThreadId | None
) -> dict[str, Any] | None:
    """Give the place of a checkpoint's parent; when it has none, the root of a thread, if this is a thread's own."""
    if config:
        return checkpoint_object(config, thread)
    return None if root_of is None else _root_object(root_of)


def _root_object(thread: ThreadId) -> dict[str, Any]:
    return {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": root_checkpoint_id(thread)}


def checkpoint_object(config: Mapping[str, Any], thread: ThreadId | None) -> dict[str, Any]:
    """Give a checkpoint's place. The thread is named as the client knows it, whatever the checkpointer calls it."""
    configurable = cast("Mapping[str, Any]", config.get("configurable", {}))
    return {
        "thread_id": thread,
        "checkpoint_ns": configurable.get("checkpoint_ns", ""),
        "checkpoint_id": configurable.get("checkpoint_id"),
    }


def _task(task: Any, thread: ThreadId) -> dict[str, Any]:  # noqa: ANN401 - LangGraph's own
    state: Any = task.state
    # Of a subgraph, its place; its state as well where that was asked for.
    is_place = isinstance(state, dict)
    return {
        "id": task.id,
        "name": task.name,
        "path": task.path,
        "error": None if task.error is None else STEP_FAILED,
        "interrupts": list(task.interrupts),
        "checkpoint": checkpoint_object(cast("Mapping[str, Any]", state), thread) if is_place else None,
        "state": None if is_place or state is None else state_object(cast("Snapshot", state), thread),
        "result": task.result,
    }
