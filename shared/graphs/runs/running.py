"""A run as whoever started it sees it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator

from shared.domain.ids import RunId
from shared.graphs.runs.stream import Ended, RunOutput


class Running(ABC):
    """Something that goes on whether or not anybody listens, and whose outputs one reader may have.

    Parameters
    ----------
    run : str
        The run's id.
    """

    def __init__(self, run: RunId) -> None:
        self._id = run
        self._outputs: asyncio.Queue[RunOutput] = asyncio.Queue()
        self._driving: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._id

    def begin(self) -> asyncio.Task[None]:
        """Set the run going; give its task, which never raises."""
        self._driving = asyncio.create_task(self._drive(), name=f"run-{self._id}")
        return self._driving

    async def outputs(self) -> AsyncIterator[RunOutput]:
        """Give what comes out of the run, up to and with :class:`Ended`. For one reader."""
        while True:
            output = await self._outputs.get()
            yield output
            if isinstance(output, Ended):
                return

    async def finished(self) -> None:
        """Wait until the run has done all that it does, however often the waiting is cancelled."""
        if self._driving is not None:
            await asyncio.shield(self._driving)

    @abstractmethod
    async def _drive(self) -> None:
        """Do what the run does, and put its outputs into the queue; :class:`Ended` is the last."""
