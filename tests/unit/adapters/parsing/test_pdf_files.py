"""What comes out of PDFs."""

from shared.adapters.parsing.pdf_files import better_pages
from shared.domain.ids import DocumentId
from shared.domain.kb.pages import Page, PageKind
from shared.domain.kb.parsed import DocumentKind, ParsedDocument
from shared.domain.kb.split import split
from tests.fakes import made_files
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import PdfFont, PdfPage

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")

LIGATURES = PdfFont(encoding=b"<</Type/Encoding/Differences[1/ffi/fi]>>")
HEBREW = "\u05e9\u05dc\u05d5\u05dd"


async def read(data: bytes, name: str = "file.pdf") -> ParsedDocument:
    return await InProcessParser().parse(data, name)


async def test_pages_are_numbered_and_measured():
    document = await read(made_files.pdf("One (1).", "Two."))

    assert document.kind is DocumentKind.PDF
    assert [(page.number, page.characters, page.kind) for page in document.pages] == [
        (1, 7, PageKind.TEXT),
        (2, 4, PageKind.TEXT),
    ]
    assert document.pages[0].markdown.endswith("One (1).")
    assert not document.layout_lost


async def test_turned_pages_read_as_upright_ones():
    pages = (await read(made_files.pdf(*(PdfPage(["Turned page."], rotate=turn) for turn in (0, 90, 180, 270))))).pages

    assert [page.rotation for page in pages] == [0, 90, 180, 270]
    assert {page.markdown.removeprefix("## ") for page in pages} == {"Turned page."}


async def test_a_search_for_office_finds_the_ligature():
    content = rb"BT /F2 12 Tf 72 700 Td (The o\001ce has a new \002le.) Tj ET"
    document = await read(made_files.pdf(PdfPage(content=content), fonts={"F2": LIGATURES}))

    chunk = split(document.pages, DOCUMENT, 1)[0]
    assert "The office has a new file." in chunk.text


async def test_text_from_right_to_left_is_in_reading_order():
    # A PDF has the letters where they stand on the page, the last one leftmost.
    font = PdfFont(letters={65 + n: letter for n, letter in enumerate(HEBREW)})
    content = b"BT /F2 12 Tf 72 700 Td (DCBA) Tj ET"

    document = await read(made_files.pdf(PdfPage(content=content), fonts={"F2": font}))

    assert HEBREW in document.pages[0].markdown


class TestScans:
    async def test_a_page_that_is_a_picture_needs_ocr(self):
        page = (await read(made_files.pdf(PdfPage(picture=1.0)))).pages[0]

        assert page.needs_ocr
        assert page.image_cover == 1.0

    async def test_a_picture_within_a_form_is_measured_where_it_stands(self):
        # Objects 5, 6 and 8 are the picture, the resources and the page; the form is added as 9.
        form = made_files.stream(
            b"/Im1 Do", b"/Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</Im1 5 0 R>>>>"
        )
        file = made_files.pdf(PdfPage(content=b"q 595 0 0 421 0 0 cm /F9 Do Q"))
        file = file.replace(b"/XObject<</Im1 5 0 R>>>>", b"/XObject<</F9 9 0 R>>>>")
        file = file[: file.rindex(b"xref\n0")] + b"9 0 obj\n%s\nendobj\ntrailer<</Root 1 0 R/Size 10>>\n%%%%EOF" % form

        page = (await read(file)).pages[0]

        assert page.needs_ocr
        assert 0.49 < page.image_cover < 0.51

    async def test_a_page_with_text_is_not_searched_for_pictures(self):
        page = (await read(made_files.pdf(PdfPage(["Words and words."] * 20, picture=1.0)))).pages[0]

        assert (page.kind, page.image_cover) == (PageKind.TEXT, 0.0)

    async def test_glyphs_without_letters_need_ocr(self):
        nameless = PdfFont(letters={65: "\ue001"})
        file = made_files.pdf(PdfPage(content=b"BT /F2 12 Tf 72 700 Td (AAAA) Tj ET"), fonts={"F2": nameless})

        page = (await read(file)).pages[0]

        assert (page.bad_share, page.needs_ocr) == (1.0, True)


class TestLayout:
    # A page with enough words to be judged.
    LINES = tuple(f"Line {n} of the page has some words about the garden." for n in range(20))

    def test_a_rendering_with_the_same_words_is_taken(self):
        file = made_files.pdf(PdfPage(self.LINES))
        plain = Page.read(1, "\n".join(self.LINES))

        assert [page.number for page in better_pages(file, [plain])] == [1]

    def test_a_rendering_with_other_words_is_not(self):
        file = made_files.pdf(PdfPage([line[::-1] for line in self.LINES]))
        plain = Page.read(1, "\n".join(self.LINES))

        assert list(better_pages(file, [plain])) == []

    def test_of_a_short_page_the_rendering_is_taken_unjudged(self):
        assert len(list(better_pages(made_files.pdf("Other words."), [Page.read(1, "Few words.")]))) == 1

    def test_a_file_that_only_pdfium_can_read_keeps_its_words(self):
        assert list(better_pages(b"%PDF-1.4 nothing", [Page.read(1, "Words.")])) == []

    async def test_a_table_becomes_one(self):
        rows = [("Name", "Count"), *((f"Item {n}", str(n * 10)) for n in range(8))]

        page = (await read(made_files.pdf(made_files.table_page(rows)))).pages[0]

        assert page.markdown.startswith("|Name|Count|\n|---|---|\n|Item 0|0|\n")
        assert page.markdown.endswith("|Item 7|70|")
