"""Running the ingestion graph outside of any chat: an upload, a request to go over a document again, the next step."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from langgraph.graph.state import CompiledStateGraph

from shared.domain import counters
from shared.domain.ids import DocumentId, UserId, parse_thread_id
from shared.domain.kb.failures import IngestionFailedError
from shared.domain.kb.ingestion import IngestionStep
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord, StaleRunError
from shared.domain.kb.states import DocumentState, IllegalTransitionError
from shared.domain.spans import SpanKind
from shared.graphs.agent.envelope import Envelope
from shared.graphs.ids import KB_AGENT
from shared.kb_ports import DocumentRecords, IngestionQueue, Spans
from shared.ports import Clock, Metrics
from shared.services.ingestion import Ingestion, Progress
from shared.services.record_spans import RunSpans
from shared.services.remove_documents import RemoveDocuments

IngestionOutcome = Literal["ended", "waits", "stale"]
"""``waits``: the next step is queued. ``stale``: a newer run has the document, another delivery has come further, or
it is deleted."""

MAX_STALLS: Final = 6
"""After how many steps in a row without any progress a document is no longer waited for: about half an hour."""

_FIRST_WAIT_SECONDS: Final = 30
_LONGEST_WAIT_SECONDS: Final = 900

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one step may take, and what came before it.

    Parameters
    ----------
    seconds_left : callable
        How long the function may still run.
    run : str or None
        The run whose step it is; ``None`` for whichever has the document.
    stalls : int
        How many steps in a row have brought the document no further.
    """

    seconds_left: Callable[[], float]
    run: str | None = None
    stalls: int = 0


class IngestionRunner:
    """Takes documents as far as one invocation can, and queues the rest.

    Parameters
    ----------
    graph : CompiledStateGraph
        The ingestion graph.
    records : DocumentRecords
        What is known of documents.
    spans : Spans
        Where it is noted what happened.
    queue : IngestionQueue
        For the next step.
    removal : RemoveDocuments
        Clears up after a run whose document was deleted under it.
    clock : Clock
        The time of day.
    metrics : Metrics
        See ``shared.domain.counters``.
    """

    def __init__(
        self,
        *,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        records: DocumentRecords,
        spans: Spans,
        queue: IngestionQueue,
        removal: RemoveDocuments,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._graph = graph
        self._records = records
        self._progress = Progress(records, clock)
        self._spans = spans
        self._queue = queue
        self._removal = removal
        self._clock = clock
        self._metrics = metrics

    async def run(self, user: UserId, document: DocumentId, bounds: Bounds) -> IngestionOutcome:
        """Take a document on from where its record says that it is.

        Done twice, it does nothing new: every delivery of the same event or message may come here.

        Parameters
        ----------
        user, document : str
            Whose document, and which.
        bounds : Bounds
            What this step may take.

        Raises
        ------
        StoreError
            When something cannot answer; the delivery is then made again.
        """
        try:
            record = await self._records.get(user, document)
        except DocumentNotFoundError:
            return self._stale(document)
        if bounds.run not in (None, record.run):
            return self._stale(document)
        begun = self._ingestion(user, record, bounds)
        try:
            return await self._step(begun, bounds)
        except IllegalTransitionError:
            # The same step, delivered twice at a time.
            return self._stale(document)
        except StaleRunError:
            await self._clear_up(user, record)
            return self._stale(document)

    async def give_up(self, user: UserId, document: DocumentId, *, run: str | None = None) -> None:
        """Let a document end that was delivered as often as it may: nobody waits for what will not come.

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        self._metrics.count(counters.DOCUMENT_GIVEN_UP)
        try:
            record = await self._records.get(user, document)
            if record.state.is_final or run not in (None, record.run):
                return
            ingestion = self._ingestion(user, record, Bounds(seconds_left=lambda: 0.0))
            await self._progress.end(ingestion, IngestionFailedError())
        except (DocumentNotFoundError, StaleRunError, IllegalTransitionError):
            return

    def _ingestion(self, user: UserId, record: DocumentRecord, bounds: Bounds) -> Ingestion:
        spans = RunSpans(self._spans, self._clock, self._metrics, user=user, document=record.id, run=record.run)
        return Ingestion(
            user=user,
            record=record,
            seconds_left=bounds.seconds_left,
            spans=spans,
            patient=bounds.stalls < MAX_STALLS,
        )

    async def _step(self, begun: Ingestion, bounds: Bounds) -> IngestionOutcome:
        record = begun.record
        # Row KB21: the standalone thread is the document's own id, and no chat has it.
        envelope = Envelope(user=begun.user, thread=parse_thread_id(record.id.removeprefix("d-")))
        async with begun.spans.span(KB_AGENT, SpanKind.RUN) as span:
            # Row KB07. The document's id is the span's place; a run from a request has no message.
            span.facts |= {"origin": record.origin, "mode": record.mode, "version": record.counter}
            state = await self._graph.ainvoke({"ingestion": begun}, envelope.into({}))  # pyright: ignore[reportUnknownMemberType]
            after: Ingestion = state["ingestion"]
            if after.pause and not after.patient:
                after = replace(await self._progress.end(after, IngestionFailedError()), pause=None)
                self._metrics.count(counters.DOCUMENT_GIVEN_UP)
            span.facts["state"] = after.record.state
            if after.record.state.is_failure and not record.state.is_final:
                span.error = after.record.state
        if after.pause:
            await self._queue_the_rest(begun, after, bounds)
            return "waits"
        if not record.state.is_final:
            self._count_end(after.record)
        return "ended"

    async def _queue_the_rest(self, begun: Ingestion, after: Ingestion, bounds: Bounds) -> None:
        moved = after.record != begun.record
        stalls = 0 if moved else bounds.stalls + 1
        wait = 0 if after.pause == "time" else min(_FIRST_WAIT_SECONDS * 2**stalls, _LONGEST_WAIT_SECONDS)
        step = IngestionStep(user_id=after.user, document_id=after.record.id, run=after.record.run, stalls=stalls)
        await self._queue.take_on(step, after_seconds=wait)
        self._metrics.count(counters.INGESTION_WAITS)
        _log.info(
            "rest of the document queued",
            extra={"document_id": after.record.id, "waits_for": after.pause, "stalls": stalls},
        )

    async def _clear_up(self, user: UserId, record: DocumentRecord) -> None:
        """Remove what this run wrote of a document that was deleted under it."""
        try:
            # A newer run removes what is older when it is complete.
            await self._records.get(user, record.id)
        except DocumentNotFoundError:
            await self._removal.clear(user, record.id, last=record.counter, sha256=record.sha256)

    def _stale(self, document: DocumentId) -> IngestionOutcome:
        self._metrics.count(counters.INGESTION_STALE)
        _log.info("nothing to do for this run", extra={"document_id": document})
        return "stale"

    def _count_end(self, record: DocumentRecord) -> None:
        ready = record.state is DocumentState.READY
        self._metrics.count(counters.DOCUMENT_READY if ready else counters.DOCUMENT_ENDED)
        _log.info(
            "document ended",
            extra={
                "document_id": record.id,
                "state": record.state,
                "pages": record.pages,
                "chunks": record.chunks,
                "size": record.size,
            },
        )
