"""The tool by which the model sees which documents the user has."""

import json
from typing import Any, Final

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from shared.domain.errors import MissingUserIdError
from shared.domain.kb.records import DocumentRecord
from shared.domain.prompt import inert
from shared.graphs.agent.deps import Knowledge
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.state import AgentState
from shared.services.browse_documents import Standing

PAGE_SIZE: Final = 20

DESCRIPTION: Final = f"""\
List the user's own documents, the newest first, {PAGE_SIZE} a page: id, name, state, and whether a search finds them.

name narrows the list to documents with that in their name. standing narrows it to those that are searchable, in
processing, or failed; of a failed one the reason is given, which you may tell the user. Use the ids as documentIds of
search_knowledge_base."""

NONE: Final = "The user has no such documents."


class ListInput(BaseModel):
    """What the model fills in."""

    name: str = Field(default="", max_length=255, description="A part of the name; empty for all.")
    standing: Standing = Field(default="any", description="Where the documents stand.")
    page: int = Field(default=1, ge=1, le=10_000, description="Which page of the list.")


def list_documents_tool(knowledge: Knowledge) -> BaseTool:
    """Make the tool.

    Parameters
    ----------
    knowledge : Knowledge
        The service that knows the documents.
    """

    @tool("list_documents", description=DESCRIPTION, args_schema=ListInput)
    async def list_documents(
        name: str,
        standing: Standing,
        page: int,
        runtime: ToolRuntime[None, AgentState],
    ) -> str:
        envelope = Envelope.of(runtime.config)
        if envelope.user is None:
            raise MissingUserIdError("Nobody is signed in, so there are no documents.")
        found = await knowledge.documents.page(envelope.user, name=name, standing=standing, page=page, size=PAGE_SIZE)
        answer: dict[str, Any] = {"ok": True, "total": found.total, "page": page}
        answer["documents"] = [_shown(record) for record in found.documents]
        if not found.total:
            answer["note"] = NONE
        elif found.total > page * PAGE_SIZE:
            answer["note"] = f"There are more: ask for page {page + 1}."
        return json.dumps(answer, ensure_ascii=False)

    return list_documents


def _shown(record: DocumentRecord) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "documentId": record.id,
        "name": inert(record.name),
        "state": record.state,
        "searchable": record.is_searchable,
        "pages": record.pages,
        "uploadedAt": record.created_at.isoformat(),
    }
    return {**shown, "reason": inert(record.reason)} if record.reason else shown
