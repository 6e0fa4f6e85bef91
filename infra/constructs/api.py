"""The REST API, deployed from the same table of routes that the apps register from."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.constructs.alarms import Alarms
from infra.constructs.python_function import PythonFunction
from infra.stages import Stage
from shared.adapters.routes import CORS_EXPOSED_HEADERS, CORS_ORIGIN, CORS_REQUEST_HEADERS, Route, TransferMode

_TIMEOUTS: Final = {
    TransferMode.STREAM: Duration.minutes(15),
    TransferMode.BUFFERED: Duration.seconds(29),
}
_CODES: Final = {
    apigateway.ResponseType.UNAUTHORIZED: ("401", "UNAUTHORIZED", "Unauthorized"),
    apigateway.ResponseType.ACCESS_DENIED: ("403", "FORBIDDEN", "This token may not do that."),
    apigateway.ResponseType.EXPIRED_TOKEN: ("401", "UNAUTHORIZED", "Unauthorized"),
    apigateway.ResponseType.MISSING_AUTHENTICATION_TOKEN: ("404", "NOT_FOUND", "Not found."),
    apigateway.ResponseType.THROTTLED: ("429", "THROTTLED", "Too many requests; try again later."),
    apigateway.ResponseType.REQUEST_TOO_LARGE: ("413", "BODY_TOO_LARGE", "The request is too large."),
    apigateway.ResponseType.INTEGRATION_TIMEOUT: (
        "504",
        "TIMEOUT",
        "The answer took too long. The request may have been carried out all the same: look, then try again.",
    ),
    apigateway.ResponseType.DEFAULT_4_XX: (None, "BAD_REQUEST", "The request was refused."),
    apigateway.ResponseType.DEFAULT_5_XX: (None, "INTERNAL", "Something went wrong on our side."),
}
"""What the gateway answers itself: status, code, message. It answers an unknown path with a 403 of its own making."""


class Api(Construct):
    """A regional REST API whose methods are the routes.

    Every method needs a token of the user pool unless its route is public.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    routes : Sequence of Route
        What is served.
    functions : Mapping of str to PythonFunction
        Who serves it.
    user_pool : cognito.UserPool
        Whose ID tokens open it.
    stage : Stage
        Name, throttling, retention of the access log.
    alarms : Alarms
        Where the alarm on 5xx replies goes.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        routes: Sequence[Route],
        functions: Mapping[str, PythonFunction],
        user_pool: cognito.UserPool,
        stage: Stage,
        alarms: Alarms,
    ) -> None:
        super().__init__(scope, construct_id)
        removal = RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY
        access_log = logs.LogGroup(self, "AccessLog", retention=stage.log_retention, removal_policy=removal)
        self.rest_api = apigateway.RestApi(
            self,
            "RestApi",
            rest_api_name=f"everthread-{stage.name}",
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            # One role an account and region lets API Gateway write logs; other APIs there may need it after us.
            cloud_watch_role=True,
            cloud_watch_role_removal_policy=RemovalPolicy.RETAIN,
            default_cors_preflight_options=apigateway.CorsOptions(
                allow_origins=[CORS_ORIGIN],
                allow_methods=apigateway.Cors.ALL_METHODS,
                allow_headers=list(CORS_REQUEST_HEADERS),
                max_age=Duration.hours(2),
            ),
            deploy_options=apigateway.StageOptions(
                stage_name=stage.name,
                throttling_rate_limit=stage.requests_per_second,
                throttling_burst_limit=stage.burst,
                access_log_destination=apigateway.LogGroupLogDestination(access_log),
                access_log_format=_access_log_format(),
                # Errors only and never the data: a request holds what a user said.
                logging_level=apigateway.MethodLoggingLevel.ERROR,
                data_trace_enabled=False,
                tracing_enabled=True,
                # The API's own metrics are free; one set a method is billed, each month, for each method.
                metrics_enabled=False,
            ),
        )
        self._execution_log(stage, removal)
        self._gateway_responses()
        authorizer = apigateway.CognitoUserPoolsAuthorizer(
            self, "Authorizer", cognito_user_pools=[user_pool], results_cache_ttl=Duration.minutes(5)
        )
        for route in routes:
            self._method(route, functions[route.function], authorizer)
        alarms.add(
            self,
            "ServerErrors",
            metric=self.rest_api.metric_server_error(period=Duration.minutes(5), statistic=cloudwatch.Stats.SUM),
            threshold=5,
            reason="The API answered 5xx five times within five minutes.",
        )

    @property
    def url(self) -> str:
        """The base URL; it ends with a slash."""
        return self.rest_api.url

    def _execution_log(self, stage: Stage, removal: RemovalPolicy) -> None:
        # API Gateway makes this group by itself and keeps it for ever, unless it is there already.
        log = logs.LogGroup(
            self,
            "ExecutionLog",
            log_group_name=f"API-Gateway-Execution-Logs_{self.rest_api.rest_api_id}/{stage.name}",
            retention=stage.log_retention,
            removal_policy=removal,
        )
        self.rest_api.deployment_stage.node.add_dependency(log)

    def _gateway_responses(self) -> None:
        for response_type, (status, code, message) in _CODES.items():
            self.rest_api.add_gateway_response(
                response_type.response_type.title().replace("_", ""),
                type=response_type,
                status_code=status,
                response_headers={
                    "Access-Control-Allow-Origin": f"'{CORS_ORIGIN}'",
                    "Access-Control-Expose-Headers": f"'{','.join(CORS_EXPOSED_HEADERS)}'",
                },
                # The memory API's words and the LangGraph API's, so that either client finds its own.
                templates={"application/json": json.dumps({"code": code, "message": message, "detail": message})},
            )

    def _method(self, route: Route, function: PythonFunction, authorizer: apigateway.IAuthorizer) -> None:
        self.rest_api.root.resource_for_path(route.path).add_method(
            route.method,
            apigateway.LambdaIntegration(
                function.function,
                response_transfer_mode=apigateway.ResponseTransferMode[route.mode.value],
                timeout=_TIMEOUTS[route.mode],
                # One statement for the API: one a method would pass the limit of a function's policy.
                scope_permission_to_method=False,
            ),
            authorizer=None if route.public else authorizer,
            authorization_type=apigateway.AuthorizationType.NONE
            if route.public
            else apigateway.AuthorizationType.COGNITO,
        )


def _access_log_format() -> apigateway.AccessLogFormat:
    field = apigateway.AccessLogField
    return apigateway.AccessLogFormat.custom(
        json.dumps(
            {
                "requestId": field.context_request_id(),
                "requestTime": field.context_request_time(),
                "method": field.context_http_method(),
                # The route, not the path: a path holds ids and profile keys.
                "route": field.context_resource_path(),
                "status": field.context_status(),
                "bytes": field.context_response_length(),
                "latency": field.context_response_latency(),
                "integrationLatency": field.context_integration_latency(),
                "integrationStatus": field.context_integration_status(),
                "error": field.context_error_response_type(),
            }
        )
    )
