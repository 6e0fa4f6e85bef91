"""What turning a file into chunks costs beside the bare parsers, in the same run.

    python -m bench.ingest [--pages 200] [--repeat 3] [FILE …]
    python -m bench.ingest --states FILE …

With --states it says instead what becomes of each file: its kind, the state that it ends in where nothing does OCR, its
pages, how many of them need OCR, its chunks, and the CPU seconds of the child process and of the rest.

Without files, a PDF is made: four pages of prose under headings, then one with a table, and so on. Each contestant runs
in a process of its own, the best of its runs counts. The pipeline is what the ingestion does without the network: the
file in a child process with its limits, both parsers, one checked against the other, the text normalised, which pages
need OCR, chunks.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pdf_inspector
import pypdfium2

from shared.adapters.parsing.parser import ChildProcessParser
from shared.domain.ids import DocumentId
from shared.domain.kb.failures import DocumentError
from shared.domain.kb.pages import pages_for_ocr, require_text
from shared.domain.kb.split import split
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import PdfPage, pdf, table_page

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")
VOCABULARY = (
    "the of and to in is was for that with as by on are from at this be an or which it were not have has but also "
    "one two river city people water field house year system state line report market stone bridge winter valley "
    "measure signal harbour quarter library engine garden record council supply number office history village"
)
WORDS = VOCABULARY.split()


def made(pages: int) -> bytes:
    """A PDF of prose and tables; the same for the same number of pages."""
    rng = random.Random(pages)  # noqa: S311
    return pdf(*(_page(rng, number) for number in range(1, pages + 1)))


def _page(rng: random.Random, number: int) -> PdfPage:
    if number % 5 == 0:
        rows = [[rng.choice(WORDS), str(rng.randrange(10_000)), rng.choice(WORDS)] for _ in range(35)]
        return table_page([["Name", "Count", "Place"], *rows])
    sentences = (" ".join(rng.choices(WORDS, k=11)).capitalize() + "." for _ in range(45))
    return PdfPage([f"{number}. {rng.choice(WORDS).capitalize()}", *sentences])


def pdfium(data: bytes, _name: str) -> int:
    file = pypdfium2.PdfDocument(data)
    for page in file:
        page.get_textpage().get_text_bounded()
    return len(file)


def inspector(data: bytes, _name: str) -> int:
    return len(pdf_inspector.extract_pages_markdown_bytes(data).pages)


def one_process(data: bytes, name: str) -> int:
    return _chunked(InProcessParser(), data, name)


def pipeline(data: bytes, name: str) -> int:
    return _chunked(ChildProcessParser(), data, name)


def _chunked(parser: ChildProcessParser | InProcessParser, data: bytes, name: str) -> int:
    document = asyncio.run(parser.parse(data, name))
    split(document.pages, DOCUMENT, 1)
    return len(document.pages)


CONTESTANTS: Mapping[str, Callable[[bytes, str], int]] = {
    "pypdfium2 alone": pdfium,
    "pdf-inspector alone": inspector,
    "pipeline, in one process": one_process,
    "pipeline": pipeline,
}


@dataclass
class Cost:
    pages: int
    seconds: float
    cpu_seconds: float
    peak_mb: float


def cost_of(contestant: str, path: Path) -> Cost:
    """Run a contestant here, with the process that it starts."""
    data = path.read_bytes()
    cpu, start = _cpu(), time.perf_counter()
    pages = CONTESTANTS[contestant](data, path.name)
    seconds, cpu_seconds = time.perf_counter() - start, _cpu() - cpu
    return Cost(pages, seconds, cpu_seconds, _peak_mb())


def _cpu() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def _peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    here, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    # They are there at the same time.
    return (here + child) * unit / 1e6


def best_of(contestant: str, path: Path, repeat: int) -> Cost | None:
    """Run a contestant in processes of its own; ``None`` when it cannot read the file."""
    costs: list[Cost] = []
    for _ in range(repeat):
        command = [sys.executable, "-m", "bench.ingest", "--contestant", contestant, str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode:
            return None
        costs.append(Cost(**json.loads(ended.stdout)))
    return min(costs, key=lambda cost: cost.cpu_seconds)


@dataclass
class End:
    """What becomes of a file."""

    state: str
    kind: str = ""
    pages: int = 0
    scans: int = 0
    chunks: int = 0
    cpu_seconds: float = 0.0


def end_of(path: Path) -> End:
    """Read a file as the ingestion does, where nothing does OCR."""
    cpu = _cpu()
    try:
        document = asyncio.run(ChildProcessParser().parse(path.read_bytes(), path.name))
        end = End("READY", document.kind, len(document.pages), len(pages_for_ocr(document.pages)))
        try:
            require_text(document.pages)
            end.chunks = len(split(document.pages, DOCUMENT, 1))
        except DocumentError as error:
            end.state = error.state
    except DocumentError as error:
        end = End(error.state)
    end.cpu_seconds = _cpu() - cpu
    return end


def show_states(paths: Sequence[Path]) -> None:
    print("| file | kB | kind | state | pages | need OCR | chunks | CPU-s |")
    print("| --- | --: | --- | --- | --: | --: | --: | --: |")
    for path in paths:
        end, size = end_of(path), path.stat().st_size / 1e3
        what = f"{end.kind} | {end.state} | {end.pages or ''} | {end.scans or ''} | {end.chunks or ''}"
        print(f"| {path.name} | {size:,.0f} | {what} | {end.cpu_seconds:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.ingest", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--pages", type=int, default=200, help="of the PDF that is made")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--contestant", choices=CONTESTANTS, help="run one here and print its cost")
    parser.add_argument("--states", action="store_true", help="say what becomes of each file")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.contestant:
        try:
            print(json.dumps(asdict(cost_of(arguments.contestant, arguments.files[0]))))
        except (DocumentError, ValueError, pypdfium2.PdfiumError) as error:
            sys.exit(str(error))
        return
    if arguments.states:
        show_states(arguments.files)
        return
    with TemporaryDirectory() as folder:
        sample = Path(folder, f"{arguments.pages} made pages.pdf")
        if not arguments.files:
            sample.write_bytes(made(arguments.pages))
        for path in arguments.files or [sample]:
            print(f"\n{path.name}, {path.stat().st_size / 1e3:,.0f} kB\n")
            print("| | pages | pages/s | CPU ms/page | peak MB |\n| --- | --: | --: | --: | --: |")
            for contestant in CONTESTANTS:
                cost = best_of(contestant, path, arguments.repeat)
                if cost is None:
                    print(f"| {contestant} | | cannot read it | | |")
                    continue
                rate, each = cost.pages / cost.seconds, 1000 * cost.cpu_seconds / cost.pages
                print(f"| {contestant} | {cost.pages} | {rate:,.0f} | {each:,.2f} | {cost.peak_mb:,.0f} |")


if __name__ == "__main__":
    main()
