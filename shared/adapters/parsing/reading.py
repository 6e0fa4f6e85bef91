"""From bytes to pages, for every kind of file. Runs in the child process."""

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from shared.adapters.parsing.file_types import kind_of
from shared.adapters.parsing.frames import AllPages
from shared.adapters.parsing.limits import ParseLimits
from shared.domain.kb.failures import CorruptDocumentError, DocumentTooLargeError
from shared.domain.kb.pages import Page, PageKind
from shared.domain.kb.parsed import DocumentKind

_REPLACED: Final = "\ufffd".encode()
_MOST_REPLACED: Final = 0.001


def read(data: bytes, name: str, limits: ParseLimits) -> Iterator[DocumentKind | Page | AllPages]:
    """Read a file.

    Parameters
    ----------
    data : bytes
        The file; not empty.
    name : str
        What it is called.
    limits : ParseLimits
        How many pages it may have, and to how much it may unpack.

    Yields
    ------
    DocumentKind, Page or AllPages
        First the kind. Then every page in order, and a mark once they are all there. What follows are better
        renderings of pages that were given before; without them the document is complete all the same.

    Raises
    ------
    DocumentError
        When the document cannot be read.
    """
    kind = kind_of(data, name, max_unpacked_bytes=limits.max_unpacked_bytes)
    yield kind
    if kind is DocumentKind.PDF:
        yield from _read_pdf(data, limits)
        return
    pages = _pages(data, kind)
    if len(pages) > limits.max_pages:
        raise DocumentTooLargeError(f"This document has {len(pages):,} pages; {limits.max_pages:,} are the most.")
    yield from pages
    yield AllPages()


# A process reads one file: of the parsers it loads the one that the file is for.


def _read_pdf(data: bytes, limits: ParseLimits) -> Iterator[Page | AllPages]:
    from shared.adapters.parsing.pdf_files import better_pages, open_pdf, plain_pages

    plain: list[Page] = []
    with closing(open_pdf(data, max_pages=limits.max_pages)) as file:
        for page in plain_pages(file):
            plain.append(page)
            yield page
    if all(page.kind is PageKind.BLANK for page in plain) and data.count(_REPLACED) > _MOST_REPLACED * len(data):
        raise CorruptDocumentError("This document was damaged on its way here: somewhere it was taken for text.")
    yield AllPages()
    yield from better_pages(data, plain)


def _pages(data: bytes, kind: DocumentKind) -> list[Page]:
    match kind:
        case DocumentKind.JPEG | DocumentKind.PNG | DocumentKind.TIFF:
            return [Page.read(1, "", image_cover=1.0)]
        case DocumentKind.HTML:
            from shared.adapters.parsing.web_pages import read_html

            return [read_html(data)]
        case DocumentKind.TEXT | DocumentKind.MARKDOWN:
            from shared.adapters.parsing.text_files import read_text

            return [read_text(data)]
        case DocumentKind.CSV:
            from shared.adapters.parsing.csv_files import read_csv

            return [read_csv(data)]
        case _:
            from shared.adapters.parsing.office_files import read_office

            return read_office(data, kind)
