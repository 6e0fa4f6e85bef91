"""What is told of the steps of a start."""

from contextlib import AbstractAsyncContextManager
from time import monotonic

from rich.console import Console


class Steps(AbstractAsyncContextManager[None]):
    """Shows which step runs and how long each took; shows nothing any more when the context ends.

    Parameters
    ----------
    log : Console
        Where to. What is no terminal gets a line for the beginning of a step too.
    """

    def __init__(self, log: Console) -> None:
        self._log = log
        self._name = ""
        self._began = 0.0
        self._status = log.status("")

    def begin(self, name: str) -> None:
        """End the step before, and begin this one."""
        self._end()
        self._name, self._began = name, monotonic()
        if self._log.is_terminal:
            self._status.update(f"{name} …")
            self._status.start()
        else:
            # Nothing turns there, and a step may take minutes.
            self._log.print(f"  {name} …", style="dim")

    def done(self) -> None:
        """End the last step."""
        self._end()
        self._status.stop()

    async def __aexit__(self, *_failure: object) -> None:
        self._status.stop()

    def _end(self) -> None:
        if self._name:
            self._log.print(f"  {self._name}: {monotonic() - self._began:.1f} s", style="dim")
            self._name = ""
