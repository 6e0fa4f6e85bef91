"""Images as the models take them: which kinds, how large, and whether the data is what it says it is."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

IMAGE_KINDS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
IMAGE_MAX_BYTES: Final = 3_932_160
"""Of one image: 3.75 MB, as Bedrock's Converse API has it."""
IMAGE_MAX_PIXELS: Final = 8000
"""Of either side."""
MAX_IMAGES: Final = 20
"""Of one request to a model."""

_SIZELESS_MARKERS: Final = frozenset({0x01, *range(0xD0, 0xD9)})
_NO_FRAMES: Final = frozenset({0xC4, 0xC8, 0xCC})


def encoded_image_fault(encoded: str, kind: str) -> str | None:
    """Say why a model would not take an image; ``None`` when nothing speaks against it.

    Parameters
    ----------
    encoded : str
        The image as base64.
    kind : str
        What it is said to be, for example ``image/png``.
    """
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return "an image is base64"
    if kind not in IMAGE_KINDS:
        return f"an image is one of {', '.join(IMAGE_KINDS)}"
    if len(data) > IMAGE_MAX_BYTES:
        return f"an image may take {IMAGE_MAX_BYTES} bytes"
    size = _size(data, kind)
    if size is None:
        return f"this is no {kind}"
    if not 1 <= min(size) <= max(size) <= IMAGE_MAX_PIXELS:
        return f"an image has 1 to {IMAGE_MAX_PIXELS} pixels a side"
    return None


def _size(data: bytes, kind: str) -> tuple[int, int] | None:
    """Give width and height as the beginning of an image says them; ``None`` when it is none of this kind."""
    match kind:
        case "image/png" if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and len(data) > 24:
            return _big(data[16:20]), _big(data[20:24])
        case "image/gif" if data[:6] in (b"GIF87a", b"GIF89a") and len(data) > 10:
            return _little(data[6:8]), _little(data[8:10])
        case "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
            return _webp_size(data)
        case "image/jpeg" if data[:2] == b"\xff\xd8":
            return next(_jpeg_frames(data), None)
        case _:
            return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case _:
            return None


def _jpeg_frames(data: bytes) -> Iterator[tuple[int, int]]:
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
        elif marker in _SIZELESS_MARKERS:
            place += 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            yield _big(data[place + 7 : place + 9]), _big(data[place + 5 : place + 7])
            return
        else:
            place += 2 + max(2, _big(data[place + 2 : place + 4]))


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
