"""What becomes of uploads that are not what they should be, from the event to the state that their owner sees."""

import random

import pytest

from shared.domain.kb.ocr import OcrDeniedError
from shared.domain.kb.states import DocumentState
from tests.fakes import made_files
from tests.fakes.knowledge import KnowledgeBase
from tests.fakes.made_files import PdfFont, PdfPage, pdf
from tests.fakes.ocr import PlannedOcr

S = DocumentState
NOISE = random.Random(7).randbytes(5000)  # noqa: S311 - noise, no secret
WORD = made_files.docx("".join(made_files.paragraph(f"Paragraph {n} of the heron.") for n in range(300)))
WHOLE = pdf(*(f"Page {n} of the heron." for n in range(30)))
SCRIPTS = b"<!doctype html><html><body><script>document.write('heron')</script><style>p {}</style></body></html>"
TABLE = "name,place,count\n東京本店,東京都千代田区,1200\n大阪支店,大阪市北区,900\n"
ROWS = [["Bird", "Count"], *([f"heron-{n}", str(n)] for n in range(60))]
HEBREW = "שלום"
RIGHT_TO_LEFT = PdfFont(letters={65 + n: letter for n, letter in enumerate(HEBREW)})
LIGATURES = PdfFont(letters={1: "\ufb03", 2: "\ufb01"})


@pytest.fixture
def ocr():
    ocr = PlannedOcr()
    ocr.failure = OcrDeniedError("no rights")
    return ocr


@pytest.fixture
def kb(ocr):
    return KnowledgeBase(ocr=ocr, max_bytes=50_000_000)


@pytest.mark.parametrize(
    ("name", "data", "state"),
    [
        pytest.param("nothing.pdf", b"", S.EMPTY, id="zero bytes"),
        pytest.param("locked.pdf", made_files.encrypted_pdf(), S.ENCRYPTED, id="encrypted PDF"),
        pytest.param(
            "locked.docx",
            made_files.compound_file("EncryptionInfo", "EncryptedPackage"),
            S.ENCRYPTED,
            id="encrypted Office file",
        ),
        pytest.param("cut.pdf", WHOLE[: len(WHOLE) // 2], S.CORRUPT, id="truncated PDF"),
        pytest.param("cut.docx", WORD[: len(WORD) // 2], S.CORRUPT, id="truncated Office file"),
        pytest.param("noise.pdf", NOISE, S.UNSUPPORTED, id="random bytes"),
        pytest.param("long.pdf", pdf(*[PdfPage(["Same."])] * 10_000), S.TOO_LARGE, id="10,000 pages"),
        pytest.param("bomb.docx", made_files.zip_bomb(), S.TOO_LARGE, id="zip bomb"),
        pytest.param("app.html", SCRIPTS, S.EMPTY, id="HTML with only scripts"),
        pytest.param("scan.pdf", pdf(PdfPage(picture=0.9)), S.NEEDS_OCR, id="scan without the right to OCR"),
    ],
)
async def test_ends_in_its_state_with_a_reason_and_nothing_to_find(kb, name, data, state):
    record = await kb.upload(name, data)
    assert (record.state, record.live_version) == (state, 0)
    assert record.reason.endswith(".")
    assert (kb.index.kept, kb.chunks.kept, kb.queue.steps) == ({}, {}, [])


@pytest.mark.parametrize(
    ("name", "data", "question"),
    [
        pytest.param("notes.txt", WHOLE, "heron", id="PDF called text"),
        pytest.param("notes.pdf", b"Only text of the heron.", "heron", id="text called PDF"),
        pytest.param("circle.pdf", made_files.pdf_with_circular_outline(), "page", id="circular outline"),
        pytest.param("poster.pdf", pdf(PdfPage(["A heron."], size=(14_400, 14_400))), "heron", id="page of 14,400 pt"),
        pytest.param("shops.csv", TABLE.encode("cp932"), "東京本店", id="CSV in cp932"),
        pytest.param("shops.csv", TABLE.encode("utf-16"), "東京本店", id="CSV in UTF-16"),
        pytest.param("turned.pdf", pdf(PdfPage(["The heron."], rotate=90)), "heron", id="turned page"),
        pytest.param(
            "office.pdf",
            pdf(PdfPage(content=rb"BT /F2 12 Tf 72 700 Td (The o\001ce.) Tj ET"), fonts={"F2": LIGATURES}),
            "office",
            id="ligature",
        ),
        pytest.param(
            "hebrew.pdf",
            pdf(PdfPage(content=b"BT /F2 12 Tf 72 700 Td (DCBA) Tj ET"), fonts={"F2": RIGHT_TO_LEFT}),
            HEBREW,
            id="right to left",
        ),
    ],
)
async def test_is_read_and_found_all_the_same(kb, name, data, question):
    record = await kb.upload(name, data)
    assert (record.state, record.reason) == (S.READY, "")
    assert await kb.found(question)


async def test_every_chunk_of_a_table_of_sixty_rows_has_its_head(kb):
    await kb.upload("birds.docx", made_files.docx(made_files.word_table(ROWS)))
    chunks = [chunk for chunk, _ in kb.index.kept["anna"].values()]
    assert {"| Bird | Count |" in chunk.text for chunk in chunks} == {True}
    assert all(any(f"| heron-{n} |" in chunk.text for chunk in chunks) for n in range(60))
