"""The journal of a run: its events, for the client that started it and for those who follow it later."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence

from langchain_core.messages import AnyMessage

from shared.adapters.langgraph_api.event_pages import EventText, pack
from shared.adapters.langgraph_api.event_texts import EventTexts, new_marks
from shared.adapters.langgraph_api.run_errors import error_data
from shared.adapters.langgraph_api.run_events import RunEvents
from shared.adapters.langgraph_api.sse import sse_event
from shared.domain.ids import RunId, ThreadId
from shared.domain.runs import EventPage
from shared.graphs.runs.stream import Ended, Failed, RunOutput

LAST_EVENTS = ("end", "error")
"""What a run's events end with."""


class RunJournal:
    """Numbers the events of one run as they come.

    Parameters
    ----------
    run : str
        The run.
    thread : str or None
        Its thread; without one there are no pages.
    modes : collection of str
        The stream modes that were asked for, by the API's names.
    """

    def __init__(self, run: RunId, thread: ThreadId | None, modes: Collection[str]) -> None:
        self._run = run
        self._thread = thread
        self._named = RunEvents(modes, thread)
        self._texts = EventTexts()
        self._base: str | None = None
        self._events: list[EventText] = []
        self._shown = 0
        self._kept = 0
        self._told: set[int] = set()
        self._news = asyncio.Event()
        self._add("metadata", {"run_id": run, "attempt": 1})
        self.show_all()

    def begin(self, checkpoint_id: str | None, messages: Sequence[AnyMessage]) -> None:
        """Hear where the run starts."""
        self._base = checkpoint_id
        self._texts.begin(messages)

    def write(self, output: RunOutput, *, shown: bool = True) -> None:
        """Take an output."""
        match output:
            case Failed(code):
                self._add("error", error_data(code))
            case Ended(status):
                # An error is the last that is heard of a run that failed.
                if self._events[-1].name != "error":
                    self._add("end", {"run_id": self._run, "status": status})
            case _:
                for name, data in self._named.of(output.mode, output.data, output.namespace):
                    self._add(name, data)
        if shown:
            self.show_all()

    def show_all(self) -> None:
        """Show what was held back."""
        self._shown = len(self._events)
        self._news.set()

    def pages(self) -> Sequence[EventPage]:
        """Give what came since the pages that are kept."""
        if self._thread is None:
            return ()
        return [
            EventPage(
                run_id=self._run,
                thread_id=self._thread,
                first=packed.first,
                last=packed.last,
                body=packed.body,
                base=self._base,
            )
            for packed in pack(self._events[self._kept :], self._texts, set(self._told))
        ]

    def kept(self, pages: Sequence[EventPage]) -> None:
        """Hear that pages are kept."""
        if pages:
            for event in self._events[self._kept : pages[-1].last]:
                self._told.update(new_marks(event.text))
            self._kept = pages[-1].last

    async def sent(self) -> AsyncGenerator[bytes]:
        """Give the events as they are shown, up to and with the last."""
        number = 0
        while True:
            while number < self._shown:
                event = self._events[number]
                number += 1
                yield sse_event(event.name, self._texts.whole(event.text), event.number)
                if event.name in LAST_EVENTS:
                    return
            self._news.clear()
            await self._news.wait()

    def _add(self, name: str, data: object) -> None:
        self._events.append(EventText(len(self._events) + 1, name, self._texts.text(data)))
