"""Run ASGI apps on loopback inside this process, each until its context ends."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp

from local.faults import PortTakenFault
from local.loopback import is_taken


class _Server(uvicorn.Server):
    # The process decides about signals, not one of its servers.
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(port: int, setting: str) -> socket.socket:
    """Open a loopback socket; 0 takes any free port.

    Raises
    ------
    PortTakenFault
        When the port is taken; ``setting`` names the variable that chooses another.
    """
    if port and is_taken(port):
        raise PortTakenFault(port, setting)
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(("127.0.0.1", port))
    except OSError as error:
        opened.close()
        raise PortTakenFault(port, setting) from error
    opened.listen(128)
    return opened


@asynccontextmanager
async def serving(app: ASGIApp, sock: socket.socket) -> AsyncIterator[str]:
    """Serve ``app`` on an opened socket while the context lasts.

    Yields
    ------
    str
        The base URL.
    """
    # h11 tells the request's target as it came; httptools would hide that it was a whole URL.
    config = uvicorn.Config(
        app, http="h11", log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1, ws="none"
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    port = sock.getsockname()[1]
    try:
        while not server.started:
            if task.done():
                task.result()
                raise RuntimeError("The server ended before it began.")
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task
        sock.close()
