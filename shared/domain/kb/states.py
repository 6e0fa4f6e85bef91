"""The states of a document, and which may follow which (rows KB19, HID-32, HID-33)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from shared.domain.errors import ConflictError


class DocumentState(StrEnum):
    """Where a document stands. Stored and sent as it is written here."""

    PENDING = "PENDING"
    """Uploaded; nobody has looked at it yet."""
    PREPARED = "PREPARED"
    """Its type is known and its pages are there."""
    OCR = "OCR"
    """Pages without a usable text layer are being read."""
    MARKDOWN = "MARKDOWN"
    """Every page that can be read has its text: a chat may use it."""
    EMBEDDING = "EMBEDDING"
    """Cut into chunks, which get their vectors."""
    READY = "READY"
    """Every chunk has its vector and is live."""

    EMPTY = "EMPTY"
    NEEDS_OCR = "NEEDS_OCR"
    ENCRYPTED = "ENCRYPTED"
    UNSUPPORTED = "UNSUPPORTED"
    TOO_LARGE = "TOO_LARGE"
    CORRUPT = "CORRUPT"
    FAILED = "FAILED"
    """Through no fault of the document's; it may be tried again."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens unless somebody asks for it."""
        return self not in _IN_PROGRESS

    @property
    def is_failure(self) -> bool:
        """Whether it ended without becoming searchable."""
        return self.is_final and self is not DocumentState.READY

    @property
    def may_be_retried(self) -> bool:
        """Whether the same document may fare better another time."""
        return self in {DocumentState.FAILED, DocumentState.NEEDS_OCR}

    @property
    def has_text(self) -> bool:
        """Whether its Markdown is complete; for the final states that depends on how far it came."""
        return self in {DocumentState.MARKDOWN, DocumentState.EMBEDDING, DocumentState.READY}


_S = DocumentState
_IN_PROGRESS: Final = (_S.PENDING, _S.PREPARED, _S.OCR, _S.MARKDOWN, _S.EMBEDDING)

# Each step may be left out when there is nothing for it to do, but for the last: nothing becomes READY unembedded.
_NEXT: Final[Mapping[DocumentState, frozenset[DocumentState]]] = {
    _S.PENDING: frozenset({_S.PREPARED, _S.EMPTY, _S.ENCRYPTED, _S.UNSUPPORTED, _S.TOO_LARGE, _S.CORRUPT, _S.FAILED}),
    # Pages of a PDF are cut out for OCR, so that a damaged one may show late.
    _S.PREPARED: frozenset({_S.OCR, _S.MARKDOWN, _S.EMPTY, _S.NEEDS_OCR, _S.TOO_LARGE, _S.CORRUPT, _S.FAILED}),
    _S.OCR: frozenset({_S.MARKDOWN, _S.EMPTY, _S.NEEDS_OCR, _S.TOO_LARGE, _S.CORRUPT, _S.FAILED}),
    _S.MARKDOWN: frozenset({_S.EMBEDDING, _S.EMPTY, _S.TOO_LARGE, _S.FAILED}),
    _S.EMBEDDING: frozenset({_S.READY, _S.FAILED}),
}

# Where somebody's request may take a document that has come to an end; ``reprocess`` says which request may.
_AGAIN: Final = frozenset({_S.PENDING, _S.MARKDOWN, _S.EMBEDDING})


class IllegalTransitionError(ConflictError):
    """A document was to be moved to a state that cannot follow the one it is in.

    Parameters
    ----------
    current, wanted : DocumentState
        Where it is, and where it was to go.
    """

    code = "ILLEGAL_TRANSITION"

    def __init__(self, current: DocumentState, wanted: DocumentState) -> None:
        super().__init__(f"A document that is {current} cannot become {wanted}.")
        self.current = current
        self.wanted = wanted


def may_become(current: DocumentState, wanted: DocumentState) -> bool:
    """Say whether a state may follow another.

    A state may follow itself, because every step may be delivered twice, and ``PENDING`` follows everything: a new
    version of the object starts over.
    """
    if wanted in {current, _S.PENDING}:
        return True
    return wanted in (_AGAIN if current.is_final else _NEXT[current])


def require_transition(current: DocumentState, wanted: DocumentState) -> None:
    """Check that a state may follow another.

    Raises
    ------
    IllegalTransitionError
        When it may not.
    """
    if not may_become(current, wanted):
        raise IllegalTransitionError(current, wanted)


def states_before(wanted: DocumentState) -> frozenset[DocumentState]:
    """Give the states that one may follow, for a conditional write."""
    return frozenset(state for state in DocumentState if may_become(state, wanted))
