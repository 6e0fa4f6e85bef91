"""The route by which a client comes back to a run: what it missed, and then what comes."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Final, cast

from fastapi import Header, Query, Request, Response
from langchain_core.messages import BaseMessage
from starlette.responses import StreamingResponse

from functions.chat.run_journal import LAST_EVENTS
from functions.chat.run_requests import time_left
from functions.chat.run_streams import with_heartbeats
from functions.chat.runs import stream_headers
from functions.chat.wiring import Chat, InChat, InRun, InThread, User
from shared.adapters.langgraph_api.event_pages import EventReader
from shared.adapters.langgraph_api.event_texts import filled, has_base_marks, new_marks
from shared.adapters.langgraph_api.json_encoding import encode, message_text
from shared.adapters.langgraph_api.run_errors import error_data
from shared.adapters.langgraph_api.run_options import check_stream_modes
from shared.adapters.langgraph_api.sse import HEARTBEAT, MEDIA_TYPE, sse_event
from shared.domain.errors import InvalidInputError, NotFoundError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.graphs.runs.place import config_of
from shared.graphs.runs.state_messages import messages_in

_FAILED: Final = "RUN_FAILED"
_LOOK_AGAIN: Final = 1.0


async def join_run(
    thread: InThread,
    run: InRun,
    request: Request,
    user: User,
    chat: InChat,
    stream_mode: Annotated[
        list[str] | None, Query(description="Only events of these modes; repeated, with commas, or a JSON list.")
    ] = None,
    cancel_on_disconnect: Annotated[
        str | None, Query(description="Taken and without effect: nobody is told of a lost connection.")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(alias="Last-Event-ID", description="Only later events; all without it, or with -1.")
    ] = None,
) -> Response:
    """Stream what a run has sent and sends, from any point on."""
    after = _number(last_event_id)
    modes = _modes(stream_mode)
    await chat.follow.check(user, thread, run)
    events = _Events(chat, user, thread, run, modes).after(after)
    return StreamingResponse(
        with_heartbeats(events, HEARTBEAT, chat.heartbeat_seconds, limit=time_left(request)),
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **stream_headers(thread, run)},
    )


def _number(last_event_id: str | None) -> int:
    try:
        return max(0, int(last_event_id or 0))
    except ValueError:
        raise InvalidInputError("Last-Event-ID: The ids of events are numbers.") from None


def _modes(given: Sequence[str] | None) -> frozenset[str]:
    """Read stream modes in the ways that clients write lists; none means all."""
    modes: list[str] = []
    for one in given or ():
        try:
            read: Any = json.loads(one)
        except ValueError:
            read = one.split(",")
        modes += [str(mode).strip() for mode in cast("list[object]", read if isinstance(read, list) else [read])]
    # The SDK writes an empty list as an empty text.
    named = [mode for mode in modes if mode]
    check_stream_modes(named)
    return frozenset(named)


class _Events:
    """The events of a run as they are kept, with the messages that they hold."""

    def __init__(self, chat: Chat, user: UserId, thread: ThreadId, run: RunId, modes: frozenset[str]) -> None:
        self._chat = chat
        self._user = user
        self._thread = thread
        self._run = run
        self._modes = modes
        self._reader = EventReader()
        self._base: Sequence[BaseMessage] | None = None

    async def after(self, last: int) -> AsyncGenerator[bytes]:
        async for page in self._chat.follow.pages(self._user, self._thread, self._run):
            for event in self._reader.read(page.body, page.first):
                if event.number <= last:
                    continue
                last = event.number
                if self._is_wanted(event.name):
                    yield sse_event(event.name, await self._whole(event.text, page.base), event.number)
                if event.name in LAST_EVENTS:
                    return
        yield await self._the_end(last + 1)

    def _is_wanted(self, name: str) -> bool:
        kind = name.partition("|")[0]
        mode = {"messages": "messages-tuple"}.get(kind, kind.partition("/")[0])
        return not self._modes or mode in self._modes or kind in ("metadata", *LAST_EVENTS)

    async def _whole(self, text: bytes, base_id: str | None) -> bytes:
        if has_base_marks(text) and self._base is None:
            self._base = await self._messages(base_id)
        for number in new_marks(text):
            if number not in self._reader.messages:
                named = self._reader.elsewhere.get(number)
                self._reader.messages[number] = b"null" if named is None else await self._stored(named)
        return filled(text, self._base_text, self._reader.messages.__getitem__)

    def _base_text(self, number: int) -> bytes:
        return message_text(self._base[number]) if self._base and number < len(self._base) else b"null"

    async def _stored(self, message_id: str) -> bytes:
        """Give a message that is too large for a page, once the thread has it."""
        while True:
            goes_on = await self._chat.follow.goes_on(self._user, self._thread, self._run)
            found = [message for message in await self._messages(None) if message.id == message_id]
            if found:
                return message_text(found[0])
            if not goes_on:
                return b"null"
            await asyncio.sleep(_LOOK_AGAIN)

    async def _messages(self, checkpoint_id: str | None) -> Sequence[BaseMessage]:
        snapshot = await self._chat.runner.reading(self._user).aget_state(config_of(self._thread, checkpoint_id))
        return messages_in(snapshot.values)

    async def _the_end(self, number: int) -> bytes:
        """Give the end of a run whose events do not have it: it died, or they have expired."""
        try:
            status = (await self._chat.runs.get(self._user, self._thread, self._run)).status
        except NotFoundError:
            # It was undone.
            status = "interrupted"
        if status == "error":
            return sse_event("error", encode(error_data(_FAILED)), number)
        return sse_event("end", encode({"run_id": self._run, "status": status}), number)
