"""The routes of a thread's states. The owner is checked before any checkpoint is read."""

from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response
from langchain_core.runnables import RunnableConfig
from starlette.responses import StreamingResponse

from functions.chat.wiring import Chat, InChat, InThread, User, json_reply
from shared.adapters.langgraph_api.bodies import MAX_PAGE, Checkpoint, HistoryQuery
from shared.adapters.langgraph_api.json_encoding import encode
from shared.adapters.langgraph_api.objects import Snapshot, state_object
from shared.domain.errors import InvalidInputError, NotFoundError
from shared.domain.ids import ThreadId, UserId

Subgraphs = Annotated[bool, Query(description="Whether to give the states of open subgraphs too.")]


async def get_state(thread: InThread, user: User, chat: InChat, subgraphs: Subgraphs = False) -> Response:
    """Give a thread's state; that of a thread in which nothing was said is empty."""
    await chat.threads.get(user, thread)
    snapshot = await chat.runner.reading(user).aget_state(_config(thread), subgraphs=subgraphs)
    state = state_object(snapshot, thread)
    return json_reply(state if _is_stored(snapshot) else {**state, "values": {}})


async def get_state_at(
    thread: InThread, checkpoint_id: UUID, user: User, chat: InChat, subgraphs: Subgraphs = False
) -> Response:
    """Give an earlier state of a thread."""
    await chat.threads.get(user, thread)
    config = _config(thread, str(checkpoint_id))
    snapshot = await chat.runner.reading(user).aget_state(config, subgraphs=subgraphs)
    if not _is_stored(snapshot):
        raise NotFoundError(f"Checkpoint {checkpoint_id} not found")
    return json_reply(state_object(snapshot, thread))


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
    await chat.threads.get(user, thread)
    before = query.before and query.before.checkpoint_id
    snapshots = chat.runner.reading(user).aget_state_history(
        _config(thread),
        filter=query.metadata,
        before=None if before is None else _config(thread, _checkpoint_id(before)),
        limit=query.limit,
    )
    # The first is read before the reply begins: what goes wrong there can still be told by a status.
    first = await anext(snapshots, None)
    return StreamingResponse(_as_json(thread, first, snapshots), media_type="application/json")


async def _as_json(thread: ThreadId, first: Snapshot | None, rest: AsyncIterator[Snapshot]) -> AsyncIterator[bytes]:
    """Give a list, state by state: a long thread's would not fit into memory."""
    if first is None:
        yield b"[]"
        return
    yield b"[" + encode(state_object(first, thread))
    async for snapshot in rest:
        yield b"," + encode(state_object(snapshot, thread))
    yield b"]"


def _config(thread: ThreadId, checkpoint_id: str | None = None) -> RunnableConfig:
    place: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ""}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}


def _checkpoint_id(value: str) -> str:
    try:
        return str(UUID(value))
    except ValueError:
        raise InvalidInputError("before: A checkpoint's id is a UUID.") from None


def _is_stored(snapshot: Snapshot) -> bool:
    return snapshot.created_at is not None
