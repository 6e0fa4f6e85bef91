"""Waiting until documents can be read, for as long as a turn may wait."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from shared.domain.ids import DocumentId, UserId
from shared.domain.kb.records import DocumentNotFoundError, DocumentRecord
from shared.kb_ports import DocumentRecords

Pause = Callable[[float], Awaitable[None]]


class AwaitDocuments:
    """Waits for documents of one user, and of no other.

    Parameters
    ----------
    records : DocumentRecords
        What is known of documents.
    seconds : float
        How long to wait at most, for all of them together.
    look_every : float
        Seconds between two looks.
    pause : callable, optional
        Waits.
    """

    def __init__(
        self,
        records: DocumentRecords,
        *,
        seconds: float,
        look_every: float = 0.5,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._records = records
        self._seconds = seconds
        self._look_every = look_every
        self._pause = pause

    async def wait(self, user: UserId, documents: Iterable[DocumentId]) -> None:
        """Wait until each document has its text, has ended without one, or is not there; or the time is up.

        Its vectors are not waited for: a search finds it later (row KB13).

        Raises
        ------
        StoreError
            When the database cannot answer.
        """
        waiting = list(dict.fromkeys(documents))
        try:
            async with asyncio.timeout(self._seconds):
                while waiting := [each for each in waiting if not await self._is_settled(user, each)]:
                    await self._pause(self._look_every)
        except TimeoutError:
            return

    async def _is_settled(self, user: UserId, document: DocumentId) -> bool:
        try:
            return is_settled(await self._records.get(user, document))
        except DocumentNotFoundError:
            return True


def is_settled(record: DocumentRecord) -> bool:
    """Say whether waiting longer gives no more of a document's text."""
    return record.state.is_final or (record.state.has_text and record.has_markdown)
