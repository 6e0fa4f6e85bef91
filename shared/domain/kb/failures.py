"""Why a document did not become searchable: one error for each state that it can end in.

The message is the reason that its owner reads. It says nothing of what is in the document.
"""

from typing import ClassVar, Final

from shared.domain.errors import EverthreadError
from shared.domain.kb.states import DocumentState


class DocumentError(EverthreadError):
    """A document cannot be taken further.

    Parameters
    ----------
    reason : str
        What its owner is told, where more can be said than what is true of all in that state.

    Attributes
    ----------
    state : DocumentState
        Where it ends.
    """

    state: ClassVar[DocumentState]
    usual_reason: ClassVar[str]

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or self.usual_reason)

    @property
    def reason(self) -> str:
        """What its owner is told."""
        return str(self)


class EmptyDocumentError(DocumentError):
    """There is nothing in it that could be found."""

    code = state = DocumentState.EMPTY
    usual_reason = "There is no text in this document."


class NeedsOcrError(DocumentError):
    """It is made of pictures of text, and OCR may not be used."""

    code = state = DocumentState.NEEDS_OCR
    usual_reason = "This document is made of pictures of text, and reading pictures (OCR) is not available."


class EncryptedDocumentError(DocumentError):
    """It opens only with a password."""

    code = state = DocumentState.ENCRYPTED
    usual_reason = "This document opens only with a password. Upload a copy without one."


class UnsupportedDocumentError(DocumentError):
    """It is of a type that is not read here."""

    code = state = DocumentState.UNSUPPORTED
    usual_reason = "This type of file cannot be read."


class DocumentTooLargeError(DocumentError):
    """It goes over a limit: bytes, pages, unpacked size, memory or time."""

    code = state = DocumentState.TOO_LARGE
    usual_reason = "This document is too large."


class CorruptDocumentError(DocumentError):
    """It is damaged."""

    code = state = DocumentState.CORRUPT
    usual_reason = "This document is damaged and cannot be opened."


class IngestionFailedError(DocumentError):
    """Something else went wrong; another time it may not."""

    code = state = DocumentState.FAILED
    retryable = True
    usual_reason = "This document could not be read this time."


_ERRORS: Final = (
    EmptyDocumentError,
    NeedsOcrError,
    EncryptedDocumentError,
    UnsupportedDocumentError,
    DocumentTooLargeError,
    CorruptDocumentError,
    IngestionFailedError,
)


def document_error(state: DocumentState, reason: str) -> DocumentError:
    """Make the error whose document ends in a state.

    Raises
    ------
    KeyError
        For a state that is no failure.
    """
    return {kind.state: kind for kind in _ERRORS}[state](reason)
