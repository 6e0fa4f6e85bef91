"""Child processes that leave nothing behind: each leads a group of its own, and the group is killed as a whole."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

# Becomes the command after it has asked the kernel (PR_SET_PDEATHSIG) to be ended with its parent, unless that has
# died meanwhile.
_LAUNCHER: Final = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""

_EXITING: Final = 0x4
"""Of the kernel's flags of a process (proc(5), PF_EXITING)."""


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
        """Whether the child itself runs, and nobody has killed it yet."""
        return self._process.returncode is None and not is_dying(self._process.pid)

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


def is_dying(pid: int) -> bool:
    """Tell whether a process has ended or is bound to: this process hears of that only later.

    Linux tells; elsewhere the answer is always no.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return sys.platform == "linux"
    # The command before the last bracket may hold anything.
    fields = stat.rpartition(")")[2].split()
    state, flags, pending = fields[0], int(fields[6]), int(fields[28])
    return state in "ZXx" or bool(flags & _EXITING) or bool(pending & 1 << signal.SIGKILL - 1)


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
    if sys.platform == "linux":
        # Not preexec_fn: this process has threads.
        command = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    return ProcessGroup(process)
