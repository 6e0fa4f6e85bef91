"""What the chat API's routes work with, as the composition root put it together."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request, Response

from shared.adapters.http import claims_of, event_of, requesting_user
from shared.adapters.langgraph_api.json_encoding import encode
from shared.domain.ids import RunId, ThreadId, UserId, parse_run_id, parse_thread_id
from shared.domain.profile import AccountOverlay, overlay_from_claims
from shared.graphs.ids import AGENT
from shared.graphs.runs.runner import GraphRunner
from shared.ports import Clock
from shared.services.copy_thread import CopyThread
from shared.services.follow_run import FollowRun
from shared.services.manage_runs import ManageRuns
from shared.services.manage_threads import ManageThreads

GRAPH_ID: Final = AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Behind the routes.

    Parameters
    ----------
    threads : ManageThreads
        Threads as a whole.
    copies : CopyThread
        Copies of them.
    runs : ManageRuns
        Runs as things that are known of.
    follow : FollowRun
        Their events, for who comes back.
    runner : GraphRunner
        Runs, and the reading of states.
    clock : Clock
        Tells whether a lease has ended.
    heartbeat_seconds : float
        How often a stream shows that it is alive.
    """

    threads: ManageThreads
    copies: CopyThread
    runs: ManageRuns
    follow: FollowRun
    runner: GraphRunner
    clock: Clock
    heartbeat_seconds: float


def _chat(request: Request) -> Chat:
    return request.app.state.chat


def _account(request: Request) -> AccountOverlay:
    return overlay_from_claims(claims_of(event_of(request)))


def _thread(thread_id: str) -> ThreadId:
    return parse_thread_id(thread_id)


def _run(run_id: str) -> RunId:
    return parse_run_id(run_id)


InChat = Annotated[Chat, Depends(_chat)]
User = Annotated[UserId, Depends(requesting_user)]
Account = Annotated[AccountOverlay, Depends(_account)]
InThread = Annotated[ThreadId, Depends(_thread)]
InRun = Annotated[RunId, Depends(_run)]


def json_reply(value: object, *, status: int = 200) -> Response:
    """Give a reply of JSON."""
    return Response(encode(value), status, media_type="application/json")
