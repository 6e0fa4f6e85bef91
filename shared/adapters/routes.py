"""Every route of the product, which function serves it, and how its reply travels.

The FastAPI apps register from this table and the API construct deploys from it: a streaming reply behind a
buffered integration is a 502, so the two must not disagree.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final, Literal


class TransferMode(StrEnum):
    """How API Gateway passes a reply on.

    ``STREAM`` takes replies of any size up to 15 minutes; ``BUFFERED`` replies end at 6 MB, and it is the only
    mode in which an empty body (204) does not hang.
    """

    STREAM = "STREAM"
    BUFFERED = "BUFFERED"


FunctionName = Literal["chat", "memory_api"]


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path.

    Parameters
    ----------
    method : str
        Upper case.
    path : str
        As API Gateway and FastAPI both write it, with ``{name}`` for parameters.
    function : {'chat', 'memory_api'}
        Which function answers.
    mode : TransferMode
        How the reply travels.
    public : bool
        Whether it answers without a token.
    """

    method: str
    path: str
    function: FunctionName
    mode: TransferMode = TransferMode.BUFFERED
    public: bool = False


ROUTES: Final = (
    Route("GET", "/ok", "chat", public=True),
    Route("GET", "/info", "chat", public=True),
    Route("POST", "/assistants/search", "chat"),
    Route("GET", "/assistants/{assistant_id}", "chat"),
    Route("GET", "/assistants/{assistant_id}/schemas", "chat"),
    Route("GET", "/assistants/{assistant_id}/graph", "chat"),
    Route("POST", "/threads", "chat"),
    Route("POST", "/threads/search", "chat"),
    Route("POST", "/threads/count", "chat"),
    Route("GET", "/threads/{thread_id}", "chat"),
    Route("PATCH", "/threads/{thread_id}", "chat"),
    Route("DELETE", "/threads/{thread_id}", "chat"),
    Route("POST", "/threads/{thread_id}/copy", "chat"),
    Route("GET", "/threads/{thread_id}/state", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/state", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/state/checkpoint", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/state/{checkpoint_id}", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/history", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/history", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/runs", "chat"),
    Route("POST", "/threads/{thread_id}/runs/stream", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/runs/wait", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/runs/{run_id}", "chat"),
    Route("GET", "/threads/{thread_id}/runs/{run_id}/stream", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/runs/{run_id}/cancel", "chat"),
    Route("POST", "/runs/stream", "chat", TransferMode.STREAM),
    Route("POST", "/runs/wait", "chat", TransferMode.STREAM),
    Route("POST", "/agui", "chat", TransferMode.STREAM),
    Route("GET", "/api/memory/profile", "memory_api"),
    Route("DELETE", "/api/memory/profile/{key}", "memory_api"),
    Route("GET", "/api/memory/threads", "memory_api"),
    Route("DELETE", "/api/memory/threads/{thread_id}", "memory_api"),
    Route("GET", "/api/memory/threads/{thread_id}/spans", "memory_api"),
    Route("DELETE", "/api/threads/{thread_id}", "memory_api"),
    Route("POST", "/api/kb/documents", "memory_api"),
    Route("GET", "/api/kb/documents", "memory_api"),
    Route("GET", "/api/kb/documents/{document_id}", "memory_api"),
    Route("DELETE", "/api/kb/documents/{document_id}", "memory_api"),
    Route("POST", "/api/kb/documents/{document_id}/reprocess", "memory_api"),
    Route("GET", "/api/kb/documents/{document_id}/runs", "memory_api"),
    Route("GET", "/api/kb/folders", "memory_api"),
    Route("POST", "/api/kb/folders", "memory_api"),
    Route("PATCH", "/api/kb/folders/{folder_id}", "memory_api"),
    Route("DELETE", "/api/kb/folders/{folder_id}", "memory_api"),
)


def routes_of(function: FunctionName) -> tuple[Route, ...]:
    """Give the routes one function serves."""
    return tuple(route for route in ROUTES if route.function == function)


# A token travels in a header that the page sets itself, never in a cookie: a page of any origin may ask.
CORS_ORIGIN: Final = "*"
CORS_REQUEST_HEADERS: Final = ("Authorization", "Content-Type", "Last-Event-ID", "X-Api-Key")
CORS_EXPOSED_HEADERS: Final = ("Content-Location", "Location", "Retry-After")
"""What browsers must be told about every reply: API Gateway says it in its own, the apps in theirs."""


def find_route(method: str, path: str) -> Route | None:
    """Give the route that answers a method on a path; ``None`` when there is none.

    Parameters
    ----------
    method : str
        Upper case.
    path : str
        A request's path, or the template of a route (API Gateway's ``resource``). Where both a fixed and a variable
        part fit, the fixed one counts.
    """
    found = [route for route in ROUTES if route.method == method and _pattern(route.path).fullmatch(path)]
    return min(found, key=lambda route: route.path.count("{"), default=None)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in template.split("/")))
