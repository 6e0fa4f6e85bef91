"""The product on the local cloud, running in a thread of its own for as long as the tests do."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local.faults import LocalFault
from local.layout import Layout
from local.product import LocalProduct, local_product
from local.settings import LocalSettings


@contextmanager
def running(state: Path, cloud_port: int, context: Mapping[str, str]) -> Iterator[LocalProduct]:
    """Start everything, the API on a free port, and stop it at the end."""
    started = threading.Event()
    stop: asyncio.Event | None = None
    loop: asyncio.AbstractEventLoop | None = None
    product: LocalProduct | None = None
    failure: BaseException | None = None

    async def serve() -> None:
        nonlocal stop, loop, product
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        settings = LocalSettings(model="scripted", local_port=0, local_cloud_port=cloud_port)
        async with local_product(settings, Layout(state), context=context) as product:
            started.set()
            await stop.wait()

    def run() -> None:
        nonlocal failure
        try:
            asyncio.run(serve())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            failure = error
        finally:
            started.set()

    thread = threading.Thread(target=run, name="local product")
    thread.start()
    started.wait()
    try:
        if product is None or failure is not None:
            raise AssertionError(failure.explained() if isinstance(failure, LocalFault) else repr(failure))
        yield product
    finally:
        if loop is not None and stop is not None and thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
