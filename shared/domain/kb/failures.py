"""Why a document did not become searchable: one error for each state that it can end in.

The message is the reason that its owner reads. It says nothing of what is in the document.
"""

from typing import ClassVar

from shared.domain.errors import EverthreadError
from shared.domain.kb.states import DocumentState


class DocumentError(EverthreadError):
    """A document cannot be taken further.

    Attributes
    ----------
    state : DocumentState
        Where it ends.
    """

    state: ClassVar[DocumentState]

    @property
    def reason(self) -> str:
        """What its owner is told."""
        return str(self)


class EmptyDocumentError(DocumentError):
    """There is nothing in it that could be found."""

    code = state = DocumentState.EMPTY

    def __init__(self, reason: str = "There is no text in this document.") -> None:
        super().__init__(reason)


class NeedsOcrError(DocumentError):
    """It is made of pictures of text, and OCR may not be used or found nothing."""

    code = state = DocumentState.NEEDS_OCR

    def __init__(self, *, unread_pages: int) -> None:
        pages = "Its only page is a picture" if unread_pages == 1 else f"{unread_pages} pages are pictures"
        super().__init__(f"{pages} of text, and reading pictures (OCR) is not available here.")


class EncryptedDocumentError(DocumentError):
    """It opens only with a password."""

    code = state = DocumentState.ENCRYPTED

    def __init__(self) -> None:
        super().__init__("This document opens only with a password. Upload a copy without one.")


class UnsupportedDocumentError(DocumentError):
    """It is of a type that is not read here."""

    code = state = DocumentState.UNSUPPORTED

    def __init__(self, reason: str = "This type of file cannot be read.") -> None:
        super().__init__(reason)


class DocumentTooLargeError(DocumentError):
    """It goes over a limit: bytes, pages, unpacked size, memory or time."""

    code = state = DocumentState.TOO_LARGE


class CorruptDocumentError(DocumentError):
    """It is damaged."""

    code = state = DocumentState.CORRUPT

    def __init__(self, reason: str = "This document is damaged and cannot be opened.") -> None:
        super().__init__(reason)


class IngestionFailedError(DocumentError):
    """Something else went wrong."""

    code = state = DocumentState.FAILED
    retryable = True

    def __init__(self, reason: str = "This document could not be read this time.") -> None:
        super().__init__(reason)
