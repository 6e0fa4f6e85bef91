"""Showing a model the documents that came with messages, in the place of the marks that stand for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AnyMessage

from shared.domain.ids import DocumentId, ThreadId, UserId
from shared.domain.kb.file_parts import Part, is_handled_file, parts_of, referred_to, with_parts
from shared.domain.kb.pages import DocumentText
from shared.domain.kb.passages import cut_to
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.domain.kb.states import DocumentState
from shared.domain.prompt import SEARCH_TOOL, document_block
from shared.domain.summary import estimate_tokens
from shared.kb_ports import DocumentRecords, PageStore
from shared.ports import ThreadMessages

_PENDING: Final = "The file has arrived and was not looked at yet. Its text is not here: say so, do not guess it."
_PROCESSING: Final = "The file is being read. Its text is not here yet: say so, do not guess it."
_FAILED: Final = "The file could not be read. Tell the user the reason."
_CUT: Final = f"Only the beginning is shown. {SEARCH_TOOL} with this documentId finds the rest."
_LEFT_OUT: Final = f"The text is left out to save room. {SEARCH_TOOL} with this documentId finds it."


@dataclass(slots=True)
class ShownDocuments:
    """What was read in a turn, so that its next model call need not read it again.

    Parameters
    ----------
    texts : dict
        The texts of documents, by the id that was asked for.
    """

    texts: dict[DocumentId, tuple[DocumentRecord, str]] = field(
        default_factory=dict[DocumentId, tuple[DocumentRecord, str]]
    )


class ShowDocuments:
    """Reads documents of one user, and of no other.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    pages : PageStore
        Their texts.
    token_budget : int
        Estimated tokens that all documents of one model call may take together.
    """

    def __init__(self, records: DocumentRecords, pages: PageStore, *, token_budget: int) -> None:
        self._records = records
        self._pages = pages
        self._token_budget = token_budget

    async def shown(
        self, user: UserId | None, messages: Sequence[AnyMessage], read: ShownDocuments | None = None
    ) -> list[AnyMessage]:
        """Give messages with the text of each marked document, or with what has become of it (row KB18).

        A document that is not there, or is somebody else's, is dropped. The latest messages come first when there is
        not room for all, and a document that is there several times is shown once.

        Parameters
        ----------
        user : str or None
            Whose documents. From the verified identity; nobody has none.
        messages : sequence of message
            Neither they nor their parts are changed: what is stored stays as it is.
        read : ShownDocuments, optional
            What was read before in this turn.

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        read = read or ShownDocuments()
        left = self._token_budget
        blocks: dict[DocumentId, str] = {}
        places: dict[DocumentId, AnyMessage] = {}
        for message in reversed(messages):
            for document in _marks(message):
                if document in places:
                    continue
                places[document] = message
                if user is not None and (found := await self._look(user, document, read)) is not None:
                    blocks[document], used = _block(document, *found, left)
                    left -= used
        return [self._shown(message, blocks, places) for message in messages]

    def _shown(
        self, message: AnyMessage, blocks: dict[DocumentId, str], places: dict[DocumentId, AnyMessage]
    ) -> AnyMessage:
        there: set[DocumentId] = set()

        def instead(part: Part) -> Iterable[Part]:
            document = referred_to(part)
            if document is None:
                # Without its bytes a file is nothing that a model takes.
                return [] if is_handled_file(part) or _is_mark(part) else [part]
            if document in there or document not in blocks or places[document] is not message:
                return []
            there.add(document)
            return [{"type": "text", "text": blocks[document]}]

        return with_parts(message, instead)

    async def _look(
        self, user: UserId, document: DocumentId, read: ShownDocuments
    ) -> tuple[DocumentRecord, str] | None:
        if document in read.texts:
            return read.texts[document]
        try:
            record = await self._records.get(user, document)
            source = record if record.duplicate_of is None else await self._records.get(user, record.duplicate_of)
        except DocumentNotFoundError:
            return None
        if not source.text_reading:
            return source, ""
        pages = await self._pages.of_reading(user, source.id, source.text_reading)
        text = DocumentText(tuple(pages)).text if pages else ""
        if text:
            read.texts[document] = (source, text)
        return source, text


class DocumentedMessages:
    """The port ``ThreadMessages`` with the documents of messages shown in them (row TP18).

    Parameters
    ----------
    messages : ThreadMessages
        The messages as they are stored.
    documents : ShowDocuments
        Shows documents.
    """

    def __init__(self, messages: ThreadMessages, documents: ShowDocuments) -> None:
        self._messages = messages
        self._documents = documents

    async def load(self, user: UserId, thread: ThreadId) -> Sequence[AnyMessage]:
        """Read a thread."""
        return await self._documents.shown(user, await self._messages.load(user, thread))


def _marks(message: AnyMessage) -> list[DocumentId]:
    return [document for part in parts_of(message) if (document := referred_to(part)) is not None]


def _is_mark(part: Part) -> bool:
    return isinstance(part, dict) and part.get("type") == "kb_ref"


def _block(document: DocumentId, record: DocumentRecord, text: str, tokens: int) -> tuple[str, int]:
    """Give the block that a model reads, and the tokens that its text takes."""
    facts: dict[str, Any] = {"documentId": document, "name": record.name}
    if not text:
        return document_block({**facts, **_standing(record)}), 0
    facts |= {"status": "read", "pages": record.pages, "characters": len(text)}
    shown = cut_to(tokens, text)
    if shown == text:
        return document_block(facts, text), estimate_tokens(text)
    if not shown:
        return document_block({**facts, "note": _LEFT_OUT}), 0
    return document_block({**facts, "note": _CUT}, shown), tokens


def _standing(record: DocumentRecord) -> dict[str, str]:
    if record.state.is_failure:
        return {"status": "failed", "reason": record.reason, "note": _FAILED}
    if record.state is DocumentState.PENDING:
        return {"status": "pending", "note": _PENDING}
    return {"status": "processing", "note": _PROCESSING}
