"""The routes of runs as things that are known of, and stopped."""

from typing import Annotated, Literal

from fastapi import Query, Response

from functions.chat.wiring import GRAPH_ID, InChat, InRun, InThread, User, json_reply
from shared.adapters.langgraph_api.bodies import MAX_PAGE, RunField, RunStatusName
from shared.adapters.langgraph_api.objects import run_object


async def list_runs(
    thread: InThread,
    user: User,
    chat: InChat,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_PAGE)] = 0,
    status: RunStatusName | None = None,
    select: Annotated[list[RunField] | None, Query(description="Only these fields of each run.")] = None,
) -> Response:
    """List a thread's runs, the newest first."""
    # A run has its thread or has not begun: none waits here.
    rows = (
        () if status == "pending" else await chat.runs.search(user, thread, limit=limit, offset=offset, status=status)
    )
    runs = [run_object(row, graph_id=GRAPH_ID) for row in rows]
    if select is not None:
        runs = [{field: run[field] for field in select} for run in runs]
    return json_reply(runs)


async def get_run(thread: InThread, run: InRun, user: User, chat: InChat) -> Response:
    """Give a run."""
    return json_reply(run_object(await chat.runs.get(user, thread, run), graph_id=GRAPH_ID))


async def cancel_run(
    thread: InThread,
    run: InRun,
    user: User,
    chat: InChat,
    wait: Annotated[
        bool, Query(description="Whether to answer when the run has stopped, after 20 seconds at most.")
    ] = False,
    action: Annotated[
        Literal["interrupt", "rollback"], Query(description="rollback: also remove what the run has stored.")
    ] = "interrupt",
) -> Response:
    """Stop a run. What it said of its answer is kept."""
    await chat.runs.cancel(user, thread, run, rollback=action == "rollback", wait=wait)
    return json_reply({}, status=202)
