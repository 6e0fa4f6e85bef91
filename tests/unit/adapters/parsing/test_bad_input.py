"""What becomes of files that are not what they should be: each ends in one state, with a reason."""

import random
from dataclasses import replace

import pytest

from shared.adapters.parsing.limits import DEFAULT_LIMITS
from shared.domain.kb.failures import DocumentError, DocumentTooLargeError
from shared.domain.kb.pages import pages_for_ocr, require_text
from shared.domain.kb.parsed import DocumentKind, ParsedDocument
from shared.domain.kb.states import DocumentState
from tests.fakes import made_files
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import PdfPage

S = DocumentState
PARSER = InProcessParser()

WORD = made_files.docx("".join(made_files.paragraph(f"Paragraph {n} of the text.") for n in range(300)))
WITHOUT_LIST = made_files.pptx(lists_slides=False)
NOISE = random.Random(7).randbytes(5000)  # noqa: S311 - noise, no secret
PDF = made_files.pdf(*(f"Page {n} of the text." for n in range(30)))
LOCKED_OFFICE = made_files.compound_file("EncryptionInfo", "EncryptedPackage")
LOCKED_PART = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
SCRIPTS = b"<!doctype html><html><head><title>App</title><script>var words = 'not text';</script></head><body>\
<noscript></noscript><script>document.write('words')</script><style>p { color: red }</style></body></html>"


