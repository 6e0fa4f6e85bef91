"""The other programs that the local product starts, and the environment they get."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from local.faults import CommandFault, MissingProgramFault
from local.layout import REPOSITORY
from local.processes import start_group

# What a child may see of this process's environment: where things are, and how to reach package registries.
# Credentials of any kind stay here.
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TERM", "TZ")
_PASSED_ON_PREFIXES: Final = ("LC_", "UV_", "PIP_", "SSL_", "XDG_", "PYENV_", "REQUESTS_CA_", "NODE_EXTRA_CA_")
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_HINTS: Final = {
    "node": "CDK needs node 20 or later: `make setup` puts one into the environment.",
    "cdk": "`make setup` installs the CDK command line.",
    "uv": "`make setup` puts it into the environment.",
}


def search_path() -> str:
    """Give the path on which programs are looked for: the environment's own, then the CDK's, then the machine's."""
    own = [str(Path(sys.executable).parent), str(REPOSITORY / "node_modules" / ".bin")]
    return os.pathsep.join([*own, os.environ.get("PATH", os.defpath)])


def program(name: str) -> str:
    """Find a program.

    Raises
    ------
    MissingProgramFault
        When it is not on this machine; the message says how to get it.
    """
    found = shutil.which(name, path=search_path())
    if found is None:
        raise MissingProgramFault(f"{name} is not on this machine. {_HINTS.get(name, '')}".strip())
    return found


def child_environment(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Give the environment of a child process: what it needs of ours, and ``extra``."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES) or name.upper() in _PROXIES
    }
    loopback = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    return {**kept, "PATH": search_path(), **loopback, **extra}


async def run(
    command: list[str], *, cwd: Path, env: Mapping[str, str], log: Path, what: str, append: bool = False
) -> None:
    """Run a command to its end, its output going to ``log``.

    Raises
    ------
    CommandFault
        When it ends badly; carries the log.
    """
    with log.open("ab" if append else "wb") as output:
        group = await start_group(command, cwd=cwd, env=env, log=output)
        try:
            code = await group.wait()
        except BaseException:
            await group.kill()
            raise
    if code != 0:
        raise CommandFault(f"{what} failed.", log)
