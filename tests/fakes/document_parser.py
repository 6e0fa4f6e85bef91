"""The parser without its process: the same reading, in the test's own."""

from collections.abc import Sequence

from shared.adapters.parsing.child import answer
from shared.adapters.parsing.frames import Done, Frame
from shared.adapters.parsing.limits import DEFAULT_LIMITS, ParseLimits
from shared.adapters.parsing.parser import document_of
from shared.adapters.parsing.request import Request
from shared.domain.kb.failures import DocumentError
from shared.domain.kb.parsed import PageScan, ParsedDocument


class InProcessParser:
    """Implements the port ``DocumentParser``; only the limits of time and memory are not held."""

    def __init__(self, limits: ParseLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits

    async def parse(self, data: bytes, name: str) -> ParsedDocument:
        return document_of(*self._answer(data, name))

    async def scans(self, data: bytes, name: str, numbers: Sequence[int]) -> Sequence[PageScan]:
        frames, ended = self._answer(data, name, tuple(numbers))
        if ended is not None:
            raise ended
        return [frame for frame in frames if isinstance(frame, PageScan)]

    def _answer(self, data: bytes, name: str, scans: tuple[int, ...] = ()) -> tuple[list[Frame], DocumentError | None]:
        frames = list(answer(Request(name=name, limits=self._limits, scans=scans), data))
        last = frames[-1]
        return frames, None if isinstance(last, Done) else last if isinstance(last, DocumentError) else None
