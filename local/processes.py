"""Child processes that leave nothing behind: each leads a group of its own, and the group is killed as a whole."""

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


class ProcessGroup:
    """A running child with all its children.

    Parameters
    ----------
    process : asyncio.subprocess.Process
        The child; it must lead a process group of its own.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def alive(self) -> bool:
        """Whether the child itself runs."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's too."""
        return self._process.pid

    async def wait(self) -> int:
        """Wait for the child; give its exit code."""
        return await self._process.wait()

    async def terminate(self, grace: float) -> None:
        """Ask the group to end, and kill what is left after ``grace`` seconds."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the group at once."""
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        # The group outlives its leader while a grandchild runs.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def start_group(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: IO[bytes],
) -> ProcessGroup:
    """Start a command as the leader of a new process group, its output going to ``log``.

    On Linux the kernel ends the child when this process dies, however it dies.
    """
    death_signal = _death_signal() if sys.platform == "linux" else None
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=death_signal,
    )
    return ProcessGroup(process)


def _death_signal() -> Callable[[], None]:
    """Give what the child does before its program begins; the library is loaded here, not between fork and exec."""
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
