"""The route of AG-UI clients: a run as every other, told in their protocol's events."""

import uuid
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.utils.uuid import uuid7
from starlette.responses import StreamingResponse

from functions.chat.run_journal import RunJournal
from functions.chat.run_requests import time_left, without_files
from functions.chat.run_streams import to_the_end, with_heartbeats
from functions.chat.runs import stream_headers
from functions.chat.wiring import Account, Chat, InChat, User
from shared.adapters.langgraph_api.sse import HEARTBEAT, MEDIA_TYPE
from shared.domain.errors import InvalidInputError
from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.root_checkpoint import root_checkpoint_id
from shared.domain.threads import checked_metadata
from shared.domain.turns import is_answered, turns_of
from shared.graphs.runs.place import config_of
from shared.graphs.runs.request import ResumeCommand, RunRequest
from shared.graphs.runs.run import Run
from shared.graphs.runs.state_messages import messages_in
from shared.graphs.runs.stream import Ended, Failed, Streamed
from shared.graphs.runs.turn_input import fuller

RUN_OF_THE_CLIENT: Final = "agui_run_id"
"""Where a run's metadata say what the client calls it: any text, so it cannot be the run's id."""

_JOURNAL_MODES: Final = ("values", "updates", "messages-tuple")

if TYPE_CHECKING:
    from shared.adapters.agui.events import AguiEvents
    from shared.adapters.agui.inputs import AguiInput


async def run_agui(request: Request, user: User, account: Account, chat: InChat) -> Response:
    """Run the graph in a thread for an AG-UI client; a missing thread is made."""
    # The protocol's models are an eighth of what the whole function loads, and most processes never need them.
    from shared.adapters.agui.events import GRAPH_MODES, AguiEvents
    from shared.adapters.agui.inputs import read_input

    try:
        body = await request.json()
    except ValueError:
        raise InvalidInputError("body: This is no JSON.") from None
    given = read_input(body, new_id=lambda: str(uuid.uuid4()))
    asked = RunRequest(
        user=user,
        thread=given.thread,
        run=RunId(str(uuid7())),
        account=account,
        modes=GRAPH_MODES,
        metadata=checked_metadata({RUN_OF_THE_CLIENT: given.run}),
        time_limit=time_left(request),
        create=True,
        strict_resume=True,
    )
    # Who comes back follows the run as every other, by the id it has here: the protocol has no way to.
    journal = RunJournal(asked.run, asked.thread, _JOURNAL_MODES)
    run = await chat.runner.start(await _with_what_is_new(asked, given, chat), journal)
    events = AguiEvents(given.thread, given.run, [message.id for message in given.messages if message.id])
    parts = with_heartbeats(_told(run, events), HEARTBEAT, chat.heartbeat_seconds)
    headers = {"Cache-Control": "no-store", **stream_headers(asked.thread, asked.run)}
    return StreamingResponse(to_the_end(run, parts), media_type=MEDIA_TYPE, headers=headers)


async def _told(run: Run, events: "AguiEvents") -> AsyncGenerator[bytes]:
    from shared.adapters.agui.events import sse_of

    yield sse_of(events.started())
    has_failed = False
    async for output in run.outputs():
        match output:
            case Streamed(mode, data, _):
                told = events.of(mode, data)
            case Failed(code):
                has_failed = True
                told = events.failed(code)
            case Ended(status):
                # An error is the last that is heard of a run that failed.
                told = () if has_failed else events.ended(status)
        for event in told:
            yield sse_of(event)


async def _with_what_is_new(asked: RunRequest, given: "AguiInput", chat: Chat) -> RunRequest:
    """Find out what a client wants that always sends the whole conversation.

    Raises
    ------
    InvalidInputError
        When there is nothing to do.
    """
    known = await _messages(chat, asked.user, asked.thread)
    there = {message.id for message in known}
    # Only a thread in which nothing was said takes answers from a client. In others, those that it does not have are of
    # an agent that was stopped or asked something, and are stored with the turn or not at all.
    new = [
        message
        for message in given.messages
        if message.id not in there and (not known or isinstance(message, HumanMessage))
    ]
    if given.resume is not None:
        if new:
            raise InvalidInputError("resume: An answer and new messages exclude each other.")
        without_files(given.resume, "resume")
        return replace(asked, command=ResumeCommand(resume=given.resume, has_resume=True))
    if new:
        if isinstance(new[-1], AIMessage):
            raise InvalidInputError("messages: The last message is an answer already.")
        return replace(asked, messages=new)
    last = given.messages[-1] if given.messages else None
    if not isinstance(last, HumanMessage):
        raise InvalidInputError("messages: There is no new message.")
    return await _with_what_is_known(asked, last, known, chat)


async def _with_what_is_known(
    asked: RunRequest, last: HumanMessage, known: Sequence[AnyMessage], chat: Chat
) -> RunRequest:
    """Ask once more what the thread has: as it has it, for clients are shown it in less detail."""
    from shared.adapters.agui.messages import with_files_of

    stored = next(message for message in known if message.id == last.id)
    if not isinstance(stored, HumanMessage):
        return replace(asked, messages=[last])
    question = fuller(stored, with_files_of(stored, last))
    if not any(turn.message_id == last.id and is_answered(turn) for turn in turns_of(known)):
        return replace(asked, messages=[question])
    # A question that has its answer is sent once more for another one.
    checkpoint, there = await _before(chat, asked.user, asked.thread, last.id)
    with_it = [message for message in known[: known.index(stored)] if isinstance(message, HumanMessage)]
    together = [message for message in with_it if message.id not in there]
    return replace(asked, messages=[*together, question], checkpoint_id=checkpoint)


async def _messages(chat: Chat, user: UserId, thread: ThreadId) -> Sequence[AnyMessage]:
    snapshot = await chat.runner.reading(user).aget_state(config_of(thread))
    return messages_in(snapshot.values)


async def _before(
    chat: Chat, user: UserId, thread: ThreadId, message_id: str | None
) -> tuple[str, Collection[str | None]]:
    """Give the checkpoint that a message came after, and what is there; the thread's root when it is the first."""
    graph = chat.runner.reading(user)
    snapshot = await graph.aget_state(config_of(thread))
    while snapshot.parent_config is not None:
        snapshot = await graph.aget_state(snapshot.parent_config)
        there = {message.id for message in messages_in(snapshot.values)}
        if message_id not in there:
            return str(snapshot.config.get("configurable", {}).get("checkpoint_id")), there
    return root_checkpoint_id(thread), ()
