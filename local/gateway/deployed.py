"""The gateway as a deployment wants it: routes from its templates, functions with their deployed environment."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from local.cloud.address import ACCOUNT, CloudAddress
from local.cloud.deployment import SERVICE_STACK, STAGE, Deployment
from local.faults import LocalFault
from local.gateway.app import Gateway
from local.gateway.environment import FunctionCode, StartError
from local.gateway.event import ApiIdentity
from local.gateway.pool import FunctionPool
from local.gateway.template import api_template, read_template
from local.gateway.tokens import TokenVerifier
from local.layout import Layout
from local.programs import child_environment

_TASK_ROOT: Final = "/var/task/"


@asynccontextmanager
async def deployed_gateway(
    layout: Layout,
    address: CloudAddress,
    deployment: Deployment,
    functions_see: Mapping[str, str],
    *,
    run: Callable[[FunctionCode], FunctionCode] = lambda code: code,
) -> AsyncGenerator[Gateway]:
    """Give the gateway before a deployment, its functions started, while the context lasts.

    Parameters
    ----------
    layout : Layout
        Where bundles and logs are.
    address : CloudAddress
        The local cloud.
    deployment : Deployment
        What is deployed there.
    functions_see : mapping
        Variables that every function gets, besides its own.
    run : callable, optional
        Given a function's code as it is deployed, what to run in its place: how a test adds an agent.

    Raises
    ------
    LocalFault
        When a function does not start.
    """
    async with AsyncExitStack() as stack:
        yield await _gateway(stack, layout, address, deployment, functions_see, run)


async def _gateway(
    stack: AsyncExitStack,
    layout: Layout,
    address: CloudAddress,
    deployment: Deployment,
    functions_see: Mapping[str, str],
    run: Callable[[FunctionCode], FunctionCode],
) -> Gateway:
    template_path = api_template(deployment.assembly)
    template = read_template(template_path)
    functions: dict[str, FunctionPool] = {}
    for logical_id in template.streaming:
        code = run(await asyncio.to_thread(_code_of, logical_id, layout, address, functions_see))
        log = layout.logs / f"{code.task_root.name}.log"
        pool = FunctionPool(code, log)
        stack.push_async_callback(pool.close)
        functions[logical_id] = pool
        try:
            await pool.warm()
        except StartError as error:
            raise LocalFault(str(error), log) from error
    keys = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=10))
    upstream = await stack.enter_async_context(httpx.AsyncClient(base_url=deployment.api_url(address), trust_env=False))
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
