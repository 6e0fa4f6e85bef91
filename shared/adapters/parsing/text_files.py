"""Files that are text already: plain text, Markdown, and what else people write."""

from shared.adapters.parsing.charsets import text_of
from shared.domain.kb.failures import UnsupportedDocumentError
from shared.domain.kb.pages import Page


def read_text(data: bytes) -> Page:
    """Give a text as it is, as the one page it has."""
    return Page.read(1, require_text_of(data))


def require_text_of(data: bytes) -> str:
    """Decode a file.

    Raises
    ------
    UnsupportedDocumentError
        When it is no text.
    """
    text = text_of(data)
    if text is None:
        raise UnsupportedDocumentError
    return text
