"""Nothing that was started is left running, not even by a process that dies."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from local.faults import CommandFault, MissingProgramFault
from local.processes import is_dying, start_group
from local.programs import child_environment, program, run

# A child that ignores being asked to end, with a child of its own.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def gone(pid: int) -> None:
    """Wait until no such process runs; the test's time-out is the deadline."""
    await asyncio.to_thread(poll, lambda: not running(pid))


async def line_of(path: Path) -> str:
    return (await asyncio.to_thread(poll, path.read_text)).strip()


def poll(look):
    while not (seen := look()):
        time.sleep(0.02)
    return seen


@pytest.mark.parametrize("how", ["kill", "terminate"])
async def test_group_is_ended_with_its_children(tmp_path, how):
    path = tmp_path / "log"
    with path.open("wb") as log:
        group = await start_group([sys.executable, "-c", STUBBORN], cwd=tmp_path, env=os.environ, log=log)
    grandchild = int(await line_of(path))
    assert group.alive
    await (group.kill() if how == "kill" else group.terminate(0.2))
    assert not group.alive
    await gone(grandchild)


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not tell children of their parent's death")
async def test_child_ends_when_its_parent_is_killed(tmp_path):
    code = f"""
import asyncio, os, sys
from pathlib import Path
from local.processes import is_dying, start_group
async def main():
    with open({str(tmp_path / "log")!r}, "wb") as log:
        group = await start_group([sys.executable, "-c", "import time; time.sleep(600)"],
                                  cwd=Path({str(tmp_path)!r}), env=os.environ, log=log)
    print(group.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert running(child)
    parent.kill()
    await parent.wait()
    await gone(child)


async def test_failed_command_tells_the_end_of_its_log(tmp_path):
    log = tmp_path / "log"
    code = "print('\\n'.join(f'line {n}' for n in range(100))); raise SystemExit(3)"
    with pytest.raises(CommandFault) as raised:
        await run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ, log=log, what="The thing")
    told = raised.value.explained()
    assert told.startswith("The thing failed.")
    assert "line 99" in told
    assert "line 10\n" not in told


def test_missing_program_is_said_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("local.programs.search_path", lambda: str(tmp_path))
    with pytest.raises(MissingProgramFault, match=r"node is not on this machine.*make setup"):
        program("node")


def test_children_get_no_credentials():
    environ = {
        "PATH": "/bin",
        "HOME": "/home/ada",
        "AWS_PROFILE": "work",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "OPENAI_API_KEY": "secret",
        "GITHUB_TOKEN": "secret",
    }
    made = child_environment(environ, {"AWS_REGION": "us-east-1"})
    assert "secret" not in made.values()
    assert "AWS_PROFILE" not in made
    assert (made["HOME"], made["AWS_REGION"], made["NO_PROXY"]) == ("/home/ada", "us-east-1", "127.0.0.1,localhost")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_a_child_is_known_to_be_dying_as_soon_as_it_is_killed(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        group = await start_group(
            [sys.executable, "-c", "import time; time.sleep(600)"], cwd=tmp_path, env=dict(os.environ), log=log
        )
    assert group.alive
    os.kill(group.pid, signal.SIGKILL)
    assert not group.alive
    await group.wait()
    assert is_dying(group.pid)
