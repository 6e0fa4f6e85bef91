"""Reading files from anybody: the side that stays in the function's process."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from shared.adapters.parsing.frames import AllPages, Done, Frame, read_frames
from shared.adapters.parsing.limits import DEFAULT_LIMITS, OUT_OF_MEMORY, OUT_OF_TIME, TOO_MUCH_TEXT, ParseLimits
from shared.adapters.parsing.request import CHILD, Request
from shared.domain.kb.failures import (
    CorruptDocumentError,
    DocumentError,
    DocumentTooLargeError,
    EmptyDocumentError,
    IngestionFailedError,
)
from shared.domain.kb.pages import Page, PageKind
from shared.domain.kb.parsed import DocumentKind, PageScan, ParsedDocument

# SIGKILL is the kernel's when the machine has no memory left; SIGABRT is how a parser ends that gets none.
_MEMORY: Final = (-signal.SIGKILL, -signal.SIGABRT)
_CRASHES: Final = (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE, -signal.SIGTRAP)

# The child gets what Python needs to start, and none of the function's credentials.
_PASSED_ON: Final = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR")


class ChildProcessParser:
    """Reads files in child processes; implements the port ``DocumentParser``.

    Parameters
    ----------
    limits : ParseLimits, optional
        What one document may take.
    """

    def __init__(self, limits: ParseLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits

    async def parse(self, data: bytes, name: str) -> ParsedDocument:
        """Read a file's pages.

        When the time or the memory is gone and the words of all pages are there, they are the result.

        Parameters
        ----------
        data : bytes
            The file.
        name : str
            What it is called; its ending tells apart the kinds of text.

        Raises
        ------
        DocumentError
            When it cannot be read; its ``state`` is where the document ends.
        """
        return document_of(*await self._run(data, name))

    async def scans(self, data: bytes, name: str, numbers: Sequence[int]) -> list[PageScan]:
        """Give pages of a file for OCR; each in a file of its own that OCR takes.

        Parameters
        ----------
        data : bytes
            The file.
        name : str
            What it is called.
        numbers : sequence of int
            Which pages; a few at a time, they are all held in memory.

        Raises
        ------
        DocumentError
            When one of them cannot be given.
        """
        if not numbers:
            return []
        frames, ended = await self._run(data, name, tuple(numbers))
        if ended is not None:
            raise ended
        return [frame for frame in frames if isinstance(frame, PageScan)]

    async def _run(
        self, data: bytes, name: str, scans: tuple[int, ...] = ()
    ) -> tuple[list[Frame], DocumentError | None]:
        """Give what the child said, and why it ended when not by itself."""
        if not data:
            raise EmptyDocumentError("This file is empty.")
        if len(data) > self._limits.max_bytes:
            raise DocumentTooLargeError(f"This file has more than {self._limits.max_bytes // 2**20} MB.")
        # Only the ending: every user of the machine can read a process's arguments.
        request = Request(name=f"file{PurePosixPath(name).suffix}", limits=self._limits, scans=scans)
        with TemporaryFile() as source, TemporaryFile() as output:
            source.write(data)
            source.seek(0)
            code = await self._child(request, source, output)
            output.seek(0)
            frames = list(read_frames(output))
        failure = next((frame for frame in frames if isinstance(frame, DocumentError)), None)
        done = any(isinstance(frame, Done) for frame in frames)
        return frames, None if done else failure or _why(code)

    async def _child(self, request: Request, source: BinaryIO, output: BinaryIO) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            CHILD,
            request.as_argument(),
            stdin=source,
            stdout=output,
            stderr=DEVNULL,
            env=_environment(),
        )
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await process.wait()
        except TimeoutError:
            return -signal.SIGXCPU
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def document_of(frames: Iterable[Frame], ended: DocumentError | None) -> ParsedDocument:
    """Put together what a child said.

    Parameters
    ----------
    frames : iterable of Frame
        All of it.
    ended : DocumentError or None
        Why it ended, when it was not done.

    Raises
    ------
    DocumentError
        When the words of some page are missing, or there are none.
    """
    kind: DocumentKind | None = None
    pages: dict[int, Page] = {}
    complete = False
    cpu_seconds = 0.0
    for frame in frames:
        match frame:
            case DocumentKind():
                kind = frame
            case Page():
                pages[frame.number] = frame
            case AllPages():
                complete = True
            case Done():
                cpu_seconds = frame.cpu_seconds
            case _:
                pass
    if kind is None or not complete:
        raise ended or IngestionFailedError()
    if all(page.kind is PageKind.BLANK for page in pages.values()):
        raise EmptyDocumentError
    return ParsedDocument(
        kind=kind, pages=tuple(pages.values()), layout_lost=ended is not None, cpu_seconds=cpu_seconds
    )


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # One arena and one thread: more of them take address space that no document asked for.
    return kept | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MALLOC_ARENA_MAX": "1",
        "RAYON_NUM_THREADS": "1",
    }


def _why(code: int) -> DocumentError:
    if code == -signal.SIGXCPU:
        return DocumentTooLargeError(OUT_OF_TIME)
    if code == -signal.SIGXFSZ:
        return DocumentTooLargeError(TOO_MUCH_TEXT)
    if code in _MEMORY:
        return DocumentTooLargeError(OUT_OF_MEMORY)
    if code in _CRASHES:
        return CorruptDocumentError()
    return IngestionFailedError()
