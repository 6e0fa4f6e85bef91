"""The tool by which the model finds passages of the user's documents."""

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, Field

from shared.domain.content import text_of
from shared.domain.errors import InvalidIdError, MissingUserIdError
from shared.domain.ids import DocumentId, UserId, parse_document_id
from shared.domain.kb.citations import PASSAGES, PassageNumbers, citation_of, last_number
from shared.domain.kb.mentions import mentions_in
from shared.domain.kb.passages import Passage, Passages
from shared.domain.prompt import SEARCH_TOOL, inert
from shared.graphs.agent.deps import Knowledge
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.state import AgentState
from shared.graphs.agent.tools.failures import failure_text
from shared.services.browse_documents import MAX_NAMED
from shared.services.search_knowledge import SearchResult

DESCRIPTION: Final = """\
Find passages of the user's own documents: the files they uploaded or sent in a conversation.

query is what is looked for, in a few words or a question; write it in the documents' language where you know it. With
documentIds only these documents are searched, and an empty query then reads them from their beginning. When the user's
message names documents or folders by a mention, only those are searched in any case.

Each passage comes with a number to cite it by, the document's name, its pages, and where it begins and ends in the
document's text, in characters. What does not fit is left out and counted. When the passages do not answer the question,
try once or twice more with other words; then say that you did not find it."""

NOTHING: Final = "Nothing was found. Say so; do not answer as if it had been."
NO_SUCH_DOCUMENTS: Final = "None of these documents is there: the user has no such document, or deleted it."
NOTHING_ASKED: Final = "Nothing was asked. Give a query, or documentIds to read these documents from their beginning."
UNAVAILABLE: Final = (
    "The knowledge base did not answer; what was looked for may be in it. Tell the user that you could not look."
)
WORDS_ONLY: Final = "Only passages with the words of the query were looked for; others may fit as well."
TRUNCATED: Final = "Not everything that was found fits. Search for something narrower to see more."


class SearchInput(BaseModel):
    """What the model fills in."""

    query: str = Field(default="", max_length=10_000, description="What is looked for.")
    # The name is the tool's contract, and the schema a model is shown knows no aliases.
    documentIds: list[str] = Field(  # noqa: N815
        default_factory=list, max_length=MAX_NAMED, description="Search only these; as list_documents gives them."
    )


def search_knowledge_base_tool(knowledge: Knowledge) -> BaseTool:
    """Make the tool.

    Parameters
    ----------
    knowledge : Knowledge
        The services that find.
    """

    @tool(SEARCH_TOOL, description=DESCRIPTION, args_schema=SearchInput, response_format="content_and_artifact")
    async def search_knowledge_base(
        query: str,
        documentIds: list[str],  # noqa: N803 - as above
        runtime: ToolRuntime[None, AgentState],
    ) -> tuple[str, dict[str, Any]]:
        envelope = Envelope.of(runtime.config)
        if envelope.user is None:
            raise MissingUserIdError("Nobody is signed in, so there are no documents.")
        thread = envelope.whole_thread(runtime.state["messages"])
        scope = await _scope(knowledge, envelope.user, thread, documentIds)
        if scope == []:
            return failure_text("NO_SUCH_DOCUMENTS", NO_SUCH_DOCUMENTS), {PASSAGES: []}
        if scope is None and not query.strip():
            return failure_text("EMPTY_QUERY", NOTHING_ASKED), {PASSAGES: []}
        result = await knowledge.search.search(envelope.user, query, scope)
        if result.basis == "none":
            return failure_text("UNAVAILABLE", UNAVAILABLE), {PASSAGES: []}
        last = last_number(thread, runtime.state.get("running_summary", ""))
        numbers = envelope.numbers or PassageNumbers()
        found = result.found.numbered_from(numbers.take(len(result.found.passages), after=last))
        noted = [citation_of(passage) for passage in found.passages]
        return json.dumps(_answer(result, found), ensure_ascii=False), {PASSAGES: noted}

    return search_knowledge_base


async def _scope(
    knowledge: Knowledge, user: UserId, thread: Sequence[AnyMessage], given: Sequence[str]
) -> Sequence[DocumentId] | None:
    """Give the documents that are to be searched; ``None`` for all.

    What the user names is what the user wants looked at; the model may narrow that and not widen it.
    """
    question = next((message for message in reversed(thread) if isinstance(message, HumanMessage)), None)
    mentions = mentions_in("" if question is None else text_of(question.content))
    asked = [document for each in given if (document := _id_or_none(each)) is not None]
    found = await knowledge.documents.found_as(user, asked)
    if not mentions:
        return found if given else None
    named = await knowledge.documents.found_as(user, mentions.documents)
    inside = await knowledge.folders.documents_in(user, mentions.folders)
    allowed = list(dict.fromkeys([*named, *inside]))
    return [document for document in found if document in allowed] if given else allowed


def _id_or_none(value: str) -> DocumentId | None:
    try:
        return parse_document_id(value.strip())
    except InvalidIdError:
        return None


def _answer(result: SearchResult, found: Passages) -> dict[str, Any]:
    notes = [
        *([] if found.passages else [NOTHING]),
        *([WORDS_ONLY] if result.basis == "words" else []),
        *([] if found.complete else [TRUNCATED]),
    ]
    answer: dict[str, Any] = {"ok": True, "passages": [_shown(passage) for passage in found.passages]}
    if found.left_out:
        answer["leftOut"] = found.left_out
    return {**answer, "note": " ".join(notes)} if notes else answer


def _shown(passage: Passage) -> dict[str, Any]:
    """Give a passage as the model reads it. In JSON its text cannot end where it likes, nor can it be a tag of ours."""
    pages = {passage.page_from, passage.page_to}
    shown: dict[str, Any] = {
        "number": passage.number,
        "document": inert(passage.document),
        "documentId": passage.document_id,
        "page": "-".join(str(page) for page in sorted(pages)),
        "start": passage.start,
        "end": passage.end,
        "text": inert(passage.text),
    }
    return {**shown, "cut": True} if passage.cut else shown
