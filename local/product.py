"""The whole product on one machine, put together: model, cloud, deployment, gateway."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from local.cloud.address import CloudAddress
from local.cloud.deployment import Deployment, bootstrap, deploy, digest_of, is_current, synthesize
from local.cloud.emulator import emulator, install
from local.cloud.state import forget_unfinished
from local.cloud.users import UserPool
from local.gateway.deployed import deployed_gateway
from local.layout import Layout
from local.loopback import free_port
from local.model.choice import chosen_model
from local.serving import listen, serving
from local.settings import LocalSettings
from local.sole_use import sole_use

Progress = Callable[[str], None]
"""Told the name of each step when it begins."""


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
) -> AsyncGenerator[LocalProduct]:
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
        model_url = await stack.enter_async_context(serving(chosen_model(settings), listen(0, "")))
        address = CloudAddress(settings.local_cloud_port or free_port())
        functions_see = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model_url}

        progress("local cloud")
        program_path = await install(layout)
        forget_unfinished(layout)
        cloud = partial(emulator, program_path, layout, address, functions_see)
        running = await stack.enter_async_context(AsyncExitStack())
        await running.enter_async_context(cloud())
        digest = digest_of(context)
        if not await asyncio.to_thread(is_current, layout, address, digest):
            await _deployed(layout, address, context, progress)
            # It stores what it has when it is asked to end: what was deployed outlives even a kill after this.
            await running.aclose()
            layout.deployed.write_text(digest, encoding="utf-8")
            await running.enter_async_context(cloud())
        deployment = Deployment.read(layout)

        progress("streaming gateway")
        gateway = await stack.enter_async_context(deployed_gateway(layout, address, deployment, functions_see))
        url = await stack.enter_async_context(serving(gateway, front))
        cognito = address.client("cognito-idp")
        stack.callback(cognito.close)
        users = UserPool(cognito, deployment.user_pool_id, deployment.user_pool_client_id)
        yield LocalProduct(url, address, deployment, model_url, users)


async def _deployed(layout: Layout, address: CloudAddress, context: Mapping[str, str], progress: Progress) -> None:
    progress("functions and templates")
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(synthesize(layout, context))
            group.create_task(bootstrap(layout, address))
    except BaseExceptionGroup as failed:
        # The first to fail ended the other.
        raise failed.exceptions[0] from None
    progress("deployment")
    await deploy(layout, address)
