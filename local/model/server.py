"""The HTTP side of the local model: paths, statuses and headers of the Bedrock Runtime."""

import json
from collections.abc import AsyncIterator
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from local.model.embeddings import EMBEDDING_MODEL, invoke_embedding
from local.model.eventstream import CONTENT_TYPE
from local.model.prompt_cache import PromptCache
from local.model.reply import ModelFailure, Part, Source
from local.model.request import ConverseRequest, InvalidRequestError, parse_request
from local.model.wire import STATUS_OF, Meter, converse, converse_stream


def model_app(source: Source, *, control: list[BaseRoute] | None = None) -> Starlette:
    """Build the server of a source.

    Parameters
    ----------
    source : Source
        What answers.
    control : list of BaseRoute, optional
        Routes beside Bedrock's own, by which tests steer the source.

    Returns
    -------
    Starlette
        Serves ``/model/{id}/converse``, ``/model/{id}/converse-stream`` and ``/model/{id}/invoke``.
    """
    endpoint = _Endpoint(source)
    return Starlette(
        routes=[
            embedding_route(),
            Route("/model/{model_id:path}/converse", endpoint.converse, methods=["POST"]),
            Route("/model/{model_id:path}/converse-stream", endpoint.converse_stream, methods=["POST"]),
            Route("/model/{model_id:path}/invoke", endpoint.invoke, methods=["POST"]),
            *(control or []),
        ]
    )


class _Endpoint:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._cache = PromptCache()

    async def converse(self, request: Request) -> Response:
        try:
            parsed = await _parsed(request)
            body = await converse(self._source.reply(parsed), Meter(parsed, self._cache))
        except ModelFailure as failure:
            return _error(failure)
        return JSONResponse(body, headers=_request_id())

    async def converse_stream(self, request: Request) -> Response:
        # The first part decides whether this is an HTTP error or a stream, as with Bedrock.
        try:
            parsed = await _parsed(request)
            parts = self._source.reply(parsed)
            first = await anext(parts, None)
            if first is None:
                raise ModelFailure("InternalServerException", "The source gave no answer.")
        except ModelFailure as failure:
            return _error(failure)
        frames = converse_stream(first, parts, Meter(parsed, self._cache))
        return StreamingResponse(_closing(frames, parts), media_type=CONTENT_TYPE, headers=_request_id())

    async def invoke(self, request: Request) -> Response:
        model_id = request.path_params["model_id"]
        return _error(ModelFailure("ValidationException", f"The local model answers no InvokeModel for {model_id}."))


def embedding_route() -> Route:
    """Give the route of the model that embeds documents on this machine, whatever answers the chat."""

    async def invoke(request: Request) -> Response:
        try:
            body = await invoke_embedding(await request.body())
        except ModelFailure as failure:
            return _error(failure)
        return JSONResponse(body, headers=_request_id())

    return Route(f"/model/{EMBEDDING_MODEL}/invoke", invoke, methods=["POST"])


async def _closing(frames: AsyncIterator[bytes], parts: AsyncIterator[Part]) -> AsyncIterator[bytes]:
    """Pass the frames on and end the source's work when the client leaves."""
    try:
        async for frame in frames:
            yield frame
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()


async def _parsed(request: Request) -> ConverseRequest:
    try:
        return parse_request(request.path_params["model_id"], json.loads(await request.body()))
    except (InvalidRequestError, ValueError, KeyError, TypeError) as error:
        raise ModelFailure("ValidationException", str(error)) from error


def _request_id() -> dict[str, str]:
    return {"x-amzn-requestid": str(uuid4())}


def _error(failure: ModelFailure) -> Response:
    return JSONResponse(
        {"message": failure.message},
        status_code=STATUS_OF[failure.code],
        headers={"x-amzn-errortype": failure.code, **_request_id()},
    )
