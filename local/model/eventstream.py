"""The frames of ``application/vnd.amazon.eventstream``.

A frame is: total length, header length, CRC of these two, headers, payload, CRC of all before it; big-endian.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any
from zlib import crc32

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7
_OVERHEAD = 16


def event_frame(event_type: str, payload: Mapping[str, Any]) -> bytes:
    """Give the frame of an event, for example ``contentBlockDelta``."""
    return _frame({":event-type": event_type, ":message-type": "event"}, payload)


def exception_frame(exception_type: str, payload: Mapping[str, Any]) -> bytes:
    """Give the frame of an exception in mid-stream, for example ``throttlingException``."""
    return _frame({":exception-type": exception_type, ":message-type": "exception"}, payload)


def _frame(headers: Mapping[str, str], payload: Mapping[str, Any]) -> bytes:
    named = {**headers, ":content-type": "application/json"}
    head = b"".join(_header(name, value) for name, value in named.items())
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    prelude = struct.pack("!II", _OVERHEAD + len(head) + len(body), len(head))
    message = prelude + struct.pack("!I", crc32(prelude)) + head + body
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    encoded_name, encoded_value = name.encode(), value.encode()
    return (
        struct.pack("!B", len(encoded_name))
        + encoded_name
        + struct.pack("!BH", _STRING, len(encoded_value))
        + encoded_value
    )
