"""What the emulator keeps between two starts: whether it can be used, and at which port it believes itself."""

import re
import shutil
from pathlib import Path
from typing import Final

from local.cloud.address import ACCOUNT, CloudAddress
from local.layout import Layout

# Who writes down the address of a queue: the queue itself, a function that is told of it, a stack that made it.
_HOLD_QUEUES: Final = ("sqs", "lambda", "cloudformation")
_QUEUE: Final = re.compile(rf"(?<=http://localhost:)\d+(?=/{ACCOUNT}/)")


def forget_unfinished(layout: Layout) -> None:
    """Forget a state that no deployment stands in.

    The emulator writes its state when it is asked to end. One that was killed, or interrupted in its first
    deployment, leaves parts of one: a bucket without the stack that made it, which the next deployment trips over.
    """
    if layout.outputs.exists() and _state_of(layout, "cloudformation").exists():
        return
    shutil.rmtree(layout.cloud, ignore_errors=True)
    layout.outputs.unlink(missing_ok=True)
    layout.deployed.unlink(missing_ok=True)
    layout.prepare()


def move(layout: Layout, address: CloudAddress) -> None:
    """Make a stored state one of another port: the address of a queue holds it, and functions are told of that.

    A deployment would not notice, as its templates stay the same.
    """
    # The outputs last: what is left over of an interrupted move is moved by the next.
    for path in (*(_state_of(layout, service) for service in _HOLD_QUEUES), layout.outputs):
        if path.exists():
            text = path.read_text(encoding="utf-8")
            moved = _QUEUE.sub(str(address.port), text)
            if moved != text:
                new = path.with_suffix(".moved")
                new.write_text(moved, encoding="utf-8")
                new.replace(path)


def _state_of(layout: Layout, service: str) -> Path:
    return layout.cloud_state / f"{service}.json"
