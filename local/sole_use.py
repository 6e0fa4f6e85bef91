"""One local product at a time for one folder of state."""

import fcntl
from collections.abc import Generator
from contextlib import contextmanager

from local.faults import LocalFault
from local.layout import Layout


@contextmanager
def sole_use(layout: Layout) -> Generator[None]:
    """Hold the folder while the context lasts; the kernel lets go of it when the process dies.

    Raises
    ------
    LocalFault
        When another process holds it.
    """
    layout.state.mkdir(parents=True, exist_ok=True)
    with layout.lock.open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LocalFault(f"Another local product runs on {layout.state}; stop it first.") from error
        yield
