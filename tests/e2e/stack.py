"""What serves, running in a thread of its own for as long as the tests do."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from local.faults import LocalFault
from local.gateway.deployed import deployed_gateway
from local.gateway.environment import FunctionCode
from local.layout import Layout
from local.product import LocalProduct, local_product
from local.serving import listen, serving
from local.settings import LocalSettings

T = TypeVar("T")


def running(state: Path, cloud_port: int, context: Mapping[str, str]) -> AbstractContextManager[LocalProduct]:
    """Start the product on the local cloud, the API on a free port, and stop it at the end."""
    settings = LocalSettings(model="scripted", local_port=0, local_cloud_port=cloud_port)
    return _in_a_thread(lambda: local_product(settings, Layout(state), context=context))


def running_beside(
    product: LocalProduct, state: Path, run: Callable[[FunctionCode], FunctionCode]
) -> AbstractContextManager[LocalProduct]:
    """Serve a product that runs at one more address, where its streaming functions run other code."""

    @asynccontextmanager
    async def served() -> AsyncIterator[LocalProduct]:
        functions_see = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": product.model_url}
        gateway = deployed_gateway(Layout(state), product.address, product.deployment, functions_see, run=run)
        async with gateway as app, serving(app, listen(0, "")) as url:
            yield replace(product, url=url)

    return _in_a_thread(served)


@contextmanager
def _in_a_thread(serve: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    started = threading.Event()
    stop: asyncio.Event | None = None
    loop: asyncio.AbstractEventLoop | None = None
    served: T | None = None
    failure: BaseException | None = None

    async def hold() -> None:
        nonlocal stop, loop, served
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with serve() as served:
            started.set()
            await stop.wait()

    def run() -> None:
        nonlocal failure
        try:
            asyncio.run(hold())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failure = error
        finally:
            started.set()

    thread = threading.Thread(target=run, name="served for the tests")
    thread.start()
    started.wait()
    try:
        if served is None or failure is not None:
            raise AssertionError(failure.explained() if isinstance(failure, LocalFault) else repr(failure))
        yield served
    finally:
        if loop is not None and stop is not None and thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
