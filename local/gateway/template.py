"""What the synthesised template says of the API: its routes, and the gateway's own replies."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

_FUNCTION = "AWS::Lambda::Function"
_HEADER: Final = "gatewayresponse.header."
_DEFAULT_TIMEOUT = 29.0

# Status, message and family of the replies that this gateway makes, as API Gateway makes them undressed.
_BUILT_IN: Final = {
    "BAD_REQUEST": (400, "Bad Request", "DEFAULT_4XX"),
    "UNAUTHORIZED": (401, "Unauthorized", "DEFAULT_4XX"),
    "MISSING_AUTHENTICATION_TOKEN": (403, "Missing Authentication Token", "DEFAULT_4XX"),
    "REQUEST_TOO_LARGE": (413, "Request Too Long", "DEFAULT_4XX"),
    "INTEGRATION_FAILURE": (502, "Internal server error", "DEFAULT_5XX"),
    "INTEGRATION_TIMEOUT": (504, "Endpoint request timed out", "DEFAULT_5XX"),
}


class TemplateError(ValueError):
    """The template is not one this gateway can serve."""


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A method of the API.

    Parameters
    ----------
    method, path : str
        Upper case, and with ``{name}`` for parameters.
    authorized : bool
        Whether it needs a token.
    timeout : float
        Seconds its integration may take.
    function : str or None
        Logical id of the function whose reply it streams; ``None`` when the reply is buffered.
    """

    method: str
    path: str
    authorized: bool
    timeout: float
    function: str | None = None

    @property
    def segments(self) -> list[str]:
        """The path's parts."""
        return _segments(self.path)

    def parameters(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Give the values of the path's parameters; ``None`` when the path is another one."""
        own = self.segments
        if len(own) != len(segments):
            return None
        pairs = list(zip(own, segments, strict=True))
        if any(part != given for part, given in pairs if not part.startswith("{")):
            return None
        return {part[1:-1]: given for part, given in pairs if part.startswith("{")}


@dataclass(frozen=True, slots=True)
class Match:
    """The route of a request.

    Parameters
    ----------
    route : ApiRoute
        The method.
    segments : sequence of str
        The request's path, decoded part by part.
    parameters : mapping
        Values of the path's parameters.
    """

    route: ApiRoute
    segments: Sequence[str]
    parameters: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path, decoded."""
        return "/" + "/".join(self.segments)

    @property
    def raw_path(self) -> str:
        """The path in one spelling, however the client has escaped it."""
        return "/" + "/".join(quote(segment, safe="") for segment in self.segments)


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
    routes : sequence of ApiRoute
        All of them.
    """

    routes: Sequence[ApiRoute]
    _responses: Mapping[str, Mapping[str, Any]]

    @property
    def streaming(self) -> set[str]:
        """Logical ids of the functions whose replies stream."""
        return {route.function for route in self.routes if route.function is not None}

    def match(self, method: str, path: str) -> Match | None:
        """Find the route of a request; ``None`` when the API has none.

        ``path`` is the request's own, still encoded. Its parts are compared decoded: an escape that need not be is
        the letter it stands for, and an escaped slash is part of a parameter's value. A fixed part is preferred to a
        parameter. No part may be empty or lead elsewhere.
        """
        segments = [unquote(segment) for segment in _segments(path)]
        if any(segment in ("", ".", "..") for segment in segments):
            return None
        found = [
            Match(route, segments, parameters)
            for route in self.routes
            if route.method == method and (parameters := route.parameters(segments)) is not None
        ]
        return min(found, key=lambda match: len(match.parameters), default=None)

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
    routes = [_route(resources, properties) for properties in _of_type(resources, "AWS::ApiGateway::Method")]
    if all(route.function is None for route in routes):
        raise TemplateError(f"{path} has no method that streams.")
    responses = {
        properties["ResponseType"]: properties for properties in _of_type(resources, "AWS::ApiGateway::GatewayResponse")
    }
    return ApiTemplate(routes, responses)


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


def _segments(path: str) -> list[str]:
    # One slash at the end says nothing, to API Gateway too.
    path = path.removeprefix("/").removesuffix("/")
    return path.split("/") if path else []


def _route(resources: Mapping[str, Any], method: Mapping[str, Any]) -> ApiRoute:
    integration: Mapping[str, Any] = method.get("Integration", {})
    path = _path(resources, method["ResourceId"])
    function: str | None = None
    if integration.get("ResponseTransferMode") == "STREAM":
        named = [name for name in _referenced(integration["Uri"]) if resources.get(name, {}).get("Type") == _FUNCTION]
        if len(named) != 1:
            raise TemplateError(f"{method['HttpMethod']} {path} streams from no one function.")
        (function,) = named
    return ApiRoute(
        method=method["HttpMethod"],
        path=path,
        authorized=method.get("AuthorizationType", "NONE") != "NONE",
        timeout=integration.get("TimeoutInMillis", _DEFAULT_TIMEOUT * 1000) / 1000,
        function=function,
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