async def end_of(data: bytes, name: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        await PARSER.parse(data, name)
    return caught.value


@pytest.mark.parametrize(
    ("data", "name", "state"),
    [
        pytest.param(b"", "nothing.pdf", S.EMPTY, id="zero bytes"),
        pytest.param(b" \n\t \n", "space.txt", S.EMPTY, id="white space"),
        pytest.param(SCRIPTS, "app.html", S.EMPTY, id="HTML with only scripts"),
        pytest.param(made_files.pdf(PdfPage()), "blank.pdf", S.EMPTY, id="a blank page"),
        pytest.param(made_files.docx(""), "blank.docx", S.EMPTY, id="a Word file without text"),
        pytest.param(made_files.xlsx({"Sheet1": []}), "blank.xlsx", S.EMPTY, id="an empty sheet"),
        pytest.param(made_files.pptx(), "blank.pptx", S.EMPTY, id="a presentation without slides"),
        pytest.param(WITHOUT_LIST, "blank.pptx", S.EMPTY, id="one without even a list of them"),
        pytest.param(made_files.encrypted_pdf(), "locked.pdf", S.ENCRYPTED, id="PDF with a password"),
        pytest.param(LOCKED_OFFICE, "locked.docx", S.ENCRYPTED, id="Office file with a password"),
        pytest.param(made_files.odt("Text.", LOCKED_PART), "locked.odt", S.ENCRYPTED, id="OpenDocument with one"),
        pytest.param(PDF[: len(PDF) // 2], "cut.pdf", S.CORRUPT, id="PDF cut in half"),
        pytest.param(WORD[: len(WORD) // 2], "cut.docx", S.CORRUPT, id="Word file cut in half"),
        pytest.param(made_files.compound_file("WordDocument"), "old.doc", S.CORRUPT, id="old Word file without text"),
        pytest.param(made_files.compound_file("WordDocument")[:700], "cut.doc", S.CORRUPT, id="old Word file cut off"),
        pytest.param(b"%PDF-1.7\nno more than that", "false.pdf", S.CORRUPT, id="PDF by its first line only"),
        pytest.param(NOISE, "noise.pdf", S.UNSUPPORTED, id="random bytes"),
        pytest.param(NOISE, "noise.txt", S.UNSUPPORTED, id="random bytes called text"),
        pytest.param(b"PK\x03\x04" + NOISE, "noise.docx", S.CORRUPT, id="noise in a zip"),
        pytest.param(made_files.archive({"a.txt": "Text."}), "a.docx", S.UNSUPPORTED, id="another archive"),
        pytest.param(made_files.compound_file("Contents"), "a.doc", S.UNSUPPORTED, id="another OLE file"),
        pytest.param(b"GIF89a" + bytes(50), "a.png", S.UNSUPPORTED, id="a picture that OCR does not take"),
        pytest.param(b"\x7fELF" + bytes(5000), "a.md", S.UNSUPPORTED, id="a program"),
        pytest.param(made_files.zip_bomb(), "bomb.docx", S.TOO_LARGE, id="zip bomb"),
        pytest.param(made_files.pdf(*[PdfPage(["Same."])] * 10_000), "long.pdf", S.TOO_LARGE, id="10,000 pages"),
    ],
)
async def test_ends_in_a_state_with_a_reason(data: bytes, name: str, state: DocumentState):
    error = await end_of(data, name)

    assert error.state is state
    assert error.reason.endswith(".")


async def test_the_reason_says_how_many_pages_there_may_be():
    error = await end_of(made_files.pdf(*["Same."] * 2_001), "long.pdf")

    assert error.reason == "This document has 2,001 pages; 2,000 are the most."


async def test_a_file_that_went_through_a_text_editor_is_damaged_not_empty():
    compressed = made_files.pdf(PdfPage(content=b"\xff\xfe\xfd" * 2000))
    mangled = compressed.replace(b"\xff\xfe\xfd", "\ufffd".encode() * 3)

    assert (await end_of(mangled, "mail.pdf")).state is S.CORRUPT


class TestWhatIsReadAllTheSame:
    async def read(self, data: bytes, name: str) -> ParsedDocument:
        return await PARSER.parse(data, name)

    async def test_the_ending_of_the_name_is_not_believed(self):
        assert (await self.read(PDF, "notes.txt")).kind is DocumentKind.PDF
        assert (await self.read(WORD, "notes.pdf")).kind is DocumentKind.DOCX
        assert (await self.read(b"Just text.", "notes.pdf")).kind is DocumentKind.TEXT
        assert (await self.read(b"<html><body><p>Text.</p></body></html>", "notes.csv")).kind is DocumentKind.HTML

    async def test_a_pdf_without_its_directory(self):
        start = PDF.rindex(b"xref\n0")
        without = PDF[:start] + PDF[PDF.index(b"trailer", start) :]

        read = await self.read(without, "cut.pdf")

        assert [page.number for page in read.pages] == list(range(1, 31))
        assert "Page 29 of the text." in read.pages[29].markdown

    async def test_a_table_of_contents_that_never_ends(self):
        assert (
            "The page itself."
            in (await self.read(made_files.pdf_with_circular_outline(), "circle.pdf")).pages[0].markdown
        )

    async def test_a_page_of_five_metres(self):
        poster = made_files.pdf(PdfPage(["A poster."], size=(14_400, 14_400)))

        assert "A poster." in (await self.read(poster, "poster.pdf")).pages[0].markdown

    async def test_a_page_that_is_no_page(self):
        file = made_files.pdf("One.", "Two.", "Three.").replace(b"/Type/Page/", b"/Type/Font/", 1)

        assert [page.kind for page in (await self.read(file, "odd.pdf")).pages].count("text") >= 2


async def test_a_scan_without_the_right_to_use_ocr():
    scanned = await PARSER.parse(made_files.pdf(PdfPage(picture=1.0), PdfPage(picture=0.9)), "scan.pdf")

    assert pages_for_ocr(scanned.pages) == (1, 2)
    with pytest.raises(DocumentError) as caught:
        require_text(scanned.pages)
    assert caught.value.state is S.NEEDS_OCR


async def test_an_archive_that_lies_about_its_size_meets_the_limit_of_the_reader():
    assert (await end_of(made_files.lying_zip_bomb(), "bomb.docx")).state is S.TOO_LARGE


async def test_a_presentation_or_workbook_of_too_many_pages():
    parser = InProcessParser(replace(DEFAULT_LIMITS, max_pages=3))

    with pytest.raises(DocumentTooLargeError, match="4 pages"):
        await parser.parse(made_files.pptx("a", "b", "c", "d"), "long.pptx")


@pytest.mark.parametrize("seed", range(40))
async def test_damaged_files_end_in_a_state_too(seed: int):
    """Whatever bytes are turned, a file is read or ends as a failure that is its own fault."""
    rng = random.Random(seed)  # noqa: S311
    whole = bytearray([PDF, WORD, made_files.pptx("One.", "Two."), made_files.odt("Text.")][seed % 4])
    for _ in range(rng.randint(1, 40)):
        whole[rng.randrange(len(whole))] = rng.randrange(256)

    assert await what_becomes_of(bytes(whole)) in {"read", S.CORRUPT, S.EMPTY, S.UNSUPPORTED, S.ENCRYPTED, S.TOO_LARGE}


async def what_becomes_of(data: bytes) -> str:
    try:
        await PARSER.parse(data, "damaged")
    except DocumentError as error:
        return error.state
    return "read"
