"""Runs the scripts of ``clients/``: stock clients from npm, against the product."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from local.product import LocalProduct
from tests.e2e.people import Person

FOLDER = Path(__file__).parent / "clients"
_INSTALLED = FOLDER / "node_modules" / ".installed"
# The environment's own, which `make setup` puts there, comes before the machine's.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None, f"There is no {name}: make setup"
    return found


def install() -> None:
    """Install what the lock names, if that has not been done since it changed."""
    lock = FOLDER / "package-lock.json"
    if _INSTALLED.exists() and _INSTALLED.stat().st_mtime_ns >= lock.stat().st_mtime_ns:
        return
    command = [_program("npm"), "ci", "--silent", "--ignore-scripts"]
    subprocess.run(command, cwd=FOLDER, env={**os.environ, "PATH": _PATH}, check=True)  # noqa: S603 - our own arguments
    _INSTALLED.touch()


def chromium() -> str | None:
    """Find a Chromium; ``None`` when the machine has none. Nothing downloads one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name)) is not None), None)


async def run(script: str, product: LocalProduct, person: Person, **more: str) -> None:
    """Run a script to its end; what it says of a failure becomes the test's."""
    given = {
        "url": product.url,
        "modelUrl": product.model_url,
        "token": person.http.headers["Authorization"].removeprefix("Bearer "),
        **more,
    }
    process = await asyncio.create_subprocess_exec(
        _program("node"),
        script,
        json.dumps(given),
        cwd=FOLDER,
        env=_without_proxies(os.environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), timeout=300)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, said.decode()


def _without_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
