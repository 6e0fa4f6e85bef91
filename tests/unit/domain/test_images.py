import base64

import pytest

from shared.domain.images import IMAGE_MAX_BYTES, encoded_image_fault
from tests.fakes.images import gif, jpeg, png, webp

MADE = {"image/png": png, "image/gif": gif, "image/jpeg": jpeg, "image/webp": webp}


@pytest.mark.parametrize("kind", MADE)
def test_an_image_is_known_by_its_beginning_and_has_bounds(kind: str) -> None:
    made = MADE[kind]
    assert encoded_image_fault(made(8000, 1), kind) is None
    assert encoded_image_fault(made(1, 8000), kind) is None
    assert "pixels" in (encoded_image_fault(made(8001, 1), kind) or "")
    assert "pixels" in (encoded_image_fault(made(1, 8001), kind) or "")


@pytest.mark.parametrize("kind", MADE)
def test_what_is_called_otherwise_than_it_is_is_refused(kind: str) -> None:
    assert [encoded_image_fault(made(), kind) is None for name, made in MADE.items() if name != kind] == [False] * 3


@pytest.mark.parametrize("chunk", ["VP8 ", "VP8L", "VP8X"])
def test_each_form_of_webp_says_its_size(chunk: str) -> None:
    assert encoded_image_fault(webp(8000, 8000, kind=chunk), "image/webp") is None
    assert "pixels" in (encoded_image_fault(webp(8001, 7, kind=chunk), "image/webp") or "")


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("length", [0, 1, 4, 9])
def test_what_breaks_off_is_no_image(kind: str, length: int) -> None:
    data = base64.b64decode(MADE[kind]())[:length]
    assert encoded_image_fault(base64.b64encode(data).decode(), kind) is not None


def test_an_image_has_a_size_limit_a_kind_and_is_base64() -> None:
    head = len(base64.b64decode(png()))
    assert encoded_image_fault(png(more=IMAGE_MAX_BYTES - head), "image/png") is None
    assert "bytes" in (encoded_image_fault(png(more=IMAGE_MAX_BYTES - head + 1), "image/png") or "")
    assert encoded_image_fault(png(), "image/tiff") is not None
    assert encoded_image_fault("not base64!", "image/png") == "an image is base64"
    assert encoded_image_fault("é", "image/png") == "an image is base64"
