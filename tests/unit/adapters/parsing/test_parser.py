"""Files read in a child process: its limits, what is left when it is ended, what it can see."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.parsing import parser as parsing
from shared.adapters.parsing.frames import AllPages, Done
from shared.adapters.parsing.limits import DEFAULT_LIMITS
from shared.adapters.parsing.parser import ChildProcessParser, document_of
from shared.domain.kb.failures import CorruptDocumentError, DocumentError, DocumentTooLargeError, IngestionFailedError
from shared.domain.kb.pages import Page
from shared.domain.kb.parsed import DocumentKind
from shared.domain.kb.states import DocumentState
from tests.fakes import made_files
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import PdfPage

S = DocumentState
MIB = 1 << 20
# pdf-inspector compares each border with each other: with so many it takes a minute, and PDFium a moment.
MAP = made_files.pdf(
    PdfPage(
        [f"The lake number {n} is north of the hill." for n in range(8)],
        content=b"".join(b"%d %d 10 10 re S\n" % (n % 500, n // 160) for n in range(80_000)),
    )
)


async def end_of(parser: ChildProcessParser, data: bytes, name: str = "file.pdf") -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        await parser.parse(data, name)
    return caught.value


class TestTheSameAsInOneProcess:
    async def test_pages(self):
        file = made_files.pdf("One.", PdfPage(picture=1.0), PdfPage(["Three."], rotate=90))

        document = await ChildProcessParser().parse(file, "file.pdf")

        assert replace(document, cpu_seconds=0.0) == replace(
            await InProcessParser().parse(file, "file.pdf"), cpu_seconds=0.0
        )
        assert document.cpu_seconds > 0

    async def test_failures(self):
        error = await end_of(ChildProcessParser(), made_files.encrypted_pdf())

        assert (error.state, error.reason) == (S.ENCRYPTED, type(error).usual_reason)

    async def test_the_ending_of_the_name_is_all_that_the_child_is_told(self, monkeypatch: pytest.MonkeyPatch):
        arguments: list[str] = []
        start = asyncio.create_subprocess_exec

        async def overheard(*command: str, **options: Any) -> asyncio.subprocess.Process:
            arguments.extend(command)
            return await start(*command, **options)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", overheard)

        document = await ChildProcessParser().parse(b"a,b\n1,2\n", "salary of Ms Smith.csv")

        assert document.kind is DocumentKind.CSV
        assert not any("Smith" in argument for argument in arguments)


class TestLimits:
    async def test_a_file_of_too_many_bytes_is_not_even_read(self):
        parser = ChildProcessParser(replace(DEFAULT_LIMITS, max_bytes=MIB))

        error = await end_of(parser, bytes(MIB + 1))

        assert (error.state, error.reason) == (S.TOO_LARGE, "This file has more than 1 MB.")

    async def test_nothing(self):
        assert (await end_of(ChildProcessParser(), b"")).state is S.EMPTY

    async def test_time_by_the_clock(self):
        error = await end_of(ChildProcessParser(replace(DEFAULT_LIMITS, seconds=0.001)), made_files.pdf("One."))

        assert (error.state, error.reason) == (S.TOO_LARGE, "This document takes longer to read than it may.")

    async def test_when_the_time_is_up_the_words_are_there_without_their_layout(self):
        document = await ChildProcessParser(replace(DEFAULT_LIMITS, cpu_seconds=1)).parse(MAP, "map.pdf")

        assert document.layout_lost
        assert "The lake number 7 is north of the hill." in document.pages[0].markdown

    async def test_memory(self):
        parser = ChildProcessParser(replace(DEFAULT_LIMITS, memory_bytes=120 * MIB))

        error = await end_of(parser, b"word " * 6_000_000, "long.txt")

        assert (error.state, error.reason) == (S.TOO_LARGE, "This document takes more memory to read than there is.")

    async def test_what_comes_out(self):
        parser = ChildProcessParser(replace(DEFAULT_LIMITS, max_result_bytes=100_000))

        error = await end_of(parser, b"word " * 100_000, "long.txt")

        assert (error.state, error.reason) == (S.TOO_LARGE, "This document has more text than can be read.")


class TestWhatTheChildCanSee:
    def test_no_credentials(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "a-secret")
        monkeypatch.setenv("MEMORY_TABLE", "a-table")

        environment = parsing._environment()

        assert "a-secret" not in environment.values()
        assert set(environment) <= {
            *("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR"),
            *("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "MALLOC_ARENA_MAX", "RAYON_NUM_THREADS"),
        }

    def test_asking_does_not_load_the_parsers(self):
        loaded = "import sys, shared.adapters.parsing.parser; print(*sys.modules)"

        ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)  # noqa: S603

        assert "shared.adapters.parsing.parser" in ended.stdout.split()
        assert {"pypdfium2", "pdf_inspector", "anydoc", "html_to_markdown"}.isdisjoint(ended.stdout.split())


class TestWhatIsLeftOfAChild:
    PAGE = Page.read(1, "Words.")

    def test_the_better_rendering_of_a_page_takes_its_place(self):
        better = replace(self.PAGE, markdown="# Words")

        document = document_of([DocumentKind.PDF, self.PAGE, AllPages(), better, Done(1.5)], None)

        assert (document.pages, document.layout_lost, document.cpu_seconds) == ((better,), False, 1.5)

    def test_all_pages_are_enough(self):
        assert document_of([DocumentKind.PDF, self.PAGE, AllPages()], DocumentTooLargeError()).layout_lost

    def test_some_pages_are_not(self):
        with pytest.raises(DocumentTooLargeError):
            document_of([DocumentKind.PDF, self.PAGE], DocumentTooLargeError())

    def test_a_child_that_says_nothing_failed(self):
        with pytest.raises(IngestionFailedError):
            document_of([], None)

    @pytest.mark.parametrize(
        ("code", "state"),
        [
            (-signal.SIGXCPU, S.TOO_LARGE),
            (-signal.SIGABRT, S.TOO_LARGE),
            (-signal.SIGKILL, S.TOO_LARGE),
            (-signal.SIGSEGV, S.CORRUPT),
            (-signal.SIGTERM, S.FAILED),
            (1, S.FAILED),
        ],
    )
    def test_how_it_ended_says_why(self, code: int, state: DocumentState):
        assert parsing._why(code).state is state


class TestScans:
    async def test_a_page_is_cut_out(self):
        file = made_files.pdf("One.", PdfPage(picture=1.0), "Three.")

        scans = await ChildProcessParser().scans(file, "file.pdf", [2, 3])

        assert [(scan.number, scan.media_type) for scan in scans] == [(2, "application/pdf"), (3, "application/pdf")]
        alone = await InProcessParser().parse(scans[1].data, "alone.pdf")
        assert [page.markdown.removeprefix("## ") for page in alone.pages] == ["Three."]

    async def test_a_page_of_five_metres_is_drawn_within_bounds(self):
        file = made_files.pdf(PdfPage(["A poster."], size=(14_400, 14_400)))

        scan = (await ChildProcessParser().scans(file, "poster.pdf", [1]))[0]

        width, height = int.from_bytes(scan.data[16:20]), int.from_bytes(scan.data[20:24])
        assert scan.media_type == "image/png"
        assert 3_000 < width == height
        assert width * height <= 10_100_000
        assert len(scan.data) <= DEFAULT_LIMITS.max_scan_bytes

    async def test_a_page_of_too_many_bytes_is_drawn(self):
        parser = InProcessParser(replace(DEFAULT_LIMITS, max_scan_bytes=3_000, scan_dpi=50))
        lines = b"".join(b"%d %d m %d %d l S\n" % (n * n % 595, n % 842, n * n % 577, n % 839) for n in range(3_000))
        file = made_files.pdf(PdfPage(content=lines))

        scan = (await parser.scans(file, "file.pdf", [1]))[0]

        assert scan.media_type == "image/png"
        assert len(scan.data) <= 3_000

    async def test_a_picture_is_its_own_scan(self):
        assert [scan.media_type for scan in await InProcessParser().scans(made_files.png(), "a.png", [1])] == [
            "image/png"
        ]

    async def test_a_picture_of_too_many_bytes(self):
        parser = InProcessParser(replace(DEFAULT_LIMITS, max_scan_bytes=50))

        with pytest.raises(DocumentTooLargeError):
            await parser.scans(made_files.png(), "a.png", [1])

    async def test_of_an_encrypted_file(self):
        with pytest.raises(DocumentError) as caught:
            await ChildProcessParser().scans(made_files.encrypted_pdf(), "file.pdf", [1])

        assert caught.value.state is S.ENCRYPTED

    async def test_of_a_page_that_is_not_there(self):
        with pytest.raises(CorruptDocumentError):
            await InProcessParser().scans(made_files.pdf("One."), "file.pdf", [2])

    async def test_none(self):
        assert await ChildProcessParser().scans(made_files.pdf("One."), "file.pdf", []) == []


async def test_a_parse_that_is_cancelled_leaves_no_child(monkeypatch: pytest.MonkeyPatch):
    started: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
    start = asyncio.create_subprocess_exec

    async def watched(*command: str, **options: Any) -> asyncio.subprocess.Process:
        process = await start(*command, **options)
        started.put_nowait(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
    reading = asyncio.create_task(ChildProcessParser().parse(MAP, "map.pdf"))
    process = await started.get()

    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert process.returncode == -signal.SIGKILL
