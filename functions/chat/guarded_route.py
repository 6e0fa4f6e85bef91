"""What every route of the chat API checks before its own code runs: who asks, and whether the body is JSON."""

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Scope

from shared.adapters.http import requesting_user

MAX_DEPTH: Final = 64
"""Levels of nesting in a body: more than any client needs, less than any writer of JSON can take."""


class StrictJsonRequest(Request):
    """A request whose body is JSON as the standard has it.

    Python's own reader also takes NaN, infinities and halves of surrogate pairs, which no database and no model does.
    """

    async def json(self) -> Any:  # noqa: ANN401 - any JSON
        """Give the body's value.

        Raises
        ------
        json.JSONDecodeError
            When the body is no JSON, or nested too deep.
        """
        value = orjson.loads(await self.body())
        if _is_deeper(value, MAX_DEPTH):
            raise json.JSONDecodeError(f"nested more than {MAX_DEPTH} levels deep", "", 0)
        return value


def _is_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        members = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        members = cast("list[object]", value)
    else:
        return False
    return levels == 0 or any(_is_deeper(member, levels - 1) for member in members)


def _as_json(scope: Scope) -> Scope:
    """Call a body JSON whatever its client calls it: the passthrough of LangGraph's web interfaces says plain text.

    No page gains by it that could not ask anyway: a token is a header of its own, which makes browsers ask first.
    """
    named = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*named, (b"content-type", b"application/json")]}


def guarded_route(*, max_body_bytes: int) -> type[APIRoute]:
    """Make the class of the routes that need a token.

    Without one the answer is 401 before anything of the request is looked at.

    Parameters
    ----------
    max_body_bytes : int
        What a request may hold. Larger ones are answered 413 before they are read as JSON.
    """

    class GuardedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            answer = super().get_route_handler()

            async def guarded(request: Request) -> Response:
                requesting_user(request)
                strict = StrictJsonRequest(_as_json(request.scope), request.receive)
                size = len(await strict.body())
                if size > max_body_bytes:
                    raise HTTPException(413, f"The request holds {size} bytes; it may hold {max_body_bytes}.")
                return await answer(strict)

            return guarded

    return GuardedRoute
