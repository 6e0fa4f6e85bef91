"""OCR by Textract, against moto and against the answers that AWS gives."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError, NoCredentialsError
from botocore.stub import ANY, Stubber
from moto import mock_aws
from moto.textract.models import TextractBackend

from shared.adapters.textract import TextractOcr
from shared.domain.kb.ocr import OcrDeniedError, OcrError, OcrRefusedError, OcrText, OcrThrottledError
from shared.domain.kb.parsed import PageScan

SCAN = PageScan(number=1, data=b"%PDF-1.7 a page", media_type="application/pdf")


def line(text: str, top: float, confidence: float = 98.0, height: float = 0.02) -> dict[str, Any]:
    box = {"Left": 0.1, "Top": top, "Width": 0.8, "Height": height}
    return {
        "BlockType": "LINE",
        "Text": text,
        "Confidence": confidence,
        "Geometry": {"BoundingBox": box, "Polygon": []},
    }


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("textract", region_name="eu-central-1")


async def read_blocks(client: Any, monkeypatch: pytest.MonkeyPatch, blocks: list[dict[str, Any]]) -> OcrText:
    monkeypatch.setattr(TextractBackend, "BLOCKS", blocks)
    return await TextractOcr(client).read(SCAN)


async def test_lines_are_joined_and_a_gap_begins_a_paragraph(client: Any, monkeypatch: pytest.MonkeyPatch):
    blocks = [
        {"BlockType": "PAGE"},
        line("First line", 0.10, 99.0),
        {"BlockType": "WORD", "Text": "First"},
        line("goes on.", 0.125, 97.0),
        line("A paragraph.", 0.20, 98.0),
        line("The next column.", 0.10, 98.0),
    ]

    found = await read_blocks(client, monkeypatch, blocks)

    assert found.text == "First line\ngoes on.\n\nA paragraph.\n\nThe next column."
    assert found.confidence == pytest.approx(0.98)


async def test_a_page_without_words(client: Any, monkeypatch: pytest.MonkeyPatch):
    assert await read_blocks(client, monkeypatch, [{"BlockType": "PAGE"}]) == OcrText(text="", confidence=0.0)


async def test_lines_without_a_place_follow_one_another(client: Any, monkeypatch: pytest.MonkeyPatch):
    blocks = [{"BlockType": "LINE", "Text": text, "Confidence": 90.0} for text in ("One", "two")]

    assert (await read_blocks(client, monkeypatch, blocks)).text == "One\ntwo"


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("AccessDeniedException", OcrDeniedError, False),
        ("SubscriptionRequiredException", OcrDeniedError, False),
        ("ThrottlingException", OcrThrottledError, True),
        ("ProvisionedThroughputExceededException", OcrThrottledError, True),
        ("BadDocumentException", OcrRefusedError, False),
        ("UnsupportedDocumentException", OcrRefusedError, False),
        ("DocumentTooLargeException", OcrRefusedError, False),
        ("InternalServerError", OcrError, True),
    ],
)
async def test_what_its_errors_mean(client: Any, code: str, kind: type[OcrError], retryable: bool):
    with Stubber(client) as stub:
        # More often than the client may try again.
        for _ in range(10):
            stub.add_client_error("detect_document_text", code, expected_params={"Document": {"Bytes": ANY}})
        with pytest.raises(OcrError) as caught:
            await TextractOcr(client).read(SCAN)

    assert type(caught.value) is kind
    assert caught.value.retryable is retryable


class _Failing:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def detect_document_text(self, **_: object) -> object:
        raise self._error


@pytest.mark.parametrize(
    ("error", "kind"),
    [(NoCredentialsError(), OcrDeniedError), (ConnectTimeoutError(endpoint_url="https://textract"), OcrError)],
)
async def test_when_it_cannot_be_asked(error: Exception, kind: type[OcrError]):
    with pytest.raises(OcrError) as caught:
        await TextractOcr(_Failing(error)).read(SCAN)  # pyright: ignore[reportArgumentType]

    assert type(caught.value) is kind


async def test_a_page_of_too_many_bytes_is_not_sent(client: Any):
    with Stubber(client), pytest.raises(OcrRefusedError):
        await TextractOcr(client).read(PageScan(number=1, data=bytes(10_000_001), media_type="image/png"))
