"""A run's events as a stream of server-sent events."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared.adapters.langgraph_api.json_encoding import JsonEncoder

MEDIA_TYPE: Final = "text/event-stream; charset=utf-8"

HEARTBEAT: Final = b": heartbeat\n\n"
"""A comment, which clients skip. Their watchdogs time the connection by it."""

# No line ends to the format, but to the line readers of several languages.
_OTHER_LINE_ENDS: Final = ("\u0085", "\u2028", "\u2029")

# What clients read of a token's metadata; LangGraph's own is 0.8 KB, which every few letters would carry.
_READ_METADATA: Final = ("langgraph_node", "langgraph_checkpoint_ns", "tags")


class SseWriter:
    """Writes the events of one run, with ids that count up."""

    def __init__(self) -> None:
        self._json = JsonEncoder()
        self._id = 0

    def event(self, name: str, data: object, *, namespace: Sequence[str] = ()) -> bytes:
        """Give one event.

        Parameters
        ----------
        name : str
            ``values``, ``updates``, ``messages``, ``custom``, ``metadata``, ``error`` or ``end``.
        data : object
            Written as JSON, on one line.
        namespace : sequence of str
            The subgraph it is from; named after the event's name.
        """
        self._id += 1
        kind = "|".join([name, *namespace])
        line = self._json.encode(data)
        for end in _OTHER_LINE_ENDS:
            line = line.replace(end.encode(), b"\\u%04x" % ord(end))
        return b"event: %b\ndata: %b\nid: %d\n\n" % (kind.encode(), line, self._id)

    def message(self, message: object, metadata: Mapping[str, Any], *, namespace: Sequence[str] = ()) -> bytes:
        """Give a message, or the next part of one, with what clients read of its metadata."""
        read = {key: metadata[key] for key in _READ_METADATA if key in metadata}
        return self.event("messages", [message, read], namespace=namespace)
