"""OCR by Amazon Textract, one page a call."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from shared.adapters.aws import in_thread
from shared.domain.kb.ocr import OcrDeniedError, OcrError, OcrRefusedError, OcrText, OcrThrottledError
from shared.domain.kb.parsed import PageScan

if TYPE_CHECKING:
    from mypy_boto3_textract import TextractClient

MAX_BYTES: Final = 10_000_000
"""What Textract takes in a synchronous call."""

_PARAGRAPH_GAP: Final = 0.8
"""Of a line's height: with more space above it a line begins a paragraph."""

_BY_CODE: Final[Mapping[str, type[OcrError]]] = {
    "AccessDeniedException": OcrDeniedError,
    "ExpiredTokenException": OcrDeniedError,
    "InvalidSignatureException": OcrDeniedError,
    "OptInRequired": OcrDeniedError,
    "SubscriptionRequiredException": OcrDeniedError,
    "UnrecognizedClientException": OcrDeniedError,
    "LimitExceededException": OcrThrottledError,
    "ProvisionedThroughputExceededException": OcrThrottledError,
    "ThrottlingException": OcrThrottledError,
    "BadDocumentException": OcrRefusedError,
    "DocumentTooLargeException": OcrRefusedError,
    "InvalidParameterException": OcrRefusedError,
    "UnsupportedDocumentException": OcrRefusedError,
    "ValidationException": OcrRefusedError,
}
_TEXTS: Final[Mapping[type[OcrError], str]] = {
    OcrDeniedError: "OCR may not be used here.",
    OcrThrottledError: "OCR is over its quota at the moment.",
    OcrRefusedError: "OCR does not take this page.",
    OcrError: "OCR could not read this page this time.",
}


class TextractOcr:
    """Reads pages with Textract's DetectDocumentText; implements the port ``Ocr``.

    Parameters
    ----------
    client : TextractClient
        boto3's client of ``textract``; it does the retries.
    """

    def __init__(self, client: "TextractClient") -> None:
        self._client = client

    async def read(self, scan: PageScan) -> OcrText:
        """Read one page.

        Raises
        ------
        OcrDeniedError
            When the function has no right to call Textract.
        OcrRefusedError
            When the page is too large for it, or of a kind that it does not take.
        OcrError
            When it did not answer; ``retryable``.
        """
        if len(scan.data) > MAX_BYTES:
            raise OcrRefusedError(_TEXTS[OcrRefusedError])
        try:
            answer = await in_thread(self._client.detect_document_text, Document={"Bytes": scan.data})
        except (ClientError, BotoCoreError) as error:
            kind = _kind(error)
            raise kind(_TEXTS[kind]) from error
        lines: Sequence[Any] = [block for block in answer["Blocks"] if block.get("BlockType") == "LINE"]
        if not lines:
            return OcrText(text="")
        return OcrText(
            text="".join(_joined(lines)), confidence=fmean(line.get("Confidence", 0.0) for line in lines) / 100
        )


def _kind(error: ClientError | BotoCoreError) -> type[OcrError]:
    if isinstance(error, ClientError):
        return _BY_CODE.get(error.response.get("Error", {}).get("Code", ""), OcrError)
    return OcrDeniedError if isinstance(error, NoCredentialsError) else OcrError


def _joined(lines: Sequence[Any]) -> Iterator[str]:
    """Give the lines with what separates them, in the order that Textract reads them in."""
    above: Mapping[str, float] | None = None
    for line in lines:
        box: Mapping[str, float] = line.get("Geometry", {}).get("BoundingBox", {})
        if above is not None:
            yield "\n\n" if _begins_paragraph(above, box) else "\n"
        yield line.get("Text", "")
        above = box


def _begins_paragraph(above: Mapping[str, float], box: Mapping[str, float]) -> bool:
    if not above or not box:
        return False
    gap = box["Top"] - (above["Top"] + above["Height"])
    # Upwards is the next column.
    return gap > _PARAGRAPH_GAP * above["Height"] or gap < -above["Height"] * 2
