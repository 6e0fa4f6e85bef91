"""The whole product on one machine, put together: model, cloud, deployment, gateway."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from starlette.types import ASGIApp

from local.cloud.address import ACCOUNT, CloudAddress
from local.cloud.deployment import (
    SERVICE_STACK,
    STAGE,
    Deployment,
    bootstrap,
    deploy,
    digest_of,
    is_current,
    synthesize,
)
from local.cloud.emulator import emulator, install
from local.cloud.users import UserPool
from local.faults import LocalFault, ModelFault
from local.gateway.app import Gateway
from local.gateway.environment import FunctionCode, StartError
from local.gateway.event import ApiIdentity
from local.gateway.pool import FunctionPool
from local.gateway.template import api_template, read_template
from local.gateway.tokens import TokenVerifier
from local.layout import Layout
from local.loopback import NotLoopbackError, free_port
from local.model.bedrock import NoCredentialsError, bedrock_app
from local.model.control import control_routes
from local.model.demo.source import DemoSource
from local.model.openai import OpenAISource
from local.model.scripted import ScriptedSource
from local.model.server import model_app
from local.programs import child_environment
from local.serving import listen, serving
from local.settings import LocalSettings
from local.sole_use import sole_use

Progress = Callable[[str], None]
"""Told the name of each step when it begins."""

# The buffered routes answer within API Gateway's 29 seconds.
_UPSTREAM_SECONDS: Final = 30.0
_TASK_ROOT: Final = "/var/task/"


@dataclass(frozen=True, slots=True)
class LocalProduct:
    """The running product.

    Parameters
    ----------
    url : str
        The base URL of the API.
    address : CloudAddress
        The local cloud.
    deployment : Deployment
        What is deployed there.
    model_url : str
        The local model.
    users : UserPool
        Who may use it.
    """

    url: str
    address: CloudAddress
    deployment: Deployment
    model_url: str
    users: UserPool


@asynccontextmanager
async def local_product(
    settings: LocalSettings,
    layout: Layout,
    *,
    context: Mapping[str, str] | None = None,
    progress: Progress = lambda _step: None,
) -> AsyncIterator[LocalProduct]:
    """Run everything while the context lasts; nothing is left running after it.

    Parameters
    ----------
    settings : LocalSettings
        Ports and model.
    layout : Layout
        Where state is kept.
    context : mapping, optional
        CDK context for the deployment, for example ``keep_recent``.
    progress : callable
        Told what is going on.

    Raises
    ------
    LocalFault
        When something cannot start; says what to do.
    """
    context = context or {}
    async with AsyncExitStack() as stack:
        stack.enter_context(sole_use(layout))
        layout.prepare()
        front = listen(settings.local_port, "LOCAL_PORT")
        stack.callback(front.close)
        progress("local model")
        model_url = await stack.enter_async_context(serving(_model(settings), listen(0, "")))
        address = CloudAddress(settings.local_cloud_port or free_port())
        functions_see = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model_url}

        progress("local cloud")
        program_path = await install(layout)
        await stack.enter_async_context(emulator(program_path, layout, address, functions_see))
        await _deployed(layout, address, context, progress)
        deployment = Deployment.read(layout)

        progress("streaming gateway")
        gateway = await _gateway(stack, layout, address, deployment, functions_see)
        url = await stack.enter_async_context(serving(gateway, front))
        cognito = address.client("cognito-idp")
        stack.callback(cognito.close)
        users = UserPool(cognito, deployment.user_pool_id, deployment.user_pool_client_id)
        yield LocalProduct(url, address, deployment, model_url, users)


def _model(settings: LocalSettings) -> ASGIApp:
    match settings.model:
        case "demo":
            return model_app(DemoSource(settings.demo_pause))
        case "scripted":
            source = ScriptedSource(DemoSource(pause=0))
            return model_app(source, control=control_routes(source))
        case "openai":
            return model_app(_openai(settings))
        case "bedrock":
            try:
                return bedrock_app()
            except NoCredentialsError as error:
                raise ModelFault(str(error)) from error


def _openai(settings: LocalSettings) -> OpenAISource:
    try:
        return OpenAISource(
            settings.openai_base_url,
            settings.openai_model,
            api_key=settings.openai_api_key,
            allow_remote=settings.openai_allow_remote,
        )
    except NotLoopbackError as error:
        raise ModelFault(f"OPENAI_BASE_URL: {error} Set OPENAI_ALLOW_REMOTE=1 if that is meant.") from error


async def _deployed(layout: Layout, address: CloudAddress, context: Mapping[str, str], progress: Progress) -> None:
    digest = digest_of(address, context)
    if await asyncio.to_thread(is_current, layout, address, digest):
        return
    progress("functions and templates")
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(synthesize(layout, context))
            group.create_task(bootstrap(layout, address))
    except BaseExceptionGroup as failed:
        # The first to fail ended the other.
        raise failed.exceptions[0] from None
    progress("deployment")
    await deploy(layout, address, digest)


async def _gateway(
    stack: AsyncExitStack,
    layout: Layout,
    address: CloudAddress,
    deployment: Deployment,
    functions_see: Mapping[str, str],
) -> Gateway:
    template_path = api_template(deployment.assembly)
    template = read_template(template_path)
    functions: dict[str, FunctionPool] = {}
    for logical_id in {route.function for route in template.routes}:
        code = await asyncio.to_thread(_code_of, logical_id, layout, address, functions_see)
        pool = FunctionPool(code, layout.logs / f"{code.task_root.name}.log")
        stack.push_async_callback(pool.close)
        functions[logical_id] = pool
        try:
            await pool.warm()
        except StartError as error:
            raise LocalFault(str(error), layout.logs / f"{code.task_root.name}.log") from error
    keys = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=10))
    upstream = await stack.enter_async_context(
        httpx.AsyncClient(base_url=deployment.api_url(address), trust_env=False, timeout=_UPSTREAM_SECONDS)
    )
    return Gateway(
        template=template,
        functions=functions,
        authorizer=TokenVerifier(deployment.user_pool_id, address.url, keys),
        api=ApiIdentity(deployment.api_id, STAGE, ACCOUNT),
        upstream=upstream,
    )


def _code_of(logical_id: str, layout: Layout, address: CloudAddress, functions_see: Mapping[str, str]) -> FunctionCode:
    """Give what the local cloud has deployed under a logical id: its handler, its environment, its limits."""
    cloudformation, lambda_ = address.client("cloudformation"), address.client("lambda")
    try:
        resource = cloudformation.describe_stack_resource(StackName=SERVICE_STACK, LogicalResourceId=logical_id)
        name: str = resource["StackResourceDetail"]["PhysicalResourceId"]
        configuration: dict[str, Any] = lambda_.get_function_configuration(FunctionName=name)
    finally:
        cloudformation.close()
        lambda_.close()
    handler: str = configuration["Handler"]
    variables: dict[str, str] = configuration.get("Environment", {}).get("Variables", {})
    task_root = layout.bundles / handler.split(".")[1]
    environment = child_environment(
        os.environ,
        {
            "TMPDIR": str(layout.scratch),
            **address.environment(),
            **functions_see,
            **variables,
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(configuration["MemorySize"]),
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            # Packages come from the bundle alone, as on Lambda.
            "PYTHONNOUSERSITE": "1",
        },
    )
    return FunctionCode(
        arn=configuration["FunctionArn"],
        handler=handler,
        task_root=task_root,
        wrapper=task_root / variables["AWS_LAMBDA_EXEC_WRAPPER"].removeprefix(_TASK_ROOT),
        interpreter=_bare_interpreter(),
        environment=environment,
        timeout=float(configuration["Timeout"]),
    )


def _bare_interpreter() -> Path:
    """Give the Python under our virtual environment: a bundle that lacks a package fails as it would on Lambda."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable)
