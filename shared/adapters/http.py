"""Who asks, and what goes wrong, in HTTP's words: the one home of claims, statuses and error bodies.

Both FastAPI apps install these handlers. Nothing of an unexpected error reaches a client, and nothing a user said
reaches a log: a 500 is logged by its type and the places it passed through, never by its message.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.adapters.observability import where_raised
from shared.domain.errors import (
    ConflictError,
    EventAheadOfCheckpointError,
    EverthreadError,
    InvalidInputError,
    ItemTooLargeError,
    MemoryPatchError,
    MemorySizeError,
    MissingUserIdError,
    ModelError,
    ModelThrottledError,
    ModelTimeoutError,
    NotFoundError,
    SourceUnavailableError,
    StoreError,
)
from shared.domain.ids import UserId, require_user_id
from shared.domain.uploads import UploadTooLargeError

EVENT_SCOPE_KEY: Final = "aws.event"
"""Where Mangum and the streaming runner put the API Gateway event in the ASGI scope."""

UNAUTHORIZED: Final = "UNAUTHORIZED"

_INTERNAL_MESSAGE: Final = "Something went wrong on our side."
_UNAVAILABLE_MESSAGE: Final = "The service cannot answer at the moment; try again."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """How an API words its errors.

    Parameters
    ----------
    body : callable
        Makes the JSON body from a code and a message.
    invalid_input : int
        The status for input that does not fit.
    """

    body: Callable[[str, str], Mapping[str, str]]
    invalid_input: int


MEMORY_API: Final = ErrorStyle(body=lambda code, message: {"code": code, "message": message}, invalid_input=400)
"""``{"code", "message"}``, invalid input is a 400: the memory routes."""

LANGGRAPH_API: Final = ErrorStyle(body=lambda _code, message: {"detail": message}, invalid_input=422)
"""``{"detail"}``, invalid input is a 422: the routes that LangGraph's clients call."""

STATUS_OF: Final[Mapping[type[EverthreadError], int]] = {
    MissingUserIdError: 401,
    NotFoundError: 404,
    ConflictError: 409,
    ItemTooLargeError: 413,
    MemorySizeError: 413,
    UploadTooLargeError: 413,
    MemoryPatchError: 422,
    StoreError: 503,
    EventAheadOfCheckpointError: 503,
    ModelThrottledError: 503,
    ModelTimeoutError: 504,
    ModelError: 502,
    SourceUnavailableError: 502,
    EverthreadError: 500,
}
"""Error class to status; the nearest class in an error's line of descent counts.

``InvalidInputError`` is not here: its status is the style's.
"""

_HTTP_CODES: Final = {
    400: "BAD_REQUEST",
    401: UNAUTHORIZED,
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "BODY_TOO_LARGE",
    422: "BAD_REQUEST",
}


def claims_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the claims of the token that API Gateway verified; empty when there are none.

    Parameters
    ----------
    event : mapping
        A REST API proxy event. Only ``requestContext.authorizer.claims`` is looked at: headers and bodies are the
        client's to forge.
    """
    here: object = event
    for key in ("requestContext", "authorizer", "claims"):
        here = cast("Mapping[str, object]", here).get(key) if isinstance(here, Mapping) else None
    return cast("Mapping[str, Any]", here) if isinstance(here, Mapping) else {}


def user_of(event: Mapping[str, Any]) -> UserId:
    """Give the user that the verified token names.

    Raises
    ------
    MissingUserIdError
        When there is no verified token, or its subject is no legal user id. A 401.
    """
    return require_user_id(claims_of(event).get("sub"))


def event_of(request: Request) -> Mapping[str, Any]:
    """Give the API Gateway event a request came as; empty when it did not come through API Gateway."""
    event = request.scope.get(EVENT_SCOPE_KEY)
    return cast("Mapping[str, Any]", event) if isinstance(event, Mapping) else {}


def requesting_user(request: Request) -> UserId:
    """Give the user behind a request; made to be a FastAPI dependency.

    Raises
    ------
    MissingUserIdError
        As :func:`user_of`.
    """
    return user_of(event_of(request))


def status_of(error: EverthreadError, style: ErrorStyle) -> int:
    """Give the status an error is answered with."""
    if isinstance(error, InvalidInputError):
        return style.invalid_input
    return next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF)


def install_error_handlers(app: FastAPI, style: ErrorStyle) -> None:
    """Answer every error of an app in one style.

    Parameters
    ----------
    app : FastAPI
        The app, before its first request.
    style : ErrorStyle
        :data:`MEMORY_API` or :data:`LANGGRAPH_API`.
    """

    def reply(
        status: int,
        code: str,
        message: str,
        *,
        retry_after: int | None = None,
        details: Mapping[str, int] | None = None,
    ) -> JSONResponse:
        headers = None if retry_after is None else {"Retry-After": str(retry_after)}
        return JSONResponse({**style.body(code, message), **(details or {})}, status, headers)

    def on_own_error(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, EverthreadError)  # noqa: S101 - registered for this class only
        status = status_of(error, style)
        retry_after = error.retry_after if error.retryable else None
        if status == 401:
            return reply(status, UNAUTHORIZED, "Unauthorized")
        if status < 500:
            return reply(status, error.code, str(error), retry_after=retry_after, details=error.details)
        _log.error("request failed", extra={"status": status, "code": error.code, "error": type(error).__name__})
        message = _UNAVAILABLE_MESSAGE if error.retryable else _INTERNAL_MESSAGE
        return reply(status, error.code, message, retry_after=retry_after)

    def on_validation_error(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
        return reply(style.invalid_input, "BAD_REQUEST", describe_validation_error(error))

    def on_http_exception(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
        code = _HTTP_CODES.get(error.status_code, "INTERNAL" if error.status_code >= 500 else "BAD_REQUEST")
        answer = reply(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    app.add_exception_handler(EverthreadError, on_own_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)
    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_middleware(_UnexpectedErrors, reply=lambda: reply(500, "INTERNAL", _INTERNAL_MESSAGE))


def describe_validation_error(error: RequestValidationError) -> str:
    """Say where a request does not fit and why, without repeating what it held."""
    problems = cast("list[dict[str, Any]]", error.errors())
    return "; ".join(dict.fromkeys(_line(problem) for problem in problems))


def _line(problem: Mapping[str, Any]) -> str:
    if problem["type"] == "json_invalid":
        return f"body: The body is no JSON: {problem['ctx']['error']}"
    return f"{'.'.join(str(part) for part in problem['loc']) or 'request'}: {problem['msg']}"


class _UnexpectedErrors:
    """Answer 500 to what nobody foresaw.

    Starlette's own middleware raises the error again after its answer, message and all, for the server to log.
    Here the error ends, unless the reply had begun: then it goes on, so that the reply is cut short visibly.
    """

    def __init__(self, app: ASGIApp, reply: Callable[[], JSONResponse]) -> None:
        self._app = app
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            _log.error(  # noqa: TRY400, RUF100 - with the traceback would go the message
                "unexpected error",
                extra={"error": type(error).__name__, "where": where_raised(error), "reply_started": started},
            )
            if started:
                raise
            await self._reply()(scope, receive, send)
