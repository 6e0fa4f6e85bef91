"""API Gateway's REST proxy event as an ASGI scope, and a whole reply as the dictionary it expects."""

import base64
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final, cast
from urllib.parse import quote, unquote, urlencode

from shared.adapters.http import EVENT_SCOPE_KEY
from shared.adapters.runtime.response_stream import ResponseHead

CONTEXT_SCOPE_KEY: Final = "aws.context"
"""Where the Lambda context stands in the ASGI scope."""


def is_http(event: object) -> bool:
    """Say whether an event is an HTTP request; functions get others, such as warming pings."""
    return isinstance(event, Mapping) and "httpMethod" in event and "path" in event


def body_of(event: Mapping[str, Any]) -> bytes:
    """Give a request's body."""
    body: str = event.get("body") or ""
    return base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()


def scope_of(event: Mapping[str, Any], context: object, state: Mapping[str, Any]) -> MutableMapping[str, Any]:
    """Give the ASGI scope of a request.

    Parameters
    ----------
    event : mapping
        A REST API proxy event.
    context : object
        The Lambda context.
    state : mapping
        What the app's lifespan left for its requests.
    """
    path = unquote(cast("str", event["path"]))
    request_context = cast("Mapping[str, Any]", event.get("requestContext") or {})
    identity = cast("Mapping[str, str]", request_context.get("identity") or {})
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "https",
        "method": event["httpMethod"],
        "path": path,
        "raw_path": quote(path).encode(),
        "root_path": "",
        "query_string": urlencode(_pairs(event, "queryStringParameters", "multiValueQueryStringParameters")).encode(),
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in _pairs(event, "headers", "multiValueHeaders")
        ],
        "client": (identity.get("sourceIp") or "0.0.0.0", 0),  # noqa: S104 - an address that says nothing, not a bind
        "server": ("api-gateway", 443),
        "state": dict(state),
        EVENT_SCOPE_KEY: event,
        CONTEXT_SCOPE_KEY: context,
    }


def _pairs(event: Mapping[str, Any], single: str, several: str) -> list[tuple[str, str]]:
    values = cast("Mapping[str, Sequence[str]]", event.get(several) or {})
    if values:
        return [(name, value) for name, each in values.items() for value in each]
    return list(cast("Mapping[str, str]", event.get(single) or {}).items())


def reply_of(head: ResponseHead, body: bytes) -> dict[str, Any]:
    """Give a whole reply as API Gateway takes it."""
    try:
        text, encoded = body.decode(), False
    except UnicodeDecodeError:
        text, encoded = base64.b64encode(body).decode(), True
    return {
        "statusCode": head.status,
        "multiValueHeaders": head.by_name(),
        "body": text,
        "isBase64Encoded": encoded,
    }
