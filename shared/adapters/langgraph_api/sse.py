"""Events as a stream of server-sent events."""

from typing import Final

MEDIA_TYPE: Final = "text/event-stream; charset=utf-8"

HEARTBEAT: Final = b": heartbeat\n\n"
"""A comment, which clients skip. Their watchdogs time the connection by it."""

# No line ends to the format, but to the line readers of several languages.
_OTHER_LINE_ENDS: Final = ("\u0085", "\u2028", "\u2029")


def sse_event(name: str, data: bytes, number: int) -> bytes:
    """Give one event.

    Parameters
    ----------
    name : str
        What kind of event it is.
    data : bytes
        JSON on one line.
    number : int
        The event's id, by which a client that comes back says how far it got.
    """
    return b"event: %b\ndata: %b\nid: %d\n\n" % (name.encode(), on_one_line(data), number)


def on_one_line(data: bytes) -> bytes:
    """Give JSON without what any reader takes for the end of a line."""
    for end in _OTHER_LINE_ENDS:
        data = data.replace(end.encode(), b"\\u%04x" % ord(end))
    return data
