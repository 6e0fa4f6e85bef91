"""Reading JSON from public HTTP APIs, bounded in time and in size."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, TypeVar

import httpx
from pydantic import BaseModel

from shared.domain.errors import SourceUnavailableError

Shape = TypeVar("Shape", bound=BaseModel)

TIMEOUT: Final = httpx.Timeout(6.0, connect=2.0)
LIMIT_SECONDS: Final = 10.0
MAX_BYTES: Final = 256 * 1024


class JsonApi:
    """GET requests to one host.

    Redirects are not followed: the host is the one that was named. Answers are read up to a size and no further.

    Parameters
    ----------
    base_url : str
        Where the API is.
    transport : httpx.AsyncBaseTransport, optional
        What carries the requests; the network unless a test gives something else.
    timeout : httpx.Timeout
        For connecting and for each read.
    limit_seconds : float
        For the whole of it: a server that drips keeps every single read short.
    max_bytes : int
        Of one answer.
    """

    def __init__(
        self,
        base_url: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout: httpx.Timeout = TIMEOUT,
        limit_seconds: float = LIMIT_SECONDS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._base_url = base_url
        self._transport = transport
        self._timeout = timeout
        self._limit = limit_seconds
        self._max_bytes = max_bytes

    async def get(self, path: str, params: Mapping[str, str], shape: type[Shape]) -> Shape:
        """Read one JSON value.

        Parameters
        ----------
        path : str
            Of the resource.
        params : mapping
            The query.
        shape : type of BaseModel
            What of the answer is used, and must be as it says.

        Raises
        ------
        SourceUnavailableError
            When there is no connection, no answer in time, a status other than 200, too much of it, or when it has
            another shape.
        """
        try:
            # A client for each call: tools run seldom, and a client belongs to the event loop it was used on.
            async with (
                asyncio.timeout(self._limit),
                httpx.AsyncClient(base_url=self._base_url, transport=self._transport, timeout=self._timeout) as client,
            ):
                return shape.model_validate_json(await self._read(client, path, params))
        # pydantic's errors are ValueErrors, and so are broken JSON and broken UTF-8.
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            raise SourceUnavailableError(f"{self._base_url} gave no usable answer.") from error

    async def _read(self, client: httpx.AsyncClient, path: str, params: Mapping[str, str]) -> bytes:
        async with client.stream("GET", path, params=params) as response:
            if response.status_code != HTTPStatus.OK:
                raise SourceUnavailableError(f"{self._base_url} answered {response.status_code}.")
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._max_bytes:
                    raise SourceUnavailableError(f"{self._base_url} answered more than {self._max_bytes} bytes.")
            return bytes(body)
