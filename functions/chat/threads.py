"""The routes of threads as a whole."""

import uuid
from collections.abc import Sequence

from fastapi import Response

from functions.chat.wiring import GRAPH_ID, Chat, InChat, InThread, User, json_reply
from shared.adapters.langgraph_api.bodies import ThreadCount, ThreadCreate, ThreadPatch, ThreadSearch
from shared.adapters.langgraph_api.objects import ThreadMetadata, interrupts_of, thread_object, thread_query
from shared.domain.ids import parse_thread_id
from shared.domain.threads import DEFAULT_POLICY, ThreadRow
from shared.graphs.runs.place import config_of


async def create_thread(body: ThreadCreate, user: User, chat: InChat) -> Response:
    """Make a thread; one that exists is a conflict, or with `if_exists` "do_nothing" the answer."""
    thread = parse_thread_id(body.thread_id or str(uuid.uuid4()))
    given = ThreadMetadata.of(body.metadata)
    row = await chat.threads.create(
        user,
        thread,
        metadata=given.rest,
        title=given.title,
        policy=given.policy or DEFAULT_POLICY,
        if_exists=body.if_exists or "raise",
    )
    return _reply(row, chat)


async def get_thread(thread: InThread, user: User, chat: InChat) -> Response:
    """Give a thread; of one that waits for a person, what is asked."""
    row = await chat.threads.get(user, thread)
    given = thread_object(row, graph_id=GRAPH_ID, now=chat.clock.now())
    if given["status"] == "interrupted":
        given["interrupts"] = interrupts_of(await chat.runner.reading(user).aget_state(config_of(thread)))
    return json_reply(given)


async def update_thread(thread: InThread, body: ThreadPatch, user: User, chat: InChat) -> Response:
    """Merge metadata into a thread's, and rename it."""
    given = ThreadMetadata.of(body.metadata)
    row = await chat.threads.update(user, thread, metadata=given.rest, title=given.title, policy=given.policy)
    return _reply(row, chat)


async def copy_thread(thread: InThread, user: User, chat: InChat) -> Response:
    """Copy a thread with everything that was said in it."""
    return _reply(await chat.copies.copy(user, thread), chat)


async def delete_thread(thread: InThread, user: User, chat: InChat) -> Response:
    """Delete a thread with everything it has."""
    await chat.threads.delete(user, thread)
    return Response(status_code=204)


async def search_threads(body: ThreadSearch, user: User, chat: InChat) -> Response:
    """List threads, those with the newest message first."""
    query = thread_query(body, graph_id=GRAPH_ID)
    rows: Sequence[ThreadRow] = () if query is None else await chat.threads.search(user, query)
    now = chat.clock.now()
    threads = [thread_object(row, graph_id=GRAPH_ID, now=now) for row in rows]
    if body.select is not None:
        threads = [{field: thread[field] for field in body.select} for thread in threads]
    return json_reply(threads)


async def count_threads(body: ThreadCount, user: User, chat: InChat) -> Response:
    """Count threads."""
    query = thread_query(body, graph_id=GRAPH_ID)
    return json_reply(0 if query is None else await chat.threads.count(user, query))


def _reply(row: ThreadRow, chat: Chat) -> Response:
    return json_reply(thread_object(row, graph_id=GRAPH_ID, now=chat.clock.now()))
