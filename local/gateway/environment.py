"""An execution environment: one process of the function behind its own Runtime API, one invocation at a time."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import IO, Any, Final

from local.gateway.invocation import Invocation
from local.gateway.runtime_api import RuntimeApi
from local.processes import ProcessGroup, start_group

# Lambda gives a function ten seconds to start; a cold laptop compiles first.
START_SECONDS: Final = 60.0


class StartError(RuntimeError):
    """The function's process did not get ready."""


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """What a process of a function needs.

    Parameters
    ----------
    arn, handler : str
        As deployed.
    task_root : Path
        The unpacked bundle.
    wrapper : Path
        The script that starts it (``AWS_LAMBDA_EXEC_WRAPPER``).
    interpreter : Path
        The Python it is built for.
    environment : mapping
        All variables of the process but the Runtime API's address.
    timeout : float
        Seconds one invocation may take.
    """

    arn: str
    handler: str
    task_root: Path
    wrapper: Path
    interpreter: Path
    environment: dict[str, str]
    timeout: float


class ExecutionEnvironment:
    """A process that serves one invocation after the other.

    Parameters
    ----------
    code : FunctionCode
        What to run.
    log : file
        Takes what the process writes.
    """

    def __init__(self, code: FunctionCode, log: IO[bytes]) -> None:
        self._code = code
        self._log = log
        self._api = RuntimeApi(code.arn)
        self._process: ProcessGroup | None = None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.alive

    async def start(self) -> None:
        """Start the process and wait until it asks for work.

        Raises
        ------
        StartError
            When it ends, says that it cannot, or takes too long.
        """
        address = await self._api.start()
        # The managed runtime hands its own command to the wrapper: an interpreter and a script of its image.
        command = [str(self._code.wrapper), str(self._code.interpreter), "/var/runtime/bootstrap.py"]
        environment = {
            **self._code.environment,
            "AWS_LAMBDA_RUNTIME_API": address,
            "LAMBDA_TASK_ROOT": str(self._code.task_root),
            "_HANDLER": self._code.handler,
        }
        self._process = await start_group(command, cwd=self._code.task_root, env=environment, log=self._log)
        await self._wait_for(self._api.ready.wait(), time() + START_SECONDS)
        if not self._api.ready.is_set():
            reason = self._api.init_error or ("it ended" if not self.alive else "it took too long")
            await self.stop()
            raise StartError(f"The function did not start: {reason}")

    async def run(self, invocation: Invocation) -> bool:
        """Run one invocation to its end; the process is killed when it takes too long, as Lambda does.

        Returns
        -------
        bool
            Whether the process has read it. When not, the process has died and another one may run the invocation.
        """
        self._api.hand_over(invocation)
        await self._wait_for(invocation.settled.wait(), invocation.deadline)
        if invocation.settled.is_set():
            return True
        timed_out = self.alive
        await self._end()
        if not timed_out and not await self._api.has_reached():
            await self._api.stop()
            return False
        await self._api.stop()
        invocation.fail("Sandbox.Timedout" if timed_out else "Runtime.ExitError")
        return True

    async def stop(self) -> None:
        """End the process and its Runtime API."""
        await self._end()
        await self._api.stop()

    async def _end(self) -> None:
        if self._process is not None:
            await self._process.kill()

    async def _wait_for(self, awaited: Coroutine[Any, Any, object], until: float) -> None:
        """Wait for something, but not past ``until`` and not for a process that has ended."""
        process = self._process
        if process is None:
            raise RuntimeError("The environment was not started.")
        tasks = [asyncio.ensure_future(awaited), asyncio.ensure_future(process.wait())]
        try:
            await asyncio.wait(tasks, timeout=max(0.0, until - time()), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
