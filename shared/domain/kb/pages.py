"""Pages: what a parser gives, which of them need OCR, and the document's text that they make together."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

from shared.domain.kb.failures import EmptyDocumentError, NeedsOcrError
from shared.domain.kb.text import legibility, normalised

PAGE_BREAK: Final = "\n\n"
"""What stands between two pages in a document's text."""

_BAD_SHARE: Final = 0.15


class PageKind(StrEnum):
    """What is on a page, as far as can be told without looking at it."""

    TEXT = "text"
    SCAN = "scan"
    """Words that only OCR can read, or a text layer that cannot be trusted."""
    BLANK = "blank"


def page_kind(*, characters: int, bad_share: float, image_cover: float) -> PageKind:
    """Tell pages with text from those that need OCR.

    Parameters
    ----------
    characters : int
        Of the text layer, without white space.
    bad_share : float
        Which share of these are replacement, private or control characters.
    image_cover : float
        The page's largest image by the page's area.
    """
    if bad_share > _BAD_SHARE:
        return PageKind.SCAN
    # A page number or a stamp over a scan, and the odd caption beside a photographed page.
    if (characters < 20 and image_cover > 0.5) or (characters < 100 and image_cover > 0.8):
        return PageKind.SCAN
    if characters == 0:
        return PageKind.SCAN if image_cover > 0.1 else PageKind.BLANK
    return PageKind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, slide or sheet; a document of a kind that has no pages is one page.

    Parameters
    ----------
    number : int
        Counted from 1.
    markdown : str
        Its text, normalised.
    characters : int
        How many of the text layer are not white space.
    bad_share : float
        Which share of these are no text.
    image_cover : float
        The largest image by the page's area; 0 where it does not matter.
    rotation : int
        Degrees by which the page is shown turned.
    label : str
        What the page is called where pages stand for themselves: a sheet's name, ``Slide 3``. Empty when the text
        runs on from page to page.
    ocr_done : bool
        OCR has looked at it.
    """

    number: int
    markdown: str
    characters: int
    bad_share: float = 0.0
    image_cover: float = 0.0
    rotation: int = 0
    label: str = ""
    ocr_done: bool = False

    @classmethod
    def read(
        cls,
        number: int,
        layer: str,
        *,
        markdown: str = "",
        image_cover: float = 0.0,
        rotation: int = 0,
        label: str = "",
    ) -> Self:
        """Make a page of what a parser gave.

        Parameters
        ----------
        number : int
            Counted from 1.
        layer : str
            The page's text just as it came: how good it is shows only before it is normalised.
        markdown : str
            A better rendering of it, if there is one.
        image_cover, rotation, label
            As the page has them.
        """
        found = legibility(layer)
        return cls(
            number=number,
            markdown=normalised(markdown or layer),
            characters=found.characters,
            bad_share=found.bad_share,
            image_cover=image_cover,
            rotation=rotation,
            label=normalised(label),
        )

    @property
    def kind(self) -> PageKind:
        """What is on it; after OCR there is text or there is nothing."""
        if self.ocr_done:
            return PageKind.TEXT if self.characters else PageKind.BLANK
        return page_kind(characters=self.characters, bad_share=self.bad_share, image_cover=self.image_cover)

    @property
    def needs_ocr(self) -> bool:
        """Whether OCR would find more than there is."""
        return self.kind is PageKind.SCAN

    @property
    def text(self) -> str:
        """What of it goes into the document's text: everything but a text layer that cannot be trusted."""
        return "" if self.needs_ocr and self.bad_share > _BAD_SHARE else self.markdown

    def with_ocr(self, text: str) -> "Page":
        """Give the page as it is after OCR; the text layer stays when OCR found less.

        Parameters
        ----------
        text : str
            What OCR read; empty when it found nothing.
        """
        found = legibility(text).characters
        if found < self.characters * (1 - self.bad_share):
            return replace(self, ocr_done=True)
        return replace(self, markdown=normalised(text), characters=found, bad_share=0.0, ocr_done=True)


def pages_for_ocr(pages: Iterable[Page]) -> tuple[int, ...]:
    """Give the numbers of the pages that OCR has to read."""
    return tuple(page.number for page in pages if page.needs_ocr)


def require_text(pages: Sequence[Page]) -> None:
    """Check that there is something to index, once OCR has had its chance.

    Pages that OCR could not read do not keep the others from being indexed; :func:`pages_for_ocr` names them.

    Raises
    ------
    NeedsOcrError
        When no page has text and some would need OCR.
    EmptyDocumentError
        When every page is blank.
    """
    if any(page.kind is PageKind.TEXT for page in pages):
        return
    raise NeedsOcrError if pages_for_ocr(pages) else EmptyDocumentError


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of all pages as one, in which chunks have their offsets.

    Parameters
    ----------
    pages : tuple of Page
        In order.
    """

    pages: tuple[Page, ...]
    text: str = field(init=False)
    starts: tuple[int, ...] = field(init=False)
    """Where each page begins."""

    def __post_init__(self) -> None:
        starts: list[int] = []
        at = 0
        for page in self.pages:
            starts.append(at)
            at += len(page.text) + len(PAGE_BREAK)
        object.__setattr__(self, "starts", tuple(starts))
        object.__setattr__(self, "text", PAGE_BREAK.join(page.text for page in self.pages))

    def page_at(self, offset: int) -> int:
        """Give the number of the page that an offset is on; the break after a page belongs to it."""
        return self.pages[max(bisect_right(self.starts, offset) - 1, 0)].number
