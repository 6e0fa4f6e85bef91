"""OCR that reads from a book of answers."""

from shared.domain.kb.ocr import OcrText
from shared.domain.kb.parsed import PageScan
from tests.fakes.faults import Faults


class PlannedOcr(Faults):
    """Implements ``Ocr``.

    Attributes
    ----------
    texts
        What is read on each page; on others nothing.
    errors
        What reading a page raises.
    read_pages
        Which pages were sent, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[int, str] = {}
        self.errors: dict[int, Exception] = {}
        self.read_pages: list[int] = []

    async def read(self, scan: PageScan) -> OcrText:
        self._called("read")
        self.read_pages.append(scan.number)
        if scan.number in self.errors:
            raise self.errors[scan.number]
        text = self.texts.get(scan.number, "")
        return OcrText(text=text, confidence=0.99 if text else 0.0)
