"""The routes of a thread's states. The owner is checked before any checkpoint is read."""

from collections.abc import AsyncIterator
from typing import Annotated, Final
from uuid import UUID

from fastapi import Query, Response
from starlette.responses import StreamingResponse

from functions.chat.run_requests import checkpoint_id_of, read_checkpoint_id, state_change
from functions.chat.wiring import Chat, InChat, InThread, User, json_reply
from shared.adapters.langgraph_api.bodies import MAX_PAGE, Checkpoint, HistoryQuery, StateAt, StateUpdate
from shared.adapters.langgraph_api.json_encoding import encode
from shared.adapters.langgraph_api.objects import ROOT_METADATA, Snapshot, checkpoint_object, root_state, state_object
from shared.domain.errors import InvalidInputError, NotFoundError
from shared.domain.ids import ThreadId, UserId
from shared.domain.root_checkpoint import is_root
from shared.domain.threads import ThreadRow
from shared.graphs.runs.place import config_of
from shared.graphs.runs.state_change import StateChange

HISTORY_BYTES: Final = 64 * 1024 * 1024
"""After so many bytes a page of history ends, whatever its limit: Lambda cuts replies of 200 MB off."""

_END = "__end__"
"""What LangGraph calls the place after the last node."""

Subgraphs = Annotated[bool, Query(description="Whether to give the states of open subgraphs too.")]


async def get_state(thread: InThread, user: User, chat: InChat, subgraphs: Subgraphs = False) -> Response:
    """Give a thread's state; that of a thread in which nothing was said is empty."""
    await chat.runs.settle(user, thread)
    snapshot = await chat.runner.reading(user).aget_state(config_of(thread), subgraphs=subgraphs)
    state = state_object(snapshot, thread)
    return json_reply(state if _is_stored(snapshot) else {**state, "values": {}})


async def get_state_at(
    thread: InThread, checkpoint_id: UUID, user: User, chat: InChat, subgraphs: Subgraphs = False
) -> Response:
    """Give an earlier state of a thread."""
    row = await chat.threads.get(user, thread)
    if is_root(str(checkpoint_id), thread):
        return json_reply(root_state(thread, row.created_at))
    config = config_of(thread, str(checkpoint_id))
    snapshot = await chat.runner.reading(user).aget_state(config, subgraphs=subgraphs)
    if not _is_stored(snapshot):
        raise NotFoundError(f"Checkpoint {checkpoint_id} not found")
    return json_reply(state_object(snapshot, thread))


async def post_state_at(thread: InThread, body: StateAt, user: User, chat: InChat) -> Response:
    """Give the state at a checkpoint, of a subgraph too; without an id, the newest."""
    namespace = body.checkpoint.checkpoint_ns or ""
    if body.checkpoint.checkpoint_map:
        raise InvalidInputError("checkpoint.checkpoint_map: A checkpoint is found by its namespace and id.")
    found = checkpoint_id_of(body.checkpoint, thread)
    row = await chat.threads.get(user, thread)
    if is_root(found, thread) and not namespace:
        return json_reply(root_state(thread, row.created_at))
    place = config_of(thread, found, namespace)
    try:
        snapshot = await chat.runner.reading(user).aget_state(place, subgraphs=bool(body.subgraphs))
    except ValueError:
        # LangGraph knows no subgraph of this name.
        raise NotFoundError("checkpoint.checkpoint_ns: There is no such subgraph.") from None
    if not _is_stored(snapshot):
        if found is None and not namespace:
            return json_reply({**state_object(snapshot, thread), "values": {}})
        raise NotFoundError(f"Checkpoint {found or namespace} not found")
    return json_reply(state_object(snapshot, thread))


async def update_state(thread: InThread, body: StateUpdate, user: User, chat: InChat) -> Response:
    """Change a thread's state as if one of the graph's nodes had; a thread that a run holds is a conflict."""
    if body.checkpoint is not None and (body.checkpoint.checkpoint_ns or body.checkpoint.checkpoint_map):
        raise InvalidInputError("checkpoint.checkpoint_ns: Only the thread's own state can be changed.")
    values = None if body.values is None else state_change(body.values.messages, "values.messages")
    changed = await chat.runner.change_state(
        StateChange(
            user=user,
            thread=thread,
            values=values,
            as_node=_as_node(body.as_node, chat, ends=values is None),
            checkpoint_id=checkpoint_id_of(body.checkpoint, thread) or read_checkpoint_id(body.checkpoint_id),
        )
    )
    place = checkpoint_object(changed, thread)
    return json_reply({"checkpoint": place, "configurable": place, "checkpoint_id": place["checkpoint_id"]})


def _as_node(name: str | None, chat: Chat, *, ends: bool) -> str | None:
    """Check the name of a node; the end can be named too, to let go of what is open."""
    if name is not None and (name not in chat.runner.nodes or name.startswith("__")) and not (ends and name == _END):
        raise InvalidInputError(f"as_node: There is no node '{name[:100]}'.")
    return name


async def get_history(
    thread: InThread,
    user: User,
    chat: InChat,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 10,
    before: Annotated[str | None, Query(description="Only states before this checkpoint.")] = None,
) -> Response:
    """Give a thread's states, newest first."""
    place = None if before is None else Checkpoint(checkpoint_id=before)
    return await _history(thread, HistoryQuery(limit=limit, before=place), user, chat)


async def post_history(thread: InThread, body: HistoryQuery, user: User, chat: InChat) -> Response:
    """Give a thread's states, newest first."""
    return await _history(thread, body, user, chat)


async def _history(thread: ThreadId, query: HistoryQuery, user: UserId, chat: Chat) -> Response:
    if query.checkpoint is not None and (query.checkpoint.checkpoint_ns or query.checkpoint.checkpoint_id):
        raise InvalidInputError("checkpoint: History is of the thread itself; use 'before' for where it begins.")
    row = await chat.runs.settle(user, thread)
    before = read_checkpoint_id(query.before and query.before.checkpoint_id, "before")
    states = _states(row, query, before, chat)
    # The first is read before the reply begins: what goes wrong there can still be told by a status.
    first = await anext(states, None)
    return StreamingResponse(_as_json(first, states), media_type="application/json")


async def _states(row: ThreadRow, query: HistoryQuery, before: str | None, chat: Chat) -> AsyncIterator[bytes]:
    """Give a page of a thread's states, one after the other: together a long thread's would not fit into memory."""
    user, thread = row.user_id, row.thread_id
    if is_root(before, thread):
        return
    snapshots = chat.runner.history(user, thread, metadata=query.metadata, before=before, limit=query.limit)
    count, size = 0, 0
    async for snapshot in snapshots:
        state = encode(state_object(snapshot, thread))
        count += 1
        size += len(state)
        yield state
        del snapshot, state
        if size >= HISTORY_BYTES:
            return
    fits = (query.metadata or {}).items() <= ROOT_METADATA.items()
    if count < query.limit and fits and (count or await _has_begun(user, thread, chat)):
        yield encode(root_state(thread, row.created_at))


async def _has_begun(user: UserId, thread: ThreadId, chat: Chat) -> bool:
    return _is_stored(await chat.runner.reading(user).aget_state(config_of(thread)))


async def _as_json(first: bytes | None, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first is None:
        yield b"[]"
        return
    yield b"[" + first
    del first
    async for state in rest:
        yield b"," + state
    yield b"]"


def _is_stored(snapshot: Snapshot) -> bool:
    return snapshot.created_at is not None
