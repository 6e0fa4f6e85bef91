"""What is known of a document: where it stands, how far it has come, and what readers see of it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from shared.domain.errors import ConflictError, NotFoundError
from shared.domain.ids import DocumentId
from shared.domain.kb.folders import FolderId
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.reprocess import DocumentStanding, Reprocess, ReprocessMode
from shared.domain.kb.states import DocumentState
from shared.domain.uploads import folder_in

NOTHING: Final = frozenset[int]()

# Five deliveries, half an hour apart, and the longest wait for a quota.
_GIVEN_UP_AFTER: Final = timedelta(hours=3)


class RunOrigin(StrEnum):
    """What a run began with (row KB07)."""

    UPLOAD = "kb-upload"
    REPROCESS = "kb-reprocess"
    CHAT = "chat"


EXPECTED_RUN: Final = "expected"
"""The run of a document whose object was written and whose event has not arrived."""

CHAT_FOLDER: Final = "chat-"
"""What the folder of an upload begins with whose file came with a message."""


def origin_of(key: str) -> RunOrigin:
    """Say what the run of an upload begins with, from the object's key."""
    folder = key.rpartition("/")[0].rpartition("/")[2]
    return RunOrigin.CHAT if folder.startswith(CHAT_FOLDER) else RunOrigin.UPLOAD


class DocumentNotFoundError(NotFoundError):
    """No such document for this user: it never was, is deleted, or is somebody else's."""

    def __init__(self) -> None:
        super().__init__("There is no such document.")


class StaleRunError(ConflictError):
    """A newer run has taken the document over, or it is deleted; this one has to stop (row AWS11)."""

    code = "STALE_RUN"

    def __init__(self) -> None:
        super().__init__("The document is no longer this run's.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document as it is known.

    The same bytes read again, or cut into chunks again, are another version of the document. Readers see the live one
    until the next is complete.

    Parameters
    ----------
    id : str
        Derived from the object's key.
    key : str
        The uploaded object.
    object_version : str or None
        Which version of it, in a versioned bucket.
    size : int
        Its bytes.
    run : str
        Whose turn it is: every upload and every request to go over the document again brings a new one.
    origin : RunOrigin
        What that run began with.
    mode : ReprocessMode
        What it does again; everything, after an upload.
    counter : int
        The highest version that a run of this document was given.
    created_at, updated_at : datetime
        When it was first uploaded, and when anything last changed.
    state : DocumentState
        Where it stands.
    reason : str
        What its owner is told: why it failed, or what of it is missing.
    version : int
        The version that the figures below are of; 0 before the first.
    kind : DocumentKind or None
        What it is, once that is known.
    sha256 : str
        Of its bytes.
    reading : int
        The version whose run read the pages; 0 when they have to be read from the object.
    pages, pages_done : int
        How many there are, and how many of these have their text.
    text_reading : int
        The last reading whose pages all have their text; 0 before the first.
    chunks : int
        Into how many it is cut.
    embedded, refused : frozenset of int
        The numbers of the chunks that have their vector, and of those that the model takes never.
    live_version : int
        What readers see; 0 for nothing.
    duplicate_of : str or None
        The document of the same bytes that is found in its place.
    """

    id: DocumentId
    key: str
    object_version: str | None
    size: int
    run: str
    counter: int
    created_at: datetime
    updated_at: datetime
    origin: RunOrigin = RunOrigin.UPLOAD
    mode: ReprocessMode = ReprocessMode.FULL
    state: DocumentState = DocumentState.PENDING
    reason: str = ""
    version: int = 0
    kind: DocumentKind | None = None
    sha256: str = ""
    reading: int = 0
    pages: int = 0
    pages_done: int = 0
    text_reading: int = 0
    chunks: int = 0
    embedded: frozenset[int] = NOTHING
    refused: frozenset[int] = NOTHING
    live_version: int = 0
    duplicate_of: DocumentId | None = None

    @property
    def name(self) -> str:
        """What its user calls it: the last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def folder(self) -> FolderId | None:
        """The folder that it was uploaded into, which may be gone; ``None`` for the default one."""
        return folder_in(self.key)

    @property
    def has_markdown(self) -> bool:
        """Whether the pages of its reading are stored with their text."""
        return self.reading > 0 and self.reading == self.text_reading

    @property
    def is_searchable(self) -> bool:
        """Whether some version of it is found, if need be in the document that it is a duplicate of."""
        return self.live_version > 0 or self.duplicate_of is not None

    @property
    def stands_for_its_bytes(self) -> bool:
        """Whether it is what there is to be found of its bytes, so that they need not come again."""
        return bool(self.sha256) and self.state is DocumentState.READY and self.duplicate_of is None

    @property
    def is_whole(self) -> bool:
        """Whether the version that the figures are of is what readers see, with every chunk of it."""
        return self.version == self.live_version > 0 and len(self.embedded) == self.chunks

    @property
    def pending_chunks(self) -> tuple[int, ...]:
        """The chunks that were neither embedded nor refused, in order."""
        settled = self.embedded | self.refused
        return tuple(number for number in range(self.chunks) if number not in settled)

    def is_stuck(self, now: datetime) -> bool:
        """Whether it is on its way and nobody works on it: every delivery of its messages has ended by then."""
        return not self.state.is_final and now - self.updated_at > _GIVEN_UP_AFTER

    def standing(self, *, has_object: bool, now: datetime) -> DocumentStanding:
        """Give what decides whether it may be gone over again.

        Parameters
        ----------
        has_object : bool
            Whether the uploaded object is still there.
        now : datetime
            The present moment.
        """
        return DocumentStanding(
            state=DocumentState.FAILED if self.is_stuck(now) else self.state,
            has_object=has_object,
            has_markdown=self.has_markdown,
            chunks=self.chunks,
            chunks_embedded=len(self.embedded),
        )

    def read_anew(self, sha256: str) -> "DocumentRecord":
        """Give the record of a run that reads the object, with the next version and nothing of the last one's."""
        return replace(
            self,
            version=self.counter,
            sha256=sha256,
            kind=None,
            reading=0,
            pages=0,
            pages_done=0,
            chunks=0,
            embedded=NOTHING,
            refused=NOTHING,
            duplicate_of=None,
            reason="",
        )

    def restarted(self, mode: ReprocessMode, begin: Reprocess, run: str) -> "DocumentRecord":
        """Give the record of a run that goes over the document again.

        Parameters
        ----------
        mode : ReprocessMode
            What was asked for.
        begin : Reprocess
            From where that begins.
        run : str
            The new run.
        """
        again = replace(self, run=run, origin=RunOrigin.REPROCESS, mode=mode, state=begin.enters, reason="")
        if begin.keeps_chunks:
            # In place: the chunks that are there stay what they are.
            return replace(again, refused=NOTHING)
        version = self.counter + 1
        again = replace(again, counter=version)
        if begin.enters is DocumentState.PENDING:
            return again if begin.keeps_pages else replace(again, reading=0)
        return replace(again, version=version, chunks=0, embedded=NOTHING, refused=NOTHING)


def unread_reason(record: DocumentRecord) -> str:
    """Give what the owner is told of pages that could not be read; empty when there are none."""
    unread = record.pages - record.pages_done
    return f"{unread} of {record.pages} pages could not be read." if unread else ""
