"""What comes out of the files of office suites. Rows KB08, HID-33 speak of the pages."""

import zipfile
from io import BytesIO

from shared.domain.ids import DocumentId
from shared.domain.kb.parsed import DocumentKind, ParsedDocument
from shared.domain.kb.split import split
from tests.fakes import made_files
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import paragraph, word_table

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")


async def read(data: bytes, name: str = "file") -> ParsedDocument:
    return await InProcessParser().parse(data, name)


class TestWord:
    async def test_text_and_tables(self):
        document = await read(made_files.docx(paragraph("A ﬁrst line.") + word_table([["A", "B"], ["1", "2"]])))

        assert document.kind is DocumentKind.DOCX
        assert [page.markdown for page in document.pages] == ["A first line.\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"]

    async def test_a_table_of_sixty_rows_has_its_head_in_every_chunk(self):
        rows = [
            ["Number", "Article"],
            *([str(n), f"Article number {n} of the long list of the hall"] for n in range(60)),
        ]

        chunks = split((await read(made_files.docx(word_table(rows)))).pages, DOCUMENT, 1)

        assert len(chunks) > 2
        assert all("| Number | Article |\n| --- | --- |\n" in chunk.text for chunk in chunks)
        assert sum(chunk.text.count("| Article number ") for chunk in chunks) == 60

    async def test_words_that_the_reader_passes_over_are_not_lost_when_there_are_no_others(self):
        said, written = ("<w:r><w:t>toukyou</w:t></w:r>", "<w:r><w:t>東京</w:t></w:r>")
        both = f"<w:ruby><w:rt>{said}</w:rt><w:rubyBase>{written}</w:rubyBase></w:ruby>"

        document = await read(made_files.docx(f"<w:p><w:r>{both}</w:r></w:p>"))

        assert document.pages[0].markdown == "toukyou東京"

    async def test_open_document_text(self):
        document = await read(made_files.odt("Some text."))

        assert (document.kind, document.pages[0].markdown) == (DocumentKind.ODT, "Some text.")

    async def test_rich_text(self):
        document = await read(rb"{\rtf1\ansi Some \b bold\b0  text.\par Another line.}")

        assert (document.kind, document.pages[0].markdown) == (
            DocumentKind.RTF,
            "Some **bold** text.\n\nAnother line.",
        )


class TestSheets:
    async def test_each_sheet_is_a_page_under_its_name(self):
        document = await read(
            made_files.xlsx({"Prices": [["Article", "Price"], ["Tea", "3"]], "Q1 &amp; Q2": [["x"], ["y"]]})
        )

        assert document.kind is DocumentKind.XLSX
        assert [(page.number, page.label) for page in document.pages] == [(1, "Prices"), (2, "Q1 & Q2")]
        assert document.pages[0].markdown == "## Prices\n\n| Article | Price |\n| --- | --- |\n| Tea | 3 |"

    async def test_a_name_with_marks_of_markdown_is_given_as_it_is(self):
        document = await read(made_files.xlsx({"a_b_c": [["x"], ["y"]], "*d*": [["x"], ["y"]]}))

        assert [page.label for page in document.pages] == ["a_b_c", "*d*"]

    async def test_a_chunk_says_its_sheet(self):
        document = await read(made_files.xlsx({"One": [["a"], ["b"]], "Two": [["c"], ["d"]]}))

        assert [(c.page_from, c.heading_path) for c in split(document.pages, DOCUMENT, 1)] == [
            (1, ("One",)),
            (2, ("Two",)),
        ]

    async def test_one_sheet_is_one_page(self):
        document = await read(made_files.xlsx({"Sheet1": [["a", "b"], ["1", "2"]]}))

        assert [(page.number, page.label) for page in document.pages] == [(1, "")]

    async def test_rows_without_a_cell_are_dropped(self):
        document = await read(made_files.xlsx({"Sheet1": [["a", "b"], [], ["1", "2"], [], [], ["3", "4"]]}))

        assert document.pages[0].markdown.split("\n")[-2:] == ["| 1 | 2 |", "| 3 | 4 |"]


class TestSlides:
    async def test_each_slide_is_a_page_in_the_order_of_the_presentation(self):
        document = await read(made_files.pptx("The plan.", "The costs.", "The end."))

        assert document.kind is DocumentKind.PPTX
        assert [(page.number, page.label, page.markdown) for page in document.pages] == [
            (1, "Slide 1", "The plan."),
            (2, "Slide 2", "The costs."),
            (3, "Slide 3", "The end."),
        ]

    async def test_a_slide_without_words_keeps_its_number(self):
        pages = (await read(made_files.pptx("One.", "", "Three."))).pages

        assert [(page.number, page.characters) for page in pages] == [(1, 4), (2, 0), (3, 6)]

    async def test_slides_that_cannot_be_told_apart_are_one_page(self):
        parts = _parts(made_files.pptx("One.", "Two."))
        odd = {name.replace("presentation.xml", "deck.xml"): part for name, part in parts.items()}
        odd |= {
            name: odd[name].replace(b"ppt/presentation.xml", b"ppt/deck.xml")
            for name in ("[Content_Types].xml", "_rels/.rels")
        }

        assert [page.label for page in (await read(made_files.archive(odd))).pages] == [""]

    async def test_a_damaged_slide_does_not_take_the_others_with_it(self):
        whole = made_files.pptx("One.", "Two.")
        damaged = made_files.archive(_parts(whole) | {"ppt/slides/slide1.xml": "<p:sld"})

        pages = (await read(damaged)).pages

        assert "One." in " ".join(page.markdown for page in pages)


def _parts(package: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(package)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
