"""Pages as OCR takes them: one page each, cut out of the file where that works, else drawn."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from io import BytesIO
from typing import Any, Final

import pypdfium2

from shared.adapters.parsing.limits import ParseLimits
from shared.adapters.parsing.pdf_files import open_pdf
from shared.adapters.parsing.png import grey_png
from shared.domain.kb.failures import CorruptDocumentError, DocumentTooLargeError, UnsupportedDocumentError
from shared.domain.kb.parsed import DocumentKind, PageScan, PictureType

_POINTS_PER_INCH: Final = 72
_LONGEST_SIDE_POINTS: Final = 2880
"""Textract takes PDF pages of up to 40 inches."""
_LONGEST_SIDE_PIXELS: Final = 10_000

_PICTURES: Final[Mapping[DocumentKind, PictureType]] = {
    DocumentKind.JPEG: "image/jpeg",
    DocumentKind.PNG: "image/png",
    DocumentKind.TIFF: "image/tiff",
}


def page_scans(data: bytes, kind: DocumentKind, numbers: Sequence[int], limits: ParseLimits) -> Iterator[PageScan]:
    """Give pages of a file for OCR.

    Parameters
    ----------
    data : bytes
        The file.
    kind : DocumentKind
        What it is: a PDF or a picture.
    numbers : sequence of int
        Which pages.
    limits : ParseLimits
        How large one may be.

    Raises
    ------
    DocumentTooLargeError
        When a picture is too large to be sent; pages of a PDF are drawn smaller.
    UnsupportedDocumentError
        For the kinds that need no OCR.
    CorruptDocumentError
        When a page cannot be cut out and not be drawn either.
    """
    if kind is DocumentKind.PDF:
        with closing(open_pdf(data, max_pages=limits.max_pages)) as file:
            for number in numbers:
                yield _scan(file, number, limits)
    elif kind in _PICTURES:
        if len(data) > limits.max_scan_bytes:
            raise DocumentTooLargeError(f"This picture has more than {limits.max_scan_bytes // 1_000_000} MB.")
        yield PageScan(number=1, data=data, media_type=_PICTURES[kind])
    else:
        raise UnsupportedDocumentError


def _scan(file: Any, number: int, limits: ParseLimits) -> PageScan:  # noqa: ANN401 - pypdfium2 has no types
    try:
        with closing(file[number - 1]) as page:
            longest = max(page.get_size())
            if longest <= _LONGEST_SIDE_POINTS:
                alone = _cut_out(file, number)
                if len(alone) <= limits.max_scan_bytes:
                    return PageScan(number=number, data=alone, media_type="application/pdf")
            return PageScan(number=number, data=_drawn(page, limits), media_type="image/png")
    except pypdfium2.PdfiumError as error:
        raise CorruptDocumentError(f"Page {number} of this document is damaged.") from error


def _cut_out(file: Any, number: int) -> bytes:  # noqa: ANN401
    alone: Any = pypdfium2.PdfDocument.new()
    with closing(alone):
        alone.import_pages(file, [number - 1])
        written = BytesIO()
        alone.save(written)
        return written.getvalue()


def _drawn(page: Any, limits: ParseLimits) -> bytes:  # noqa: ANN401
    """Draw a page in grey, as finely as the limits let it."""
    width, height = (max(side, 1.0) for side in page.get_size())
    scale = min(
        limits.scan_dpi / _POINTS_PER_INCH,
        math.sqrt(limits.max_scan_pixels / (width * height)),
        _LONGEST_SIDE_PIXELS / max(width, height),
    )
    while True:
        with closing(page.render(scale=scale, grayscale=True)) as bitmap:
            pixels = memoryview(bytes(bitmap.buffer))
            image = grey_png(pixels, width=bitmap.width, height=bitmap.height, stride=bitmap.stride)
        if len(image) <= limits.max_scan_bytes:
            return image
        # Noise does not pack; half as fine a drawing has a quarter of it.
        scale /= 2
