"""A request as the REST API's Lambda proxy integration hands it to a function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class ApiIdentity:
    """Which API, on which stage, in which account."""

    api_id: str
    stage: str
    account: str


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in.

    Parameters
    ----------
    method, path : str
        Upper case; decoded, without the stage.
    headers, query : sequence of pairs
        In order; names may come more than once.
    body : bytes
        All of it.
    source_ip : str
        The client's address.
    """

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    query: Sequence[tuple[str, str]]
    body: bytes
    source_ip: str


def proxy_event(
    request: Received,
    api: ApiIdentity,
    *,
    resource: str,
    path_parameters: Mapping[str, str],
    claims: Mapping[str, str] | None,
) -> dict[str, Any]:
    """Build the version 1.0 event.

    Parameters
    ----------
    request : Received
        The request.
    api : ApiIdentity
        For the request context.
    resource : str
        The route's path with its parameters' names.
    path_parameters : mapping
        Their values.
    claims : mapping or None
        Of the verified token; ``None`` on a public route.
    """
    now = datetime.now(UTC)
    request_id = str(uuid4())
    headers = _several(request.headers)
    query = _several(request.query)
    agent = headers.get("user-agent", [""])[-1]
    context: dict[str, Any] = {
        "accountId": api.account,
        "apiId": api.api_id,
        "domainName": headers.get("host", ["localhost"])[-1],
        "extendedRequestId": request_id,
        "httpMethod": request.method,
        "identity": {"sourceIp": request.source_ip, "userAgent": agent},
        "path": f"/{api.stage}{request.path}",
        "protocol": "HTTP/1.1",
        "requestId": request_id,
        "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "requestTimeEpoch": int(now.timestamp() * 1000),
        "resourcePath": resource,
        "stage": api.stage,
    }
    if claims is not None:
        context["authorizer"] = {"claims": dict(claims)}
    return {
        "resource": resource,
        "path": request.path,
        "httpMethod": request.method,
        "headers": _last(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": _last(query) or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": dict(path_parameters) or None,
        "stageVariables": None,
        "requestContext": context,
        # The API has no binary media types: a body is text, whatever it was.
        "body": request.body.decode("utf-8", "replace") if request.body else None,
        "isBase64Encoded": False,
    }


def _several(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def _last(values: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: several[-1] for name, several in values.items()}
