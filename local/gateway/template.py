"""What the synthesised template says of the API: the routes that stream, and the gateway's own replies."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

_FUNCTION = "AWS::Lambda::Function"
_HEADER: Final = "gatewayresponse.header."
_DEFAULT_TIMEOUT = 29.0

# Status, message and family of the replies that this gateway makes, as API Gateway makes them undressed.
_BUILT_IN: Final = {
    "UNAUTHORIZED": (401, "Unauthorized", "DEFAULT_4XX"),
    "REQUEST_TOO_LARGE": (413, "Request Too Long", "DEFAULT_4XX"),
    "INTEGRATION_FAILURE": (502, "Internal server error", "DEFAULT_5XX"),
    "INTEGRATION_TIMEOUT": (504, "Endpoint request timed out", "DEFAULT_5XX"),
}


class TemplateError(ValueError):
    """The template is not one this gateway can serve."""


@dataclass(frozen=True, slots=True)
class StreamRoute:
    """A method whose integration streams.

    Parameters
    ----------
    method, path : str
        Upper case, and with ``{name}`` for parameters.
    function : str
        Logical id of the function behind it.
    authorized : bool
        Whether it needs a token.
    timeout : float
        Seconds its integration may take.
    """

    method: str
    path: str
    function: str
    authorized: bool
    timeout: float
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = [
            f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part) for part in self.path.split("/")
        ]
        object.__setattr__(self, "pattern", re.compile("/".join(parts)))


@dataclass(frozen=True, slots=True)
class GatewayReply:
    """What the gateway answers itself."""

    status: int
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class ApiTemplate:
    """The API of a template.

    Parameters
    ----------
    routes : sequence of StreamRoute
        Those that stream.
    """

    routes: Sequence[StreamRoute]
    _responses: Mapping[str, Mapping[str, Any]]

    def match(self, method: str, path: str) -> tuple[StreamRoute, dict[str, str]] | None:
        """Find the streaming route of a request, with its path parameters decoded; ``None`` when none streams.

        ``path`` is the request's own, still encoded, so that an encoded slash stays within its segment. A route
        without parameters is preferred, as API Gateway prefers it.
        """
        found = [
            (route, {name: unquote(value) for name, value in matched.groupdict().items()})
            for route in self.routes
            if route.method == method and (matched := route.pattern.fullmatch(path)) is not None
        ]
        return min(found, key=lambda pair: len(pair[1]), default=None)

    def reply(self, response_type: str) -> GatewayReply:
        """Give the gateway's own reply of a type, dressed as the template says (CORS headers, body)."""
        status, message, family = _BUILT_IN[response_type]
        properties = self._responses.get(response_type) or self._responses.get(family) or {}
        parameters: Mapping[str, str] = properties.get("ResponseParameters", {})
        headers = {
            name.removeprefix(_HEADER): value.strip("'")
            for name, value in parameters.items()
            if name.startswith(_HEADER)
        }
        templates: Mapping[str, str] = properties.get("ResponseTemplates", {})
        body = templates.get("application/json", '{"message":$context.error.messageString}')
        body = body.replace("$context.error.messageString", json.dumps(message))
        return GatewayReply(int(properties.get("StatusCode") or status), headers, body)


def read_template(path: Path) -> ApiTemplate:
    """Read the API of a synthesised template.

    Raises
    ------
    TemplateError
        When it has no method that streams, or one without a function.
    """
    resources: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["Resources"]
    routes = [_stream_route(resources, properties) for properties in _of_type(resources, "AWS::ApiGateway::Method")]
    streaming = [route for route in routes if route is not None]
    if not streaming:
        raise TemplateError(f"{path} has no method that streams.")
    responses = {
        properties["ResponseType"]: properties for properties in _of_type(resources, "AWS::ApiGateway::GatewayResponse")
    }
    return ApiTemplate(streaming, responses)


def api_template(assembly: Path) -> Path:
    """Find the template that holds the API in a cloud assembly.

    Raises
    ------
    TemplateError
        When there is none.
    """
    for path in sorted(assembly.glob("*.template.json")):
        if '"AWS::ApiGateway::Method"' in path.read_text(encoding="utf-8"):
            return path
    raise TemplateError(f"No template in {assembly} has an API.")


def _of_type(resources: Mapping[str, Any], wanted: str) -> Iterator[Mapping[str, Any]]:
    return (resource["Properties"] for resource in resources.values() if resource["Type"] == wanted)


def _stream_route(resources: Mapping[str, Any], method: Mapping[str, Any]) -> StreamRoute | None:
    integration: Mapping[str, Any] = method.get("Integration", {})
    if integration.get("ResponseTransferMode") != "STREAM":
        return None
    path = _path(resources, method["ResourceId"])
    functions = [name for name in _referenced(integration["Uri"]) if resources.get(name, {}).get("Type") == _FUNCTION]
    if len(functions) != 1:
        raise TemplateError(f"{method['HttpMethod']} {path} streams from no one function.")
    return StreamRoute(
        method=method["HttpMethod"],
        path=path,
        function=functions[0],
        authorized=method.get("AuthorizationType", "NONE") != "NONE",
        timeout=integration.get("TimeoutInMillis", _DEFAULT_TIMEOUT * 1000) / 1000,
    )


def _path(resources: Mapping[str, Any], resource_id: Mapping[str, Any]) -> str:
    """Give the path of an API resource; the root is a ``Fn::GetAtt`` of the API."""
    if "Ref" not in resource_id:
        return ""
    properties = resources[resource_id["Ref"]]["Properties"]
    return f"{_path(resources, properties['ParentId'])}/{properties['PathPart']}"


def _referenced(value: object) -> Iterator[str]:
    """Give every logical id that an expression names."""
    if isinstance(value, Mapping):
        if isinstance(value.get("Ref"), str):
            yield value["Ref"]
        attribute = value.get("Fn::GetAtt")
        if isinstance(attribute, list):
            yield attribute[0]
        for part in value.values():
            yield from _referenced(part)
    elif isinstance(value, list):
        for part in value:
            yield from _referenced(part)
