"""The chat API: parse, identify, call one service or the graph, reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Response
from starlette.middleware.cors import CORSMiddleware

from functions.chat import agui, assistants, joins, run_registry, runs, states, threads
from functions.chat.guarded_route import guarded_route
from functions.chat.wiring import Chat, json_reply
from shared.adapters.http import LANGGRAPH_API, install_error_handlers
from shared.adapters.langgraph_api import replies
from shared.adapters.routes import CORS_EXPOSED_HEADERS, CORS_ORIGIN, routes_of

VERSION: Final = "0.1.0"


async def ok() -> Response:
    """Say that the service is there."""
    return json_reply({"ok": True})


async def info() -> Response:
    """Say what this server can do."""
    return json_reply({"version": VERSION, "flags": {"assistants": True, "crons": False, "langsmith": False}})


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """What answers a route, and how that is documented."""

    answer: Callable[..., Any]
    reply: Any
    errors: tuple[int, ...] = ()
    status: int = 200
    media_type: str = "application/json"


_READ: Final = (401, 404, 422, 503)
_RUN: Final = (401, 404, 409, 413, 422, 503)
_STATELESS: Final = (401, 413, 422, 503)
_EVENTS: Final = "text/event-stream"
_ENDPOINTS: Final[Mapping[tuple[str, str], _Endpoint]] = {
    ("GET", "/ok"): _Endpoint(ok, replies.OkReply),
    ("GET", "/info"): _Endpoint(info, replies.InfoReply),
    ("POST", "/assistants/search"): _Endpoint(
        assistants.search_assistants, list[replies.SomeOfAnAssistantReply], (401, 413, 422)
    ),
    ("GET", "/assistants/{assistant_id}"): _Endpoint(assistants.get_assistant, replies.AssistantReply, (401, 404)),
    ("GET", "/assistants/{assistant_id}/schemas"): _Endpoint(
        assistants.get_assistant_schemas, replies.SchemasReply, (401, 404)
    ),
    ("GET", "/assistants/{assistant_id}/graph"): _Endpoint(
        assistants.get_assistant_graph, replies.GraphReply, (401, 404, 422)
    ),
    ("POST", "/threads"): _Endpoint(threads.create_thread, replies.ThreadReply, (401, 409, 413, 422, 503)),
    ("POST", "/threads/search"): _Endpoint(
        threads.search_threads, list[replies.SomeOfAThreadReply], (401, 413, 422, 503)
    ),
    ("POST", "/threads/count"): _Endpoint(threads.count_threads, replies.CountReply, (401, 413, 422, 503)),
    ("GET", "/threads/{thread_id}"): _Endpoint(threads.get_thread, replies.ThreadReply, _READ),
    ("PATCH", "/threads/{thread_id}"): _Endpoint(threads.update_thread, replies.ThreadReply, (*_READ, 413)),
    ("DELETE", "/threads/{thread_id}"): _Endpoint(threads.delete_thread, None, _READ, status=204),
    ("POST", "/threads/{thread_id}/copy"): _Endpoint(threads.copy_thread, replies.ThreadReply, _READ),
    ("GET", "/threads/{thread_id}/state"): _Endpoint(states.get_state, replies.StateReply, _READ),
    ("POST", "/threads/{thread_id}/state"): _Endpoint(states.update_state, replies.ChangedReply, _RUN),
    ("POST", "/threads/{thread_id}/state/checkpoint"): _Endpoint(
        states.post_state_at, replies.StateReply, (*_READ, 413)
    ),
    ("GET", "/threads/{thread_id}/state/{checkpoint_id}"): _Endpoint(states.get_state_at, replies.StateReply, _READ),
    ("GET", "/threads/{thread_id}/history"): _Endpoint(states.get_history, list[replies.StateReply], _READ),
    ("POST", "/threads/{thread_id}/history"): _Endpoint(states.post_history, list[replies.StateReply], (*_READ, 413)),
    ("GET", "/threads/{thread_id}/runs"): _Endpoint(run_registry.list_runs, list[replies.SomeOfARunReply], _READ),
    ("POST", "/threads/{thread_id}/runs/stream"): _Endpoint(
        runs.stream_run, replies.EventReply, _RUN, media_type=_EVENTS
    ),
    ("POST", "/threads/{thread_id}/runs/wait"): _Endpoint(runs.wait_for_run, replies.FinalReply, _RUN),
    ("GET", "/threads/{thread_id}/runs/{run_id}"): _Endpoint(run_registry.get_run, replies.RunReply, _READ),
    ("GET", "/threads/{thread_id}/runs/{run_id}/stream"): _Endpoint(
        joins.join_run, replies.EventReply, _READ, media_type=_EVENTS
    ),
    ("POST", "/threads/{thread_id}/runs/{run_id}/cancel"): _Endpoint(
        run_registry.cancel_run, replies.NothingReply, _READ, status=202
    ),
    ("POST", "/runs/stream"): _Endpoint(runs.stream_stateless_run, replies.EventReply, _STATELESS, media_type=_EVENTS),
    ("POST", "/runs/wait"): _Endpoint(runs.wait_for_stateless_run, replies.FinalReply, _STATELESS),
    ("POST", "/agui"): _Endpoint(agui.run_agui, replies.UnnamedEventReply, _RUN, media_type=_EVENTS),
}


def app_of(chat: Chat, *, max_body_bytes: int) -> FastAPI:
    """Make the app.

    Parameters
    ----------
    chat : Chat
        What its routes work with.
    max_body_bytes : int
        What a request may hold.
    """
    app = routed_app(max_body_bytes=max_body_bytes)
    app.state.chat = chat
    return app


def routed_app(*, max_body_bytes: int = 5_500_000) -> FastAPI:
    """Make the app without what is behind its routes, which is all that its OpenAPI document needs."""
    app = FastAPI(
        title="Everthread chat API",
        version=VERSION,
        description="Threads and runs, as the clients of the LangGraph Server API speak.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    guarded = APIRouter(route_class=guarded_route(max_body_bytes=max_body_bytes), redirect_slashes=False)
    public = APIRouter(redirect_slashes=False)
    for route in routes_of("chat"):
        endpoint = _ENDPOINTS[route.method, route.path]
        (public if route.public else guarded).add_api_route(
            route.path,
            endpoint.answer,
            methods=[route.method],
            operation_id=endpoint.answer.__name__,
            status_code=endpoint.status,
            response_model=None,
            responses=_documented(endpoint),
        )
    app.include_router(public)
    app.include_router(guarded)
    install_error_handlers(app, LANGGRAPH_API)
    # Outermost, so that errors are told to browsers as well.
    app.add_middleware(CORSMiddleware, allow_origins=[CORS_ORIGIN], expose_headers=list(CORS_EXPOSED_HEADERS))
    return app


def _documented(endpoint: _Endpoint) -> dict[int | str, dict[str, Any]]:
    error = {"model": replies.ErrorReply, "description": "Error"}
    documented: dict[int | str, dict[str, Any]] = dict.fromkeys(endpoint.errors, error)
    if endpoint.media_type != "application/json":
        documented[endpoint.status] = {
            "description": "Server-sent events, each as the schema has it",
            "content": {endpoint.media_type: {"schema": endpoint.reply.model_json_schema()}},
        }
    elif endpoint.reply is not None:
        documented[endpoint.status] = {"model": endpoint.reply, "description": "Success"}
    return documented
