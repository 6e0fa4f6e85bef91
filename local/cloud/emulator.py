"""The emulator: a pinned MiniStack in an environment of its own."""

import asyncio
import hashlib
import os
import secrets
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx

from local.cloud import state
from local.cloud.address import REGION, CloudAddress
from local.faults import EmulatorFault, PortTakenFault
from local.layout import REPOSITORY, Layout
from local.loopback import is_taken
from local.processes import ProcessGroup, start_group
from local.programs import child_environment, program, run

REQUIREMENTS: Final = REPOSITORY / "requirements" / "emulator.txt"

_START_SECONDS = 90.0
_SAVE_SECONDS = 30.0
_POLL_SECONDS = 0.1


async def install(layout: Layout) -> Path:
    """Make the emulator's environment, unless it is there; give its program.

    Functions run with the Python that runs the emulator, so it is the one that runs us: bundles are built for it.

    Raises
    ------
    CommandFault
        When a package cannot be installed.
    """
    folder = layout.emulator_environment
    stamp = folder / "installed"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        uv, env = program("uv"), child_environment(os.environ, {})
        log = layout.logs / "emulator-install.log"
        what = "Installing the local cloud"
        make = [uv, "venv", "--python", sys.executable, str(folder)]
        await run(make, cwd=REPOSITORY, env=env, log=log, what=what)
        fill = [uv, "pip", "install", "--python", str(folder), "--require-hashes", "--requirement", str(REQUIREMENTS)]
        await run(fill, cwd=REPOSITORY, env=env, log=log, what=what, append=True)
        stamp.write_text(wanted, encoding="utf-8")
    return folder / "bin" / "ministack"


@asynccontextmanager
async def emulator(
    program_path: Path, layout: Layout, address: CloudAddress, functions_see: Mapping[str, str]
) -> AsyncIterator[ProcessGroup]:
    """Run the emulator while the context lasts; its state is kept in ``layout.cloud``.

    Parameters
    ----------
    program_path : Path
        From :func:`install`.
    layout : Layout
        Where state, scratch files and log go.
    address : CloudAddress
        Where it listens.
    functions_see : mapping
        Variables that every function gets, besides its own.

    Raises
    ------
    PortTakenFault
        When its port is taken.
    EmulatorFault
        When it ends or does not get ready.
    """
    if is_taken(address.port):
        raise PortTakenFault(address.port, "LOCAL_CLOUD_PORT")
    discard_scratch(layout)
    state.move(layout, address)
    settings = {
        # Its default is every interface of the machine.
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(address.port),
        "MINISTACK_REGION": REGION,
        "PERSIST_STATE": "1",
        "STATE_DIR": str(layout.cloud_state),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(layout.cloud / "s3"),
        "TMPDIR": str(layout.scratch),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": "unix:///nonexistent",
    }
    log = layout.logs / "cloud.log"
    with log.open("wb") as output:
        group = await start_group(
            [str(program_path)],
            cwd=layout.scratch,
            env=child_environment(os.environ, {**functions_see, **settings}),
            log=output,
        )
    try:
        await _until_ready(group, address, log)
        yield group
    finally:
        # It writes its state when it is asked to end.
        await group.terminate(_SAVE_SECONDS)


def discard_scratch(layout: Layout) -> threading.Thread:
    """Give the folders an empty scratch; what was in it is removed meanwhile, by the thread that is returned.

    Each warm function was unpacked there: thousands of files, which a busy disk takes half a minute to forget. What is
    not removed when the process ends is removed by the next.
    """
    if layout.scratch.exists():
        layout.trash.mkdir(exist_ok=True)
        layout.scratch.rename(layout.trash / secrets.token_hex(8))
    layout.prepare()
    removal = threading.Thread(target=shutil.rmtree, args=(layout.trash,), kwargs={"ignore_errors": True}, daemon=True)
    removal.start()
    return removal


async def _until_ready(group: ProcessGroup, address: CloudAddress, log: Path) -> None:
    deadline = asyncio.get_running_loop().time() + _START_SECONDS
    async with httpx.AsyncClient(base_url=address.url, trust_env=False, timeout=2) as client:
        while asyncio.get_running_loop().time() < deadline:
            if not group.alive:
                raise EmulatorFault("The local cloud ended while it started.", log)
            try:
                if (await client.get("/_ministack/ready")).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(_POLL_SECONDS)
    raise EmulatorFault("The local cloud does not get ready.", log)
