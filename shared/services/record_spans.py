"""Noting what happens in a run, for the one whose run it is. What cannot be noted never breaks the run (row OB03)."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from shared.domain import counters
from shared.domain.errors import EverthreadError, StoreError
from shared.domain.ids import DocumentId, UserId
from shared.domain.spans import Span, SpanKind, SpanStatus, Trace
from shared.kb_ports import Spans
from shared.ports import Clock, Metrics, Traces

Fact = str | int | float

_log = logging.getLogger(__name__)


class KeepTraces:
    """Keeps the traces of threads' runs, if it can.

    Parameters
    ----------
    traces : Traces
        Where.
    clock : Clock
        The time of day, for who notes what happens.
    metrics : Metrics
        Counts what could not be kept.
    """

    def __init__(self, traces: Traces, clock: Clock, metrics: Metrics) -> None:
        self.clock = clock
        self._traces = traces
        self._metrics = metrics

    async def keep(self, user: UserId, trace: Trace) -> None:
        """Keep a trace. Never raises."""
        if not trace.spans:
            return
        try:
            await self._traces.save(user, trace)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run itself is well
            self._metrics.count(counters.SPANS_LOST, len(trace.spans))
            code = error.code if isinstance(error, EverthreadError) else type(error).__name__
            _log.warning("trace not written", extra={"code": code, "run_id": trace.run_id})


class OpenSpan:
    """A step that goes on.

    Attributes
    ----------
    facts
        To be filled with counts and states; never with texts.
    error
        The code of what went wrong, where that is not an exception.
    """

    def __init__(self, span_id: str) -> None:
        self.id = span_id
        self.facts: dict[str, Fact] = {}
        self.error = ""


class RunSpans:
    """The spans of one step of a run.

    Parameters
    ----------
    spans : Spans
        Where they are kept.
    clock : Clock
        The time of day.
    metrics : Metrics
        Counts what could not be noted.
    user, document, run : str
        Whose document, which, and its run.
    """

    def __init__(
        self, spans: Spans, clock: Clock, metrics: Metrics, *, user: UserId, document: DocumentId, run: str
    ) -> None:
        self._spans = spans
        self._clock = clock
        self._metrics = metrics
        self._user = user
        self._document = document
        self._run = run
        # A run may take several invocations, each of which has spans of its own.
        self._step = f"{clock.now():%Y%m%dT%H%M%S%f}"
        self._open: list[OpenSpan] = []
        self._waiting: list[Span] = []

    def now(self) -> datetime:
        """Give the present moment, for :meth:`note`."""
        return self._clock.now()

    @asynccontextmanager
    async def span(self, name: str, kind: SpanKind) -> AsyncGenerator[OpenSpan]:
        """Note a step while it lasts, and how it ended, within the one that is open.

        Parameters
        ----------
        name : str
            What is done.
        kind : SpanKind
            What it is of.
        """
        parent = self._open[-1].id if self._open else None
        opened = OpenSpan(f"{self._step}-{name}" if parent else self._step)
        span = Span(
            id=opened.id,
            run=self._run,
            name=name,
            kind=kind,
            status=SpanStatus.RUNNING,
            started_at=self._clock.now(),
            parent=parent,
        )
        await self._save(span)
        self._open.append(opened)
        status = SpanStatus.FAILED
        try:
            yield opened
            status = SpanStatus.FAILED if opened.error else SpanStatus.OK
        except Exception as error:
            opened.error = error.code if isinstance(error, EverthreadError) else type(error).__name__
            raise
        finally:
            self._open.pop()
            ended = replace(
                span, status=status, ended_at=self._clock.now(), error=opened.error, facts=dict(opened.facts)
            )
            await self._save(*self._waiting, ended)
            self._waiting.clear()

    def note(self, name: str, kind: SpanKind, *, since: datetime, error: str = "", **facts: Fact) -> None:
        """Note something that has ended; written with the step that it was part of.

        Parameters
        ----------
        name : str
            What it was; unique within its step.
        kind : SpanKind
            What it was of.
        since : datetime
            When it began.
        error : str
            The code of what went wrong.
        **facts : str, int or float
            Counts and states.
        """
        parent = self._open[-1].id if self._open else None
        self._waiting.append(
            Span(
                id=f"{self._step}-{name}",
                run=self._run,
                name=name,
                kind=kind,
                status=SpanStatus.FAILED if error else SpanStatus.OK,
                started_at=since,
                ended_at=self._clock.now(),
                parent=parent,
                error=error,
                facts=facts,
            )
        )

    async def _save(self, *spans: Span) -> None:
        try:
            await self._spans.save(self._user, self._document, spans)
        except StoreError as error:
            self._metrics.count(counters.SPANS_LOST, len(spans))
            _log.warning("spans not written", extra={"code": error.code})
