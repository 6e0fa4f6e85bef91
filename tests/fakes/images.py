"""Beginnings of images: as much as tells their kind and size."""

import base64


def png(width: int = 1, height: int = 1, *, more: int = 0) -> str:
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return _encoded(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + size + b"\x08\x02\0\0\0" + bytes(more))


def gif(width: int = 1, height: int = 1) -> str:
    return _encoded(b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + bytes(3))


def jpeg(width: int = 1, height: int = 1) -> str:
    first = b"\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0"
    frame = b"\xff\xc2\0\x0b\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\1\1\x11\0"
    return _encoded(b"\xff\xd8" + first + frame)


def webp(width: int = 1, height: int = 1, *, kind: str = "VP8X") -> str:
    match kind:
        case "VP8X":
            body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        case "VP8L":
            body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + bytes(5)
        case _:
            body = bytes(6) + width.to_bytes(2, "little") + height.to_bytes(2, "little")
    return _encoded(b"RIFF" + bytes(4) + b"WEBP" + kind.ljust(4).encode() + bytes(4) + body)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
