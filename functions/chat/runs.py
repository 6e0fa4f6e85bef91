"""The routes that run the graph: a request is understood, checked, and run; what comes out is streamed."""

from fastapi import Request, Response
from starlette.responses import StreamingResponse

from functions.chat.run_journal import RunJournal
from functions.chat.run_requests import modes_of, run_request, stateless_request, time_left
from functions.chat.run_streams import KEEP_ALIVE, AnyRun, final_values, to_the_end, with_heartbeats
from functions.chat.wiring import Account, Chat, InChat, InThread, User
from shared.adapters.langgraph_api.bodies import RunCreate
from shared.adapters.langgraph_api.sse import HEARTBEAT, MEDIA_TYPE
from shared.domain.ids import RunId, ThreadId


async def stream_run(
    thread: InThread, body: RunCreate, request: Request, user: User, account: Account, chat: InChat
) -> Response:
    """Run the graph in a thread and stream what it does."""
    asked = run_request(body, user, thread, account, nodes=chat.runner.nodes, time_limit=time_left(request))
    journal = RunJournal(asked.run, thread, modes_of(body))
    run = await chat.runner.start(asked, journal)
    return _streamed(run, journal, chat, stream_headers(thread, asked.run))


async def wait_for_run(
    thread: InThread, body: RunCreate, request: Request, user: User, account: Account, chat: InChat
) -> Response:
    """Run the graph in a thread and give the state it ends with; of a run that failed, `{"__error__": {…}}`."""
    body = body.model_copy(update={"stream_mode": ["values"], "stream_subgraphs": None})
    asked = run_request(body, user, thread, account, nodes=chat.runner.nodes, time_limit=time_left(request))
    run = await chat.runner.start(asked, RunJournal(asked.run, thread, modes_of(body)))
    return _awaited(run, chat, {"Content-Location": f"/threads/{thread}/runs/{asked.run}"})


async def stream_stateless_run(
    body: RunCreate, request: Request, user: User, account: Account, chat: InChat
) -> Response:
    """Run the graph on a whole conversation and stream what it does; nothing is kept."""
    asked = stateless_request(body, user, account, nodes=chat.runner.nodes, time_limit=time_left(request))
    journal = RunJournal(asked.run, None, modes_of(body))
    run = await chat.runner.start_stateless(asked, journal)
    return _streamed(run, journal, chat, {"Content-Location": f"/runs/{asked.run}"})


async def wait_for_stateless_run(
    body: RunCreate, request: Request, user: User, account: Account, chat: InChat
) -> Response:
    """Run the graph on a whole conversation and give the state it ends with; nothing is kept."""
    body = body.model_copy(update={"stream_mode": ["values"], "stream_subgraphs": None})
    asked = stateless_request(body, user, account, nodes=chat.runner.nodes, time_limit=time_left(request))
    return _awaited(await chat.runner.start_stateless(asked), chat, {"Content-Location": f"/runs/{asked.run}"})


def stream_headers(thread: ThreadId, run: RunId) -> dict[str, str]:
    """Give the headers by which clients find a run's stream again: paths only, the API's stage is not ours to know."""
    place = f"/threads/{thread}/runs/{run}"
    return {"Content-Location": place, "Location": f"{place}/stream"}


def _streamed(run: AnyRun, journal: RunJournal, chat: Chat, headers: dict[str, str]) -> Response:
    parts = with_heartbeats(journal.sent(), HEARTBEAT, chat.heartbeat_seconds)
    return StreamingResponse(
        to_the_end(run, parts), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store", **headers}
    )


def _awaited(run: AnyRun, chat: Chat, headers: dict[str, str]) -> Response:
    parts = with_heartbeats(final_values(run), KEEP_ALIVE, chat.heartbeat_seconds)
    return StreamingResponse(
        to_the_end(run, parts), media_type="application/json", headers={"Cache-Control": "no-store", **headers}
    )
