"""Word processor files, slides, sheets and e-books.

Slides and sheets are pages; the other kinds have pages only once somebody prints them, and are one.
"""

import re
from collections.abc import Iterator
from typing import Final

import anydoc

from shared.adapters.parsing.archives import DAMAGE
from shared.adapters.parsing.markdown import without_empty_rows, without_underlines
from shared.adapters.parsing.slides import single_slides
from shared.adapters.parsing.text_runs import text_runs
from shared.domain.kb.failures import (
    CorruptDocumentError,
    DocumentTooLargeError,
    EncryptedDocumentError,
    UnsupportedDocumentError,
)
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import DocumentKind

_SHEET_TITLE: Final = re.compile(r"^## (?P<name>.*)$", re.MULTILINE)
_ESCAPED: Final = re.compile(r"\\(\W)")
_SHEETS: Final = (DocumentKind.XLSX, DocumentKind.ODS)


def read_office(data: bytes, kind: DocumentKind) -> list[Page]:
    """Read a file of one of the office suites, or an EPUB.

    Parameters
    ----------
    data : bytes
        The file.
    kind : DocumentKind
        What it is.

    Raises
    ------
    EncryptedDocumentError, UnsupportedDocumentError, CorruptDocumentError, DocumentTooLargeError
        As the reader says.
    """
    try:
        pages = list(_pages(data, kind))
    except anydoc.EncryptedError as error:
        raise EncryptedDocumentError from error
    except anydoc.UnsupportedError as error:
        raise UnsupportedDocumentError from error
    except anydoc.ResourceLimitError as error:
        raise DocumentTooLargeError("This document unpacks to more than can be read.") from error
    except anydoc.ConvertError as error:
        raise CorruptDocumentError from error
    if any(page.characters for page in pages):
        return pages
    return [Page.read(1, text_runs(data))]


def _pages(data: bytes, kind: DocumentKind) -> Iterator[Page]:
    if kind is DocumentKind.PPTX:
        yield from _slides(data)
    elif kind in _SHEETS:
        yield from _sheets(_markdown(data))
    else:
        yield Page.read(1, _markdown(data))


def _markdown(data: bytes) -> str:
    return without_underlines(without_empty_rows(anydoc.to_markdown_bytes(data)))


def _slides(data: bytes) -> Iterator[Page]:
    try:
        slides = single_slides(data)
        texts = None if slides is None else [_markdown(slide) for slide in slides]
    except (*DAMAGE, anydoc.MalformedError, anydoc.MissingPartError):
        # A part is damaged; of the presentation as a whole the reader makes what can be made.
        texts = None
    if texts is None:
        yield Page.read(1, _markdown(data))
        return
    for number, text in enumerate(texts, start=1):
        yield Page.read(number, text, label=f"Slide {number}")


def _sheets(markdown: str) -> Iterator[Page]:
    # Every sheet begins with its name as a heading, except in a workbook of one, and in a sheet there are no others.
    titles = list(_SHEET_TITLE.finditer(markdown))
    if not titles:
        yield Page.read(1, markdown)
        return
    ends = [title.start() for title in titles[1:]] + [len(markdown)]
    for number, (title, end) in enumerate(zip(titles, ends, strict=True), start=1):
        yield Page.read(number, markdown[title.start() : end], label=_ESCAPED.sub(r"\1", title["name"]))
