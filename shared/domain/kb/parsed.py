"""What comes out of a file before anything is known of where it goes."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from shared.domain.kb.pages import Page

PictureType = Literal["image/png", "image/jpeg", "image/tiff"]


class DocumentKind(StrEnum):
    """The type of a file, as its bytes say."""

    PDF = "pdf"
    DOCX = "docx"
    DOC = "doc"
    PPTX = "pptx"
    PPT = "ppt"
    XLSX = "xlsx"
    ODT = "odt"
    ODP = "odp"
    ODS = "ods"
    RTF = "rtf"
    EPUB = "epub"
    HTML = "html"
    CSV = "csv"
    MARKDOWN = "markdown"
    TEXT = "text"
    JPEG = "jpeg"
    PNG = "png"
    TIFF = "tiff"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document's pages.

    Parameters
    ----------
    kind : DocumentKind
        What it is.
    pages : tuple of Page
        At least one, in order.
    layout_lost : bool
        The pages have their words, but headings and tables could not be made out in the time there was.
    cpu_seconds : float
        What reading it took.
    """

    kind: DocumentKind
    pages: tuple[Page, ...]
    layout_lost: bool = False
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageScan:
    """One page as OCR takes it.

    Parameters
    ----------
    number : int
        The page.
    data : bytes
        A file that holds this page only.
    media_type : str
        Its type.
    """

    number: int
    data: bytes
    media_type: Literal["application/pdf"] | PictureType
