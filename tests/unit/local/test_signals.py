"""One signal ends the work in order; impatience does not spoil the end."""

import asyncio
import signal
import sys

import pytest

WORK = """
import asyncio
from local.signals import until_signalled

async def work():
    try:
        print("working", flush=True)
        await asyncio.sleep(600)
    finally:
        print("ending", flush=True)
        await asyncio.to_thread(input)
        print("ended", flush=True)

try:
    asyncio.run(until_signalled(work()))
except asyncio.CancelledError:
    print("cancelled", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_work_is_ended_in_order_however_often_it_is_asked(number):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORK, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert await process.stdout.readline() == b"working\n"
    process.send_signal(number)
    assert await process.stdout.readline() == b"ending\n"
    process.send_signal(number)
    process.send_signal(signal.SIGINT)
    process.stdin.write(b"go on\n")
    assert await process.stdout.read() == b"ended\ncancelled\n"
    assert await process.wait() == 0


async def test_work_that_ends_by_itself_just_ends():
    code = WORK.replace("await asyncio.sleep(600)", "pass").replace("await asyncio.to_thread(input)", "pass")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert output == b"working\nending\nended\n"
