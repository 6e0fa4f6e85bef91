"""Every route of the product, which function serves it, and how its reply travels.

The FastAPI apps register from this table and the API construct deploys from it: a streaming reply behind a
buffered integration is a 502, so the two must not disagree.
"""

from dataclasses import dataclass
from enum import StrEnum
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
    Route("POST", "/threads", "chat"),
    Route("POST", "/threads/search", "chat"),
    Route("POST", "/threads/count", "chat"),
    Route("GET", "/threads/{thread_id}", "chat"),
    Route("PATCH", "/threads/{thread_id}", "chat"),
    Route("DELETE", "/threads/{thread_id}", "chat"),
    Route("GET", "/threads/{thread_id}/state", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/state/{checkpoint_id}", "chat", TransferMode.STREAM),
    Route("GET", "/threads/{thread_id}/history", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/history", "chat", TransferMode.STREAM),
    Route("POST", "/threads/{thread_id}/runs/stream", "chat", TransferMode.STREAM),
    Route("GET", "/api/memory/profile", "memory_api"),
    Route("DELETE", "/api/memory/profile/{key}", "memory_api"),
    Route("GET", "/api/memory/threads", "memory_api"),
    Route("DELETE", "/api/memory/threads/{thread_id}", "memory_api"),
    Route("DELETE", "/api/threads/{thread_id}", "memory_api"),
)


def routes_of(function: FunctionName) -> tuple[Route, ...]:
    """Give the routes one function serves."""
    return tuple(route for route in ROUTES if route.function == function)
