"""Going over a document again: what each mode does, and when it may (row KB20)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from shared.domain.errors import ConflictError
from shared.domain.kb.states import DocumentState


class ReprocessMode(StrEnum):
    """What is to be done again."""

    FULL = "full"
    """Everything, from the object on."""
    CHUNKS_ONLY = "chunksOnly"
    """Chunks and vectors, from the Markdown on."""
    RETRY_FAILED = "retryFailed"
    """What failed: pages are kept that have their text."""
    RETRY_FAILED_CHUNKS = "retryFailedChunks"
    """The chunks that have no vector; the others stay as they are."""


class ReprocessRefusedError(ConflictError):
    """The document cannot be gone over again now. Nothing was changed."""


class ProcessingError(ReprocessRefusedError):
    """It is being processed."""

    code = "PROCESSING"
    retryable = True


class NotReadyError(ReprocessRefusedError):
    """It has not come as far as the mode begins, or there is nothing that failed."""

    code = "NOT_READY"


class AttachmentMissingError(ReprocessRefusedError):
    """The object that it was made from is gone."""

    code = "ATTACHMENT_MISSING"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentStanding:
    """What decides whether a document may be gone over again.

    Parameters
    ----------
    state : DocumentState
        Where it stands.
    has_object : bool
        Whether the uploaded object is still there.
    has_markdown : bool
        Whether the Markdown of its pages is stored.
    chunks, chunks_embedded : int
        How many chunks it has, and how many of these have their vector.
    """

    state: DocumentState
    has_object: bool
    has_markdown: bool
    chunks: int = 0
    chunks_embedded: int = 0


@dataclass(frozen=True, slots=True)
class Reprocess:
    """What going over a document again begins with.

    Parameters
    ----------
    enters : DocumentState
        The state from which the pipeline takes it on.
    keeps_pages : bool
        Pages that have their text are not read again.
    keeps_chunks : bool
        Chunks that have their vector are not embedded again; without, a new version is made.
    """

    enters: DocumentState
    keeps_pages: bool
    keeps_chunks: bool

    FROM_OBJECT: ClassVar["Reprocess"]
    FROM_PAGES: ClassVar["Reprocess"]
    FROM_MARKDOWN: ClassVar["Reprocess"]
    FROM_CHUNKS: ClassVar["Reprocess"]


Reprocess.FROM_OBJECT = Reprocess(DocumentState.PENDING, keeps_pages=False, keeps_chunks=False)
Reprocess.FROM_PAGES = Reprocess(DocumentState.PENDING, keeps_pages=True, keeps_chunks=False)
Reprocess.FROM_MARKDOWN = Reprocess(DocumentState.MARKDOWN, keeps_pages=True, keeps_chunks=False)
Reprocess.FROM_CHUNKS = Reprocess(DocumentState.EMBEDDING, keeps_pages=True, keeps_chunks=True)


def reprocess(mode: ReprocessMode, standing: DocumentStanding) -> Reprocess:
    """Say what a mode begins with, or why it may not. To be asked before anything is removed.

    Raises
    ------
    ProcessingError
        While the document is being processed.
    AttachmentMissingError
        When the mode needs the object, and it is gone.
    NotReadyError
        When the document has not come as far as the mode begins, or nothing of the kind failed.
    """
    if not standing.state.is_final:
        raise ProcessingError("The document is being processed.")
    match mode:
        case ReprocessMode.FULL:
            begin = Reprocess.FROM_OBJECT
        case ReprocessMode.CHUNKS_ONLY:
            begin = Reprocess.FROM_MARKDOWN
        case ReprocessMode.RETRY_FAILED:
            begin = _after_failure(standing)
        case ReprocessMode.RETRY_FAILED_CHUNKS:
            if not standing.chunks > standing.chunks_embedded:
                raise NotReadyError("No chunk of the document failed.")
            begin = Reprocess.FROM_CHUNKS
    if begin.enters is DocumentState.PENDING and not standing.has_object:
        raise AttachmentMissingError("The uploaded file is gone.")
    if begin.enters is not DocumentState.PENDING and not standing.has_markdown:
        raise NotReadyError("The document has no text yet.")
    return begin


def _after_failure(standing: DocumentStanding) -> Reprocess:
    if not standing.state.may_be_retried:
        raise NotReadyError("Nothing of the document failed that could be tried again.")
    if not standing.has_markdown:
        return Reprocess.FROM_PAGES
    return Reprocess.FROM_CHUNKS if standing.chunks else Reprocess.FROM_MARKDOWN
