"""The machines that bundles are made for."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LAMBDA: Final = "lambda"
LOCAL: Final = "local"

LAMBDA_PYTHON: Final = "3.13"
LAMBDA_MACHINE: Final = "aarch64"
# Amazon Linux 2023 has glibc 2.34; an older manylinux would leave packages without a wheel.
_LAMBDA_PLATFORM: Final = "aarch64-manylinux_2_28"


@dataclass(frozen=True, slots=True)
class Target:
    """A machine that runs bundles.

    Parameters
    ----------
    name : str
        Its folder under ``build/``.
    python_version : str
        Major and minor.
    platform : str or None
        As ``uv --python-platform`` takes it; ``None`` is this machine.
    interpreter : Path or None
        A Python of that version on this machine, to compile with.
    can_import : bool
        Whether that interpreter can load the bundle's compiled wheels.
    """

    name: str
    python_version: str
    platform: str | None
    interpreter: Path | None
    can_import: bool

    @property
    def identity(self) -> str:
        """What a bundle for it depends on; where the interpreter is does not matter."""
        machine = self.platform or f"{sys.platform}-{platform.machine()}"
        return f"{self.python_version} {machine} {'compiled' if self.interpreter else 'sources'}"


def lambda_target() -> Target:
    """Give the deployed runtime. Without a Python 3.13 on this machine its bundles hold sources only."""
    interpreter = find_python(LAMBDA_PYTHON)
    same_machine = sys.platform == "linux" and platform.machine() == LAMBDA_MACHINE
    return Target(LAMBDA, LAMBDA_PYTHON, _LAMBDA_PLATFORM, interpreter, can_import=same_machine and bool(interpreter))


def local_target(interpreter: Path | None = None) -> Target:
    """Give this machine: the local cloud runs functions with a Python that is here.

    Parameters
    ----------
    interpreter : Path or None
        Which one; the running one when it is not said.

    Raises
    ------
    FileNotFoundError
        When there is no Python at that path.
    """
    interpreter = interpreter or Path(sys.executable)
    version = _version_of(interpreter)
    if version is None:
        raise FileNotFoundError(f"{interpreter} is no Python that runs.")
    return Target(LOCAL, version, None, interpreter, can_import=True)


def find_python(version: str) -> Path | None:
    """Find an interpreter of a minor version on this machine; nothing is downloaded.

    Parameters
    ----------
    version : str
        Major and minor, for example ``3.13``.
    """
    return next((path for path in _candidates(version) if _version_of(path) == version), None)


def find_uv() -> str:
    """Find uv: beside the running Python, where ``make`` puts it, or on the path.

    Raises
    ------
    FileNotFoundError
        When it is in neither place.
    """
    beside = Path(sys.executable).parent
    uv = shutil.which("uv", path=str(beside)) or shutil.which("uv")
    if uv is None:
        raise FileNotFoundError("uv is needed to build bundles: run `make setup`.")
    return uv


def _candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield Path(on_path)
    found = subprocess.run(
        [find_uv(), "python", "find", "--no-python-downloads", "--quiet", version],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode == 0:
        yield Path(found.stdout.strip())
    # pyenv's own `python3.13` refuses to start while another version is selected; the interpreter itself does not.
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))]
    if on_path and Path(on_path).parent.name == "shims":
        # Whoever has the shim on the path need not have pyenv at home.
        roots.append(Path(on_path).parents[1])
    for pyenv in roots:
        yield from sorted(pyenv.glob(f"versions/{version}*/bin/python{version}"))


def _version_of(interpreter: Path) -> str | None:
    try:
        answer = subprocess.run(
            [interpreter, "-I", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
