"""Who hears of everything that comes out of a run, also when the client that started it has gone."""

from collections.abc import Sequence
from typing import Protocol

from langchain_core.messages import AnyMessage

from shared.domain.runs import EventPage
from shared.graphs.runs.stream import RunOutput


class Journal(Protocol):
    """Takes a run's outputs as they come and gives them as pages that can be kept. Never raises."""

    def begin(self, checkpoint_id: str | None, messages: Sequence[AnyMessage]) -> None:
        """Hear where the run starts; its outputs hold these messages again and again."""
        ...

    def write(self, output: RunOutput, *, shown: bool = True) -> None:
        """Take an output; one that is not ``shown`` is for the pages only, until :meth:`show_all`."""
        ...

    def show_all(self) -> None:
        """Show what was held back: it is true now."""
        ...

    def pages(self) -> Sequence[EventPage]:
        """Give what came since the pages that are kept."""
        ...

    def kept(self, pages: Sequence[EventPage]) -> None:
        """Hear that pages are kept."""
        ...


class NoJournal:
    """Keeps nothing."""

    def begin(self, checkpoint_id: str | None, messages: Sequence[AnyMessage]) -> None:
        """Do nothing."""

    def write(self, output: RunOutput, *, shown: bool = True) -> None:
        """Do nothing."""

    def show_all(self) -> None:
        """Do nothing."""

    def pages(self) -> Sequence[EventPage]:
        """Give nothing."""
        return ()

    def kept(self, pages: Sequence[EventPage]) -> None:
        """Do nothing."""
