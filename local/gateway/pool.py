"""The environments of one function: started on demand, kept warm, at most so many."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.gateway.environment import ExecutionEnvironment, FunctionCode, StartError
from local.gateway.invocation import Invocation

_log = logging.getLogger(__name__)


class FunctionPool:
    """Invokes a function; each environment serves one invocation at a time, as on Lambda.

    Parameters
    ----------
    code : FunctionCode
        What to run.
    log_path : Path
        Where the processes' output goes.
    limit : int
        How many environments there may be; further invocations wait.
    """

    def __init__(self, code: FunctionCode, log_path: Path, *, limit: int = 8) -> None:
        self._code = code
        self._log = log_path.open("ab")
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[ExecutionEnvironment] = []
        self._all: set[ExecutionEnvironment] = set()
        self._running: set[asyncio.Task[None]] = set()

    @property
    def size(self) -> int:
        """How many environments there are."""
        return len(self._all)

    async def warm(self) -> None:
        """Start one environment ahead of the first request.

        Raises
        ------
        StartError
            When the function does not start.
        """
        async with self._slots:
            self._idle.append(await self._started())

    def invoke(self, event: Mapping[str, Any]) -> Invocation:
        """Begin an invocation; its response is read from what is returned."""
        invocation = Invocation(event, self._code.timeout)
        task = asyncio.create_task(self._serve(invocation))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return invocation

    async def _serve(self, invocation: Invocation) -> None:
        try:
            async with self._slots:
                await self._run(invocation)
        except StartError as error:
            _log.error("%s", error)
            invocation.fail("Runtime.InitError")
        finally:
            # Whatever went wrong, nobody waits for ever; changes nothing when the invocation has ended.
            invocation.fail("Sandbox.Failure")

    async def _run(self, invocation: Invocation) -> None:
        environment = await self._warm_one()
        if environment is not None and await self._ran(environment, invocation):
            return
        # None was idle, or the one that was has died before it knew of the invocation.
        if not await self._ran(await self._started(), invocation):
            invocation.fail("Runtime.ExitError")

    async def _ran(self, environment: ExecutionEnvironment, invocation: Invocation) -> bool:
        reached = await environment.run(invocation)
        if environment.alive:
            self._idle.append(environment)
        else:
            await self._drop(environment)
        return reached

    async def _warm_one(self) -> ExecutionEnvironment | None:
        while self._idle:
            environment = self._idle.pop()
            if environment.alive:
                return environment
            await self._drop(environment)
        return None

    async def _started(self) -> ExecutionEnvironment:
        environment = ExecutionEnvironment(self._code, self._log)
        self._all.add(environment)
        try:
            await environment.start()
        except BaseException:
            await self._drop(environment)
            raise
        return environment

    async def _drop(self, environment: ExecutionEnvironment) -> None:
        self._all.discard(environment)
        await environment.stop()

    async def close(self) -> None:
        """End every process; what runs is cut off."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.gather(*(environment.stop() for environment in self._all))
        self._all.clear()
        self._idle.clear()
        self._log.close()
