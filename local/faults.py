"""What can go wrong while the local product starts, told so that a person can act on it."""

from pathlib import Path

_TAIL_LINES = 25


class LocalFault(Exception):  # noqa: N818 - the base of what a person is told, see its children
    """The local product cannot start or go on; the message says why and what to do.

    Parameters
    ----------
    message : str
        For the person at the terminal.
    log : Path, optional
        A log whose end tells more.
    """

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log

    def explained(self) -> str:
        """Give the message with the end of the log."""
        if self.log is None or not self.log.exists():
            return str(self)
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([str(self), "", f"The end of {self.log}:", *(f"  {line}" for line in lines)])


class MissingProgramFault(LocalFault):
    """A program that is needed is not on this machine."""


class PortTakenFault(LocalFault):
    """Somebody else listens on a port."""

    def __init__(self, port: int, setting: str) -> None:
        super().__init__(f"Port {port} is taken. Stop what listens there, or choose another one with {setting}=….")


class CommandFault(LocalFault):
    """A command that was started ended badly."""


class EmulatorFault(LocalFault):
    """The local cloud does not run."""


class ModelFault(LocalFault):
    """The chosen model cannot be used."""
