"""Showing a model the documents that came with messages, in the place of the marks that stand for them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import AnyMessage

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.file_parts import Part, is_file, marked_in, parts_of, referred_to, waited_for, with_parts
from shared.domain.kb.pages import DocumentText
from shared.domain.kb.passages import characters_beyond, cut_to, has_room
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.domain.kb.states import DocumentState
from shared.domain.prompt import SEARCH_TOOL, document_block
from shared.domain.summary import estimate_tokens
from shared.kb_ports import DocumentRecords, PageStore

_PENDING: Final = "The file has arrived and was not looked at yet. Its text is not here: say so, do not guess it."
_PROCESSING: Final = "The file is being read. Its text is not here yet: say so, do not guess it."
_FAILED: Final = "The file could not be read. Tell the user the reason."
_CUT: Final = f"Only the beginning is shown. {SEARCH_TOOL} with this documentId finds the rest."
_LEFT_OUT: Final = f"The text is left out to save room. {SEARCH_TOOL} with this documentId finds it."


@dataclass(frozen=True, slots=True)
class _Looked:
    """A document, and its text as far as it was read."""

    record: DocumentRecord
    text: str = ""
    is_whole: bool = False

    def suffices(self, tokens: int) -> bool:
        """Say whether no more of it can be shown."""
        return self.is_whole or not self.record.text_reading or not has_room(tokens) or self._fills(tokens)

    def _fills(self, tokens: int) -> bool:
        return estimate_tokens(self.text) > tokens


@dataclass(slots=True)
class ShownDocuments:
    """What was read in a turn, so that its next model call need not read it again.

    Parameters
    ----------
    texts : dict
        What is known of documents that have a text, by the id that was asked for.
    """

    texts: dict[DocumentId, _Looked] = field(default_factory=dict[DocumentId, _Looked])


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
        places: dict[DocumentId, AnyMessage] = {}
        for message in reversed(messages):
            for document in _documents_of(message):
                places.setdefault(document, message)
        blocks = {} if user is None or not places else await self._blocks(user, list(places), read)
        return [self._shown(message, blocks, places) for message in messages]

    async def _blocks(
        self, user: UserId, documents: Sequence[DocumentId], read: ShownDocuments
    ) -> dict[DocumentId, str]:
        """Give the block of each document that is there. What there is no room for is not read."""
        left = self._token_budget
        blocks: dict[DocumentId, str] = {}
        for document, known in zip(
            documents, await asyncio.gather(*(self._known(user, each, read) for each in documents)), strict=True
        ):
            if known is None:
                continue
            looked = known if known.suffices(left) else await self._look(user, known.record, left)
            if looked.record.text_reading:
                read.texts[document] = looked
            blocks[document], used = _block(document, looked, left)
            left -= used
        return blocks

    def _shown(
        self, message: AnyMessage, blocks: dict[DocumentId, str], places: dict[DocumentId, AnyMessage]
    ) -> AnyMessage:
        there: set[DocumentId] = set()
        marked = marked_in(message)

        def instead(part: Part) -> Iterable[Part]:
            document = _shown_for(part, marked)
            if document is None:
                # Neither is anything that a model takes.
                return [] if is_file(part) or _is_mark(part) else [part]
            if document in there or document not in blocks or places[document] is not message:
                return []
            there.add(document)
            return [{"type": "text", "text": blocks[document]}]

        return with_parts(message, instead)

    async def _known(self, user: UserId, document: DocumentId, read: ShownDocuments) -> _Looked | None:
        if document in read.texts:
            return read.texts[document]
        try:
            record = await self._records.get(user, document)
            return _Looked(
                record if record.duplicate_of is None else await self._records.get(user, record.duplicate_of)
            )
        except DocumentNotFoundError:
            return None

    async def _look(self, user: UserId, record: DocumentRecord, tokens: int) -> _Looked:
        """Read the text of a document, a little beyond what there is room for."""
        wanted = characters_beyond(tokens)
        pages = await self._pages.of_reading(user, record.id, record.text_reading, characters=wanted)
        text = DocumentText(tuple(pages)).text if pages else ""
        return _Looked(record, text, is_whole=estimate_tokens(text) <= tokens)


def _documents_of(message: AnyMessage) -> list[DocumentId]:
    marked = marked_in(message)
    return [document for part in parts_of(message) if (document := _shown_for(part, marked)) is not None]


def _shown_for(part: Part, marked: frozenset[DocumentId]) -> DocumentId | None:
    """Give the document that is shown in a part's place; that of a file, too, which never came to be marked."""
    return referred_to(part) or waited_for(part, marked)


def _is_mark(part: Part) -> bool:
    return isinstance(part, dict) and part.get("type") == "kb_ref"


def _block(document: DocumentId, looked: _Looked, tokens: int) -> tuple[str, int]:
    """Give the block that a model reads, and the tokens that its text takes."""
    record, text = looked.record, looked.text
    facts: dict[str, Any] = {"documentId": document, "name": record.name}
    if not record.text_reading or (looked.is_whole and not text):
        return document_block({**facts, **_standing(record)}), 0
    facts |= {"status": "read", "pages": record.pages}
    shown = cut_to(tokens, text)
    if looked.is_whole and shown == text:
        return document_block({**facts, "characters": len(text)}, text), estimate_tokens(text)
    if not shown:
        return document_block({**facts, "note": _LEFT_OUT}), 0
    return document_block({**facts, "note": _CUT}, shown), tokens


def _standing(record: DocumentRecord) -> dict[str, str]:
    if record.state.is_failure:
        return {"status": "failed", "reason": record.reason, "note": _FAILED}
    if record.state is DocumentState.PENDING:
        return {"status": "pending", "note": _PENDING}
    return {"status": "processing", "note": _PROCESSING}
