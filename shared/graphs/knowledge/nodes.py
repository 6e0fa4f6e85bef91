"""The nodes of the ingestion graph: each does one step of the pipeline, and notes that it did."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig

from shared.domain.errors import MissingUserIdError
from shared.domain.spans import SpanKind
from shared.graphs.agent.envelope import Envelope
from shared.graphs.knowledge.state import KnowledgeState
from shared.services.complete_markdown import CompleteMarkdown
from shared.services.embed_document import EmbedDocument
from shared.services.ingestion import Ingestion
from shared.services.ocr_document import OcrDocument
from shared.services.prepare_document import PrepareDocument

Step = Callable[[Ingestion], Awaitable[Ingestion]]
"""Takes a document further, or gives it back as it is when there is nothing to do for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The steps of an ingestion, in order.

    Parameters
    ----------
    prepare : PrepareDocument
        From the object to pages.
    ocr : OcrDocument
        Pictures of text to text.
    markdown : CompleteMarkdown
        Whether there is a text now.
    embed : EmbedDocument
        Chunks, vectors, and the moment from which readers see them.
    """

    prepare: PrepareDocument
    ocr: OcrDocument
    markdown: CompleteMarkdown
    embed: EmbedDocument


class StepNode:
    """A node that does one step for the user of the envelope.

    Parameters
    ----------
    name : str
        The node's.
    step : callable
        What it does.
    """

    def __init__(self, name: str, step: Step) -> None:
        self._name = name
        self._step = step

    async def __call__(self, state: KnowledgeState, config: RunnableConfig) -> dict[str, Any]:
        """Do the step.

        Raises
        ------
        MissingUserIdError
            When the envelope names nobody, or somebody else.
        StaleRunError, IllegalTransitionError, StoreError
            As the step.
        """
        ingestion = state["ingestion"]
        if Envelope.of(config).user != ingestion.user:
            raise MissingUserIdError("The document is not this user's.")
        async with ingestion.spans.span(self._name, SpanKind.NODE) as span:
            after = await self._step(ingestion)
            span.facts |= {
                "state": after.record.state,
                "pages": after.record.pages,
                "pages_done": after.record.pages_done,
                "chunks": after.record.chunks,
                "chunks_done": len(after.record.embedded),
            }
            if after.pause:
                span.facts["waits_for"] = after.pause
            if after.record.state.is_failure and not ingestion.record.state.is_final:
                span.error = after.record.state
        return {"ingestion": after}


async def rewrite_nothing(state: KnowledgeState, config: RunnableConfig) -> dict[str, Any]:
    """Rewrite the messages that brought a document: one that was uploaded came with none (row G23)."""
    return {}
