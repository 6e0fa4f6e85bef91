"""The knowledge base as the chat has it, over the fakes of the ingestion."""

from typing import Any

from shared.domain.ids import UserId
from shared.domain.kb.records import DocumentRecord
from shared.graphs.agent import Knowledge
from shared.services.browse_documents import BrowseDocuments
from shared.services.search_knowledge import SearchKnowledge, SearchLimits
from tests.fakes.knowledge import KnowledgeBase


class ChatKnowledge:
    """What users uploaded, and the services by which agents reach it.

    Attributes
    ----------
    base
        The ingestion: ``upload`` here has it process a file to its end.
    """

    def __init__(self, **limits: Any) -> None:
        self.base = KnowledgeBase()
        self.limits = SearchLimits(**limits)

    def services(self) -> Knowledge:
        base = self.base
        return Knowledge(
            search=SearchKnowledge(
                index=base.index,
                embedder=base.embedder,
                documents=base.documents,
                chunks=base.chunks,
                metrics=base.metrics,
                limits=self.limits,
            ),
            documents=BrowseDocuments(base.documents),
        )

    async def upload(self, name: str, text: str, *, user: UserId) -> DocumentRecord:
        return await self.base.upload(name, text.encode(), user=user)
