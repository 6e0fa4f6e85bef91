"""Whether a bundle is what its target can run."""

import json
import subprocess
from pathlib import Path
from typing import Final

from infra.bundling.targets import LAMBDA_MACHINE, Target
from infra.functions import FUNCTIONS

UNZIPPED_LIMIT: Final = 250 * 1024 * 1024
"""What Lambda accepts."""

_ELF_MACHINES: Final = {LAMBDA_MACHINE: 0xB7}

# -I and -S: nothing of this machine's Python but its standard library, so what the bundle lacks is missing.
_IMPORT: Final = """
import json, os, sys, time
os.environ.update(json.loads(sys.argv[3]))
sys.path.insert(0, sys.argv[1])
start = time.process_time()
__import__(sys.argv[2])
elsewhere = [m.__name__ for m in list(sys.modules.values()) if "site-packages" in (getattr(m, "__file__", None) or "")]
assert not elsewhere, elsewhere
print(time.process_time() - start)
"""


class BundleError(Exception):
    """A bundle that would not start."""


def size_of(folder: Path) -> int:
    """Give the bytes of all files under a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check(folder: Path, function: str, target: Target) -> float | None:
    """Check a bundle: its size, its compiled wheels, and its import by an interpreter that sees nothing else.

    Parameters
    ----------
    folder : Path
        The bundle.
    function : str
        Whose it is.
    target : Target
        Who is to run it.

    Returns
    -------
    float or None
        CPU seconds that the import took; ``None`` when this machine cannot load the target's wheels.

    Raises
    ------
    BundleError
        When it is too large, holds a wheel of another machine, or cannot be imported.
    """
    size = size_of(folder)
    if size > UNZIPPED_LIMIT:
        raise BundleError(f"{folder} has {size / 1e6:.0f} MB; Lambda takes {UNZIPPED_LIMIT / 1e6:.0f}.")
    if target.platform:
        _check_machine(folder, _ELF_MACHINES[LAMBDA_MACHINE])
    if not target.can_import:
        return None
    return _import(folder, function, target)


def _check_machine(folder: Path, machine: int) -> None:
    foreign = [path for path in folder.rglob("*.so*") if int.from_bytes(path.read_bytes()[18:20], "little") != machine]
    if foreign:
        raise BundleError(f"Not for {LAMBDA_MACHINE}: {', '.join(str(path) for path in foreign)}")


def _import(folder: Path, function: str, target: Target) -> float:
    if target.interpreter is None:
        raise BundleError(f"No Python {target.python_version} to import {folder} with.")
    done = subprocess.run(
        [
            target.interpreter,
            *("-I", "-S", "-B"),
            *("-c", _IMPORT, folder, f"functions.{function}.handler", json.dumps(_environment(function))),
        ],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BundleError(f"functions.{function}.handler cannot be imported from {folder}:\n{done.stderr}")
    return float(done.stdout.split()[-1])


def _environment(function: str) -> dict[str, str]:
    """Give what a function must be told to start: any text for what has no default."""
    required = {name: "check" for name, field in FUNCTIONS[function].model_fields.items() if field.is_required()}
    return FUNCTIONS[function].model_validate(required).environment() | {
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "check",
        "AWS_SECRET_ACCESS_KEY": "check",
        "AWS_LAMBDA_FUNCTION_NAME": function,
    }
