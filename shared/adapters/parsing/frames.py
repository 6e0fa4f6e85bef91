"""What the child process says, and how it is read back even when the child was ended in the middle of it.

Each frame is a line of JSON, a list of its name and its content; a page for OCR is followed by its bytes. JSON, because
a child that a file has taken over must not get further than to its own words.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, Final

from shared.domain.kb.failures import DocumentError, document_error
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import DocumentKind, PageScan
from shared.domain.kb.states import DocumentState


@dataclass(frozen=True, slots=True)
class AllPages:
    """Every page has been given; what follows are better renderings of some."""


@dataclass(frozen=True, slots=True)
class Done:
    """The child has done what it was asked for.

    Parameters
    ----------
    cpu_seconds : float
        What that took.
    """

    cpu_seconds: float


Frame = DocumentKind | Page | AllPages | PageScan | DocumentError | Done


def write_frame(file: BinaryIO, frame: Frame) -> None:
    """Write one frame, so that it outlives the process."""
    match frame:
        case DocumentKind():
            _write(file, "kind", frame)
        case Page():
            _write(file, "page", asdict(frame))
        case AllPages():
            _write(file, "all_pages", None)
        case PageScan():
            about = {"number": frame.number, "media_type": frame.media_type, "bytes": len(frame.data)}
            _write(file, "scan", about, frame.data)
        case DocumentError():
            _write(file, "failed", {"state": frame.state, "reason": frame.reason})
        case Done():
            _write(file, "done", frame.cpu_seconds)


def read_frames(file: BinaryIO) -> Iterator[Frame]:
    """Read frames up to the first that is not complete."""
    while (line := file.readline()).endswith(b"\n"):
        try:
            name, content = json.loads(line)
            frame = _read_scan(file, content) if name == "scan" else _READERS[name](content)
        except (ValueError, TypeError, KeyError):
            return
        yield frame


def _write(file: BinaryIO, name: str, content: object, body: bytes = b"") -> None:
    file.write(json.dumps([name, content]).encode() + b"\n" + body)
    file.flush()


def _read_scan(file: BinaryIO, about: Mapping[str, Any]) -> PageScan:
    data = file.read(about["bytes"])
    if len(data) < about["bytes"]:
        raise ValueError("The child was ended in the middle of a page.")
    return PageScan(number=about["number"], data=data, media_type=about["media_type"])


_READERS: Final[Mapping[str, Callable[[Any], Frame]]] = {
    "kind": DocumentKind,
    "page": lambda fields: Page(**fields),
    "all_pages": lambda _: AllPages(),
    "failed": lambda about: document_error(DocumentState(about["state"]), about["reason"]),
    "done": Done,
}
