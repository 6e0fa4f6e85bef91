"""Tables with separators."""

import anydoc

from shared.adapters.parsing.markdown import without_empty_rows
from shared.adapters.parsing.text_files import require_text_of
from shared.domain.kb.failures import CorruptDocumentError, DocumentTooLargeError
from shared.domain.kb.pages import Page


def read_csv(data: bytes) -> Page:
    """Give a table with separators (comma, semicolon, tab, bar) as a Markdown table.

    Raises
    ------
    CorruptDocumentError, DocumentTooLargeError
        As the reader says.
    """
    try:
        # anydoc knows of UTF-8, UTF-16 and Windows 1252 only.
        table = anydoc.to_markdown_bytes(require_text_of(data).encode(), "csv")
    except anydoc.ResourceLimitError as error:
        raise DocumentTooLargeError("This table has more cells than can be read.") from error
    except anydoc.ConvertError as error:
        raise CorruptDocumentError from error
    return Page.read(1, without_empty_rows(table))
