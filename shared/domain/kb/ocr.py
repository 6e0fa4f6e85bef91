"""What OCR gives, and what may keep it from giving it."""

from dataclasses import dataclass

from shared.domain.errors import EverthreadError


@dataclass(frozen=True, slots=True, kw_only=True)
class OcrText:
    """What was read on one page.

    Parameters
    ----------
    text : str
        Lines in reading order, a blank line between paragraphs; empty when there was nothing.
    confidence : float
        The mean over its lines, 0 to 1; 0 without any.
    """

    text: str
    confidence: float = 0.0


class OcrError(EverthreadError):
    """A page could not be read."""

    code = "OCR_FAILED"
    retryable = True


class OcrThrottledError(OcrError):
    """OCR is over its quota at the moment."""

    code = "OCR_THROTTLED"


class OcrDeniedError(OcrError):
    """OCR may not be used: no rights, or not in this region. The same for every page."""

    code = "OCR_DENIED"
    retryable = False


class OcrRefusedError(OcrError):
    """OCR does not take this page."""

    code = "OCR_REFUSED"
    retryable = False
