"""The routes of threads as a whole."""

import uuid
from collections.abc import Sequence

from fastapi import Response

from functions.chat.wiring import GRAPH_ID, Chat, InChat, InThread, User, json_reply
from shared.adapters.langgraph_api.bodies import ThreadCount, ThreadCreate, ThreadPatch, ThreadSearch
from shared.adapters.langgraph_api.objects import split_title, thread_object, thread_query
from shared.domain.errors import InvalidInputError
from shared.domain.ids import parse_thread_id
from shared.domain.threads import ThreadRow


async def create_thread(body: ThreadCreate, user: User, chat: InChat) -> Response:
    """Make a thread; one that exists is a conflict, or with `if_exists` "do_nothing" the answer."""
    thread = parse_thread_id(body.thread_id or str(uuid.uuid4()))
    metadata, title = split_title(body.metadata)
    row = await chat.threads.create(
        user, thread, metadata=metadata, title=_as_title(title), if_exists=body.if_exists or "raise"
    )
    return _reply(row, chat)


async def get_thread(thread: InThread, user: User, chat: InChat) -> Response:
    """Give a thread."""
    return _reply(await chat.threads.get(user, thread), chat)


async def update_thread(thread: InThread, body: ThreadPatch, user: User, chat: InChat) -> Response:
    """Merge metadata into a thread's, and rename it."""
    metadata, title = split_title(body.metadata)
    return _reply(await chat.threads.update(user, thread, metadata=metadata, title=_as_title(title)), chat)


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


def _as_title(title: object) -> str | None:
    if title is not None and not isinstance(title, str):
        raise InvalidInputError("metadata.title: A title is a text.")
    return title
