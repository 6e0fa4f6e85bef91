"""Which documents a user has, for a model that wants to know before it searches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.kb_ports import DocumentRecords

Standing = Literal["any", "searchable", "processing", "failed"]
"""Where a document stands, as a person would say it. One that is read anew while its last version is found is both
searchable and in processing."""

MAX_NAMED = 50
"""How many documents one search may be narrowed to."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A part of a list of documents.

    Parameters
    ----------
    documents : sequence of DocumentRecord
        The newest first.
    total : int
        How many there are in all.
    """

    documents: Sequence[DocumentRecord]
    total: int


class BrowseDocuments:
    """Looks at the documents of one user, and of no other.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    """

    def __init__(self, records: DocumentRecords) -> None:
        self._records = records

    async def page(
        self, user: UserId, *, name: str = "", standing: Standing = "any", page: int = 1, size: int = 20
    ) -> DocumentPage:
        """Give a page of the documents that fit.

        Parameters
        ----------
        user : str
            Whose. From the verified identity, never from what a model or a message says.
        name : str
            A part of the name, in whichever case; empty for all.
        standing : str
            See :data:`Standing`.
        page, size : int
            Which page, counted from 1, and of how many documents.

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        part = name.strip().casefold()
        fitting = [
            record
            for record in await self._records.of_user(user)
            if part in record.name.casefold() and _stands(record, standing)
        ]
        start = (page - 1) * size
        return DocumentPage(fitting[start : start + size], len(fitting))

    async def found_as(self, user: UserId, documents: Iterable[DocumentId]) -> Sequence[DocumentId]:
        """Give the ids under which documents are found: of a duplicate, that of the document with the same bytes.

        What the user does not have is left out, whether it is nothing at all or somebody else's (row KB25).

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        found: list[DocumentId] = []
        for document in list(dict.fromkeys(documents))[:MAX_NAMED]:
            try:
                record = await self._records.get(user, document)
            except DocumentNotFoundError:
                continue
            found.append(record.duplicate_of or record.id)
        return list(dict.fromkeys(found))


def _stands(record: DocumentRecord, standing: Standing) -> bool:
    match standing:
        case "any":
            return True
        case "searchable":
            return record.is_searchable
        case "processing":
            return not record.state.is_final
        case "failed":
            return record.state.is_failure
