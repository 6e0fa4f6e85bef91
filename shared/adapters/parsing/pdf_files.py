"""PDFs: their words by PDFium, headings and tables by pdf-inspector, the second checked against the first.

PDFium is fast and takes whatever comes, but gives words only. pdf-inspector gives Markdown, and now and then not the
page's words (text from right to left, fonts of its own making): then the words are worth more than the layout.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Final

import pdf_inspector
import pypdfium2
import pypdfium2.raw as pdfium

from shared.adapters.parsing.markdown import without_underlines
from shared.domain.kb.failures import CorruptDocumentError, DocumentTooLargeError, EncryptedDocumentError
from shared.domain.kb.pages import Page
from shared.domain.kb.text import agreement, legibility, normalised

_ENOUGH_TO_JUDGE: Final = 200
"""Characters of a page, below which the two cannot be compared."""
_LEAST_AGREEMENT: Final = 0.7
_IMAGES_MATTER_BELOW: Final = 100
"""Characters of a page, from which on it needs no OCR whatever pictures it has."""
_PAGES_AT_A_TIME: Final = 250
"""What is lost when the time is up; each call reads the file's structure anew."""
_DEEPEST_IMAGE: Final = 4


def open_pdf(data: bytes, *, max_pages: int) -> Any:  # noqa: ANN401 - pypdfium2 has no types
    """Open a PDF.

    Parameters
    ----------
    data : bytes
        The file.
    max_pages : int
        How many pages it may have.

    Returns
    -------
    pypdfium2.PdfDocument
        To be closed.

    Raises
    ------
    EncryptedDocumentError, CorruptDocumentError, DocumentTooLargeError
        When it does not open.
    """
    try:
        file: Any = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code in {pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY}:  # pyright: ignore[reportUnknownMemberType]
            raise EncryptedDocumentError from error
        raise CorruptDocumentError from error
    if len(file) > max_pages:
        pages = len(file)
        file.close()
        raise DocumentTooLargeError(f"This document has {pages:,} pages; {max_pages:,} are the most.")
    return file


def plain_pages(file: Any) -> Iterator[Page]:  # noqa: ANN401
    """Give every page of an open PDF with its words.

    Raises
    ------
    CorruptDocumentError
        After the last page, when none could be read.
    """
    damaged = 0
    for number in range(1, len(file) + 1):
        try:
            yield _plain_page(file, number)
        except pypdfium2.PdfiumError:
            # The others are not worth less for it.
            damaged += 1
            yield Page.read(number, "")
    if damaged == len(file):
        raise CorruptDocumentError


def better_pages(data: bytes, plain: Sequence[Page]) -> Iterator[Page]:
    """Give again those pages of which there is a better rendering.

    Parameters
    ----------
    data : bytes
        The file.
    plain : sequence of Page
        What :func:`plain_pages` gave.
    """
    for start in range(0, len(plain), _PAGES_AT_A_TIME):
        batch = plain[start : start + _PAGES_AT_A_TIME]
        try:
            found = pdf_inspector.extract_pages_markdown_bytes(data, [page.number - 1 for page in batch])
        except ValueError:
            # Damaged in a way that PDFium can live with.
            return
        for page, rendering in zip(batch, found.pages, strict=True):
            markdown = normalised(without_underlines(rendering.markdown))
            if markdown and not _contradicts(page, markdown):
                yield _with_layout(page, markdown)


def _plain_page(file: Any, number: int) -> Page:  # noqa: ANN401
    with closing(file[number - 1]) as page, closing(page.get_textpage()) as layer:
        text: str = layer.get_text_bounded()
        few = legibility(text).characters < _IMAGES_MATTER_BELOW
        cover = _image_cover(page) if few else 0.0
        return Page.read(number, text, image_cover=cover, rotation=page.get_rotation())


def _image_cover(page: Any) -> float:  # noqa: ANN401
    """Give the largest image by the page's area."""
    left, bottom, right, top = page.get_bbox()
    area = (right - left) * (top - bottom)
    largest = 0.0
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=_DEEPEST_IMAGE):
        box = image.get_bounds()
        form = image.container
        while form is not None:
            box = form.get_matrix().on_rect(*box)
            form = form.container
        width = min(box[2], right) - max(box[0], left)
        height = min(box[3], top) - max(box[1], bottom)
        largest = max(largest, max(width, 0.0) * max(height, 0.0))
    return min(largest / area, 1.0) if area > 0 else 0.0


def _contradicts(page: Page, markdown: str) -> bool:
    return page.characters >= _ENOUGH_TO_JUDGE and agreement(page.markdown, markdown) < _LEAST_AGREEMENT


def _with_layout(page: Page, markdown: str) -> Page:
    # PDFium passes over what stands in the fields of a form; on some pages that is all there is.
    return replace(page, markdown=markdown, characters=page.characters or legibility(markdown).characters)
