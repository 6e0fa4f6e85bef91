"""The memory API: parse, identify, call one service, reply."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Query, Request, Response
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware.cors import CORSMiddleware

from functions.memory_api.documents import DOCUMENT_ENDPOINTS, DOCUMENT_ERRORS, DOCUMENT_STATUS
from functions.memory_api.models import ErrorBody, KeyDeletedBody, ProfileBody, SummariesDeletedBody, ThreadsBody
from functions.memory_api.trace_models import TracesBody
from shared.adapters.http import MEMORY_API, claims_of, event_of, install_error_handlers, requesting_user
from shared.adapters.routes import CORS_EXPOSED_HEADERS, CORS_ORIGIN, routes_of
from shared.domain.errors import NotFoundError
from shared.domain.ids import ThreadId, UserId, thread_id_or_none
from shared.domain.profile import overlay_from_claims
from shared.services.manage_documents import ManageDocuments
from shared.services.manage_folders import ManageFolders
from shared.services.manage_memory import ManageMemory
from shared.services.manage_threads import ManageThreads
from shared.services.read_traces import ReadTraces

User = Annotated[UserId, Depends(requesting_user)]


class _AnyText(Convertor[str]):
    """A path parameter that may be anything, slashes and line ends too: what is no key is refused as a key (AP05).

    API Gateway hands the path on as it was sent, and Mangum decodes it, once.
    """

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def _memory(request: Request) -> ManageMemory:
    return request.app.state.memory


def _threads(request: Request) -> ManageThreads:
    return request.app.state.threads


def _traces(request: Request) -> ReadTraces:
    return request.app.state.traces


Memory = Annotated[ManageMemory, Depends(_memory)]
Threads = Annotated[ManageThreads, Depends(_threads)]
Traces = Annotated[ReadTraces, Depends(_traces)]


def _thread(thread_id: str) -> ThreadId:
    # What is no thread id names no thread: the same 404 as for a thread that is missing or somebody else's (AP13).
    thread = thread_id_or_none(thread_id)
    if thread is None:
        raise NotFoundError("There is no such thread.")
    return thread


async def show_profile(request: Request, user: User, memory: Memory) -> ProfileBody:
    """Show what is remembered of the user, and the summaries of their threads."""
    return ProfileBody.of(await memory.view(user, overlay_from_claims(claims_of(event_of(request)))))


async def forget_key(key: str, user: User, memory: Memory) -> KeyDeletedBody:
    """Delete one saved key of the profile."""
    return KeyDeletedBody(deleted_key=await memory.forget_key(user, key))


async def show_summaries(user: User, memory: Memory) -> ThreadsBody:
    """Show the summaries of every thread."""
    return ThreadsBody.of(await memory.passes(user))


async def forget_summaries(thread_id: str, user: User, memory: Memory) -> SummariesDeletedBody:
    """Delete every summary of a thread; the thread stays."""
    return SummariesDeletedBody(deleted_count=await memory.forget_thread(user, _thread(thread_id)))


async def show_spans(
    thread_id: str,
    user: User,
    traces: Traces,
    message_id: Annotated[
        str | None, Query(alias="messageId", description="Only runs that answer this human message.")
    ] = None,
) -> TracesBody:
    """Show what happened in the runs of a thread, step by step."""
    return TracesBody.of(await traces.of_thread(user, _thread(thread_id), message_id))


async def delete_thread(thread_id: str, user: User, threads: Threads) -> Response:
    """Delete a thread with everything it has."""
    await threads.delete(user, _thread(thread_id))
    return Response(status_code=204)


_ENDPOINTS: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("GET", "/api/memory/profile"): show_profile,
    ("DELETE", "/api/memory/profile/{key}"): forget_key,
    ("GET", "/api/memory/threads"): show_summaries,
    ("DELETE", "/api/memory/threads/{thread_id}"): forget_summaries,
    ("GET", "/api/memory/threads/{thread_id}/spans"): show_spans,
    ("DELETE", "/api/threads/{thread_id}"): delete_thread,
    **DOCUMENT_ENDPOINTS,
}

_ERRORS: Final[Mapping[Callable[..., Any], tuple[int, ...]]] = {
    show_profile: (401,),
    forget_key: (400, 401, 404, 409, 503),
    show_summaries: (401, 503),
    forget_summaries: (401, 404, 503),
    show_spans: (401, 404, 503),
    delete_thread: (401, 404, 503),
    **DOCUMENT_ERRORS,
}

_STATUS: Final[Mapping[Callable[..., Any], int]] = {delete_thread: 204, **DOCUMENT_STATUS}


def app_of(
    memory: ManageMemory,
    threads: ManageThreads,
    traces: ReadTraces,
    documents: ManageDocuments,
    folders: ManageFolders,
) -> FastAPI:
    """Make the app.

    Parameters
    ----------
    memory : ManageMemory
        Behind the memory routes.
    threads : ManageThreads
        Behind the deletion of threads.
    traces : ReadTraces
        Behind what happened in them.
    documents : ManageDocuments
        Behind the document routes.
    folders : ManageFolders
        Behind the folder routes.
    """
    app = routed_app()
    app.state.memory = memory
    app.state.threads = threads
    app.state.traces = traces
    app.state.documents = documents
    app.state.folders = folders
    return app


def routed_app() -> FastAPI:
    """Make the app without what is behind its routes, which is all that its OpenAPI document needs."""
    app = FastAPI(
        title="Everthread memory API",
        version="1",
        description="What is remembered of the user, and the user's documents: to see, to add to and to delete.",
        openapi_url=None,
        redirect_slashes=False,
    )
    register_url_convertor("any", _AnyText())
    for route in routes_of("memory_api"):
        endpoint = _ENDPOINTS[route.method, route.path]
        app.add_api_route(
            route.path.replace("{key}", "{key:any}"),
            endpoint,
            methods=[route.method],
            operation_id=endpoint.__name__,
            summary=endpoint.__doc__,
            status_code=_STATUS.get(endpoint, 200),
            responses={status: {"model": ErrorBody, "description": "Error"} for status in _ERRORS[endpoint]},
        )
    install_error_handlers(app, MEMORY_API)
    # Outermost, so that errors are told to browsers as well.
    app.add_middleware(CORSMiddleware, allow_origins=[CORS_ORIGIN], expose_headers=list(CORS_EXPOSED_HEADERS))
    return app
