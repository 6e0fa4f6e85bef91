"""Where a process under test reports, and waits until the test lets it go on."""

import asyncio
from typing import Self


class Gate:
    """A port on loopback; the other side writes a line and goes on when it gets one."""

    def __init__(self) -> None:
        self._reports: asyncio.Queue[tuple[str, asyncio.StreamWriter]] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._reports.put(((await reader.readline()).decode().strip(), writer))

    async def next(self) -> str:
        """Wait for the next report."""
        report, self._writer = await self._reports.get()
        return report

    async def let_go(self) -> None:
        """Let the side that reported last go on."""
        self._writer.write(b"\n")
        await self._writer.drain()
        self._writer.close()
