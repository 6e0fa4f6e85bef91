"""The knowledge base as the chat has it, over the fakes of the ingestion."""

from collections.abc import Awaitable, Callable
from typing import Any

from shared.domain.documents import document_id_for
from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.folders import FolderId
from shared.domain.kb.records import DocumentRecord
from shared.domain.uploads import owner_of, upload_key, user_prefix
from shared.graphs.agent import Knowledge
from shared.services.await_documents import AwaitDocuments
from shared.services.browse_documents import BrowseDocuments
from shared.services.manage_folders import ReadFolders
from shared.services.search_knowledge import SearchKnowledge, SearchLimits
from shared.services.show_documents import ShowDocuments
from shared.services.take_in_files import TakeInFiles
from tests.fakes.knowledge import KnowledgeBase


class ChatKnowledge:
    """What users uploaded, and the services by which agents reach it.

    Attributes
    ----------
    base
        The ingestion: ``upload`` here has it process a file to its end.
    pause
        What happens while a turn waits for documents; the ingestion takes what is in the bucket, unless told otherwise.
    """

    def __init__(
        self,
        *,
        pause: Callable[[float], Awaitable[None]] | None = None,
        wait_seconds: float = 60,
        document_tokens: int = 1_000,
        max_bytes: int = 10_000,
        **limits: Any,
    ) -> None:
        self.base = KnowledgeBase()
        self.pause = pause or self.ingest
        self.wait_seconds = wait_seconds
        self.document_tokens = document_tokens
        self.max_bytes = max_bytes
        self.limits = SearchLimits(**limits)
        self.delivered: set[tuple[UserId, DocumentId]] = set()

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
            folders=ReadFolders(base.folders, base.documents),
            files=self.files,
            wait=AwaitDocuments(base.documents, seconds=self.wait_seconds, pause=self.pause),
            show=ShowDocuments(base.documents, base.pages, token_budget=self.document_tokens),
        )

    @property
    def files(self) -> TakeInFiles:
        base = self.base
        return TakeInFiles(
            records=base.documents,
            documents=base.documents,
            uploads=base.objects,
            clock=base.clock,
            max_bytes=self.max_bytes,
        )

    async def ingest(self, _seconds: float = 0) -> None:
        """Deliver the events of all objects that have none yet, in the order in which they were written."""
        for key, versions in list(self.base.objects.kept.items()):
            owner = owner_of(key)
            if owner is not None and versions and (owner, document_id_for(owner, key)) not in self.delivered:
                self.delivered.add((owner, document_id_for(owner, key)))
                _, _, name = key.split("/", 3)[1:]
                await self.base.deliver(self.base.change(name, versions[-1][1], user=owner))

    async def upload(self, name: str, text: str, *, user: UserId, folder: FolderId | None = None) -> DocumentRecord:
        key = upload_key(user, "u1", name, folder=folder)
        place = name if folder is None else key.removeprefix(f"{user_prefix(user)}uploads/")
        return await self.base.upload(place, text.encode(), user=user)
