"""The API is the table of routes, and nothing else."""

import json
from typing import Any

import pytest

from shared.adapters.routes import CORS_ORIGIN, ROUTES, Route, TransferMode
from tests.infra.templates import Synthesised, only, properties_of, resources_of, text_of


def path_of(template: dict[str, Any], reference: dict[str, Any]) -> str:
    if "Fn::GetAtt" in reference:
        return ""
    resource = template["Resources"][reference["Ref"]]["Properties"]
    return f"{path_of(template, resource['ParentId'])}/{resource['PathPart']}"


@pytest.fixture(scope="module")
def methods(prod: Synthesised) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method["HttpMethod"], path_of(prod.service, method["ResourceId"])): method
        for method in properties_of(prod.service, "AWS::ApiGateway::Method")
    }


def test_the_methods_are_the_routes(methods: dict[tuple[str, str], dict[str, Any]]) -> None:
    deployed = {key for key in methods if key[0] != "OPTIONS"}
    assert deployed == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_travels_as_the_table_says(methods: dict[tuple[str, str], dict[str, Any]], route: Route) -> None:
    integration = methods[route.method, route.path]["Integration"]
    stream = route.mode is TransferMode.STREAM
    assert integration["Type"] == "AWS_PROXY"
    assert integration.get("ResponseTransferMode", "BUFFERED") == route.mode.value
    # The default of 29 seconds would end every turn that thinks longer.
    assert integration["TimeoutInMillis"] == (15 * 60_000 if stream else 29_000)
    uri = text_of(integration["Uri"])
    assert uri.endswith("/response-streaming-invocations" if stream else "/invocations")
    assert f"<{route.function.title().replace('_', '')}Function.Arn>" in uri


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_needs_a_token_unless_it_is_public(
    prod: Synthesised, methods: dict[tuple[str, str], dict[str, Any]], route: Route
) -> None:
    method = methods[route.method, route.path]
    if route.public:
        assert method["AuthorizationType"] == "NONE"
        return
    assert method["AuthorizationType"] == "COGNITO_USER_POOLS"
    authorizer = prod.service["Resources"][method["AuthorizerId"]["Ref"]]["Properties"]
    assert authorizer["Type"] == "COGNITO_USER_POOLS"
    assert [text_of(arn) for arn in authorizer["ProviderARNs"]] == ["<UsersPoolArn>"]
    # Without scopes the authorizer takes ID tokens, which is what the overlay's claims are in.
    assert "AuthorizationScopes" not in method


def test_only_ok_and_info_are_public() -> None:
    assert {route.path for route in ROUTES if route.public} == {"/ok", "/info"}


def test_every_path_answers_a_preflight_that_browsers_keep(methods: dict[tuple[str, str], dict[str, Any]]) -> None:
    for route in ROUTES:
        preflight = methods["OPTIONS", route.path]
        assert preflight["AuthorizationType"] == "NONE"
        assert preflight["Integration"]["Type"] == "MOCK"
        headers = only(preflight["Integration"]["IntegrationResponses"])["ResponseParameters"]
        assert headers["method.response.header.Access-Control-Max-Age"] == "'7200'"
        assert "Authorization" in headers["method.response.header.Access-Control-Allow-Headers"]


def test_what_the_gateway_answers_itself_is_json_that_a_page_may_read(prod: Synthesised) -> None:
    replies = {
        reply["ResponseType"]: reply for reply in properties_of(prod.service, "AWS::ApiGateway::GatewayResponse")
    }
    assert {
        "UNAUTHORIZED",
        "ACCESS_DENIED",
        "EXPIRED_TOKEN",
        "THROTTLED",
        "DEFAULT_4XX",
        "DEFAULT_5XX",
    } <= replies.keys()
    for reply in replies.values():
        body = json.loads(reply["ResponseTemplates"]["application/json"])
        assert body["code"]
        assert body["message"] == body["detail"]
        origin = reply["ResponseParameters"]["gatewayresponse.header.Access-Control-Allow-Origin"]
        assert origin == f"'{CORS_ORIGIN}'"
    statuses = {kind: reply.get("StatusCode") for kind, reply in replies.items()}
    assert statuses["UNAUTHORIZED"] == statuses["EXPIRED_TOKEN"] == "401"
    assert statuses["THROTTLED"] == "429"
    # API Gateway's word for a path that is not there.
    assert statuses["MISSING_AUTHENTICATION_TOKEN"] == "404"


def test_the_stage_throttles_and_logs_routes_but_no_paths_and_no_data(prod: Synthesised) -> None:
    stage = only(properties_of(prod.service, "AWS::ApiGateway::Stage"))
    settings = only(stage["MethodSettings"])
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (200, 400)
    assert settings["DataTraceEnabled"] is False
    # Metrics a method are billed; the alarm watches the API's own, which are not.
    assert settings["MetricsEnabled"] is False
    logged = set(json.loads(stage["AccessLogSetting"]["Format"]).values())
    assert "$context.resourcePath" in logged
    assert not logged & {"$context.path", "$context.identity.sourceIp"}
    assert not [field for field in logged if "claims" in field or "querystring" in field]


def test_both_logs_of_the_api_end(prod: Synthesised) -> None:
    groups = resources_of(prod.service, "AWS::Logs::LogGroup")
    api = {name: group["Properties"] for name, group in groups.items() if name.startswith("Api")}
    assert len(api) == 2
    assert all(group["RetentionInDays"] == 90 for group in api.values())
    # The gateway would make this one itself, and keep it for ever: it has to be there before the stage.
    named = only([name for name, group in api.items() if "LogGroupName" in group])
    assert text_of(api[named]["LogGroupName"]).startswith("API-Gateway-Execution-Logs_<ApiRestApi")
    stage = only(list(resources_of(prod.service, "AWS::ApiGateway::Stage").values()))
    assert named in stage["DependsOn"]
