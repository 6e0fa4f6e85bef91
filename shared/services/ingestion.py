"""A document on its way from object to vectors, and how it is written down how far it has come."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from shared.domain.ids import UserId
from shared.domain.kb.failures import DocumentError
from shared.domain.kb.pages import Page
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.domain.kb.states import DocumentState
from shared.kb_ports import DocumentRecords
from shared.ports import Clock
from shared.services.record_spans import RunSpans

Pause = Literal["time", "model", "ocr"]
"""Why a step stops before the document's end: too little time is left, or the model or OCR is over its quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingestion:
    """One step of a run, from node to node.

    Parameters
    ----------
    user : str
        Whose document.
    record : DocumentRecord
        As it was last written.
    seconds_left : callable
        How long this step may still take.
    spans : RunSpans
        Where it is noted what happened.
    patient : bool
        Whether what is over its quota is waited for; not for ever, so that at last the document ends without it.
    data : bytes or None
        The object, once it was read.
    pages : tuple of Page or None
        The pages, once they are known.
    pause : Pause or None
        Set when the rest has to wait.
    """

    user: UserId
    record: DocumentRecord
    seconds_left: Callable[[], float]
    spans: RunSpans
    patient: bool = True
    data: bytes | None = None
    pages: tuple[Page, ...] | None = None
    pause: Pause | None = None

    def waits_for(self, *states: DocumentState) -> bool:
        """Say whether a step that begins in one of these states has something to do."""
        return self.pause is None and self.record.state in states


class Progress:
    """Writes down how far a document has come; the run that is no longer the document's finds out here.

    Parameters
    ----------
    records : DocumentRecords
        The documents.
    clock : Clock
        The time of day.
    """

    def __init__(self, records: DocumentRecords, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def save(self, ingestion: Ingestion, record: DocumentRecord) -> Ingestion:
        """Write the record.

        Raises
        ------
        StaleRunError
            When another run has taken over, or the document is deleted.
        IllegalTransitionError
            When another delivery of the same step has come further.
        """
        await self._records.save(ingestion.user, record, now=self._clock.now())
        return replace(ingestion, record=record)

    async def to(self, ingestion: Ingestion, *states: DocumentState, **changes: Any) -> Ingestion:  # noqa: ANN401 - fields of the record
        """Move the document on, through states that have nothing to do if several are given.

        Raises
        ------
        StaleRunError, IllegalTransitionError
            As :meth:`save`.
        """
        for state in states:
            ingestion = await self.save(ingestion, replace(ingestion.record, state=state, **changes))
        return ingestion

    async def is_gone(self, ingestion: Ingestion) -> bool:
        """Say whether the document is deleted: nobody else removes what was written since then."""
        try:
            await self._records.get(ingestion.user, ingestion.record.id)
        except DocumentNotFoundError:
            return True
        return False

    async def end(self, ingestion: Ingestion, error: DocumentError) -> Ingestion:
        """Let the document end where the error says, with its reason.

        Raises
        ------
        StaleRunError, IllegalTransitionError
            As :meth:`save`.
        """
        return await self.to(ingestion, error.state, reason=error.reason)
