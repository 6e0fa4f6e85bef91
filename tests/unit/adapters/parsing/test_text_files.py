"""What comes out of files that are text, however they are encoded."""

import pytest

from shared.adapters.parsing.charsets import text_of
from shared.domain.kb.failures import DocumentError
from shared.domain.kb.parsed import DocumentKind, ParsedDocument
from tests.fakes.document_parser import InProcessParser
from tests.fakes.made_files import png

TABLE = "店名,住所,売上\n東京本店,東京都千代田区,1200\n大阪支店,大阪市北区,800\n"
JAPANESE = "日本語のテキストです。文書を読みます。"
RUSSIAN = "Это русский текст, написанный для проверки."
KOREAN = "이것은 한국어 문서입니다. 읽을 수 있습니다."
CHINESE = "这是一份中文文档，用于测试编码的识别。"
WESTERN = "Déjà vu à la crème \u2013 \u201cMüller\u201d zahlt 5 \u20ac für Äpfel."


async def read(data: bytes, name: str) -> ParsedDocument:
    return await InProcessParser().parse(data, name)


class TestEncodings:
    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            (JAPANESE, "cp932"),
            (TABLE, "cp932"),
            (JAPANESE, "utf-8"),
            (JAPANESE, "utf-8-sig"),
            (JAPANESE, "utf-16"),
            (JAPANESE, "utf-32"),
            (WESTERN, "utf-16-le"),
            (WESTERN, "utf-16-be"),
            (WESTERN, "cp1252"),
            (RUSSIAN, "cp1251"),
            (KOREAN, "cp949"),
            (CHINESE, "gb18030"),
            ("Plain.", "ascii"),
        ],
    )
    def test_is_found_out(self, text: str, encoding: str):
        assert text_of(text.encode(encoding)) == text

    def test_a_quotation_mark_of_windows_makes_no_japanese(self):
        text = "It\u2019s the shop\u2019s oldest \u2018Apple\u2019 pie. We\u2019ll see."

        assert text_of(text.encode("cp1252")) == text

    @pytest.mark.parametrize("declared", ["shift_jis", "Shift-JIS"])
    def test_a_page_may_say_it(self, declared: str):
        page = f'<html><head><meta charset="{declared}"></head><body>表</body></html>'

        assert text_of(page.encode("cp932")) == page

    @pytest.mark.parametrize("declared", ["rot13", "zlib", "idna", "no-such-thing", "unicode_escape"])
    def test_a_page_may_not_say_anything(self, declared: str):
        page = f'<meta charset="{declared}">'.encode() + "café".encode("cp1252")

        assert (text_of(page) or "").endswith("café")

    def test_a_stray_byte_makes_no_other_encoding(self):
        assert (text_of(JAPANESE.encode() * 30 + b"\xff") or "").startswith(JAPANESE)

    def test_a_character_cut_off_at_the_end_neither(self):
        assert (text_of((JAPANESE * 30).encode()[:-1]) or "").startswith(JAPANESE)

    def test_bytes_that_are_no_text(self):
        assert text_of(bytes(range(256)) * 4) is None
        assert text_of(b"text\x00\x01\x02text") is None


class TestCsv:
    @pytest.mark.parametrize("encoding", ["cp932", "utf-16", "utf-8"])
    async def test_in_any_encoding(self, encoding: str):
        document = await read(TABLE.encode(encoding), "shops.csv")

        assert document.kind is DocumentKind.CSV
        assert "| 東京本店 | 東京都千代田区 | 1200 |" in document.pages[0].markdown

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    async def test_with_any_separator(self, separator: str):
        table = "name,count\ntea,1\nmilk,2\n".replace(",", separator)

        page = (await read(table.encode(), "a.csv")).pages[0]

        assert page.markdown == "| name | count |\n| --- | --- |\n| tea | 1 |\n| milk | 2 |"

    async def test_a_bar_in_a_cell_makes_no_column(self):
        page = (await read(b'name,count\n"a|b",1\n', "a.csv")).pages[0]

        assert page.markdown.endswith("| a\\|b | 1 |")


class TestText:
    async def test_is_given_as_it_is(self):
        document = await read(b"# Title\r\n\r\nA line.\r\n", "notes.md")

        assert (document.kind, document.pages[0].markdown) == (DocumentKind.MARKDOWN, "# Title\n\nA line.")

    async def test_without_an_ending(self):
        assert (await read(b"A line.", "README")).kind is DocumentKind.TEXT


class TestWebPages:
    PAGE = """<!doctype html><html><head><title>Opening &amp; closing</title><style>p{}</style></head><body>
        <nav><a href="/">Home</a></nav><script>var hidden = 1;</script>
        <h2>Hours</h2><p>Open <b>daily</b>, see <a href="/map">the map</a> or
        <a href="https://example.org/">the site</a>. <img alt="A door" src="data:image/png;base64,AAAA"></p>
        <table><tr><th>Day</th><th>Hours</th></tr><tr><td>Monday</td><td>9 to 5</td></tr></table>
        <footer>Imprint</footer></body></html>"""

    async def test_what_a_reader_sees(self):
        document = await read(self.PAGE.encode(), "hours.html")

        markdown = document.pages[0].markdown
        assert document.kind is DocumentKind.HTML
        assert markdown.startswith("# Opening & closing\n\n## Hours\n\nOpen **daily**, see the map or [the site](https")
        assert "A door" in markdown
        assert "| Monday | 9 to 5 |" in markdown
        for hidden in ("Home", "hidden", "Imprint", "base64", "p{}"):
            assert hidden not in markdown

    async def test_a_page_with_a_heading_of_its_own_needs_no_title(self):
        page = (
            await read(b"<html><title>Site</title><body><h1>Hours</h1><p>Daily.</p></body></html>", "a.html")
        ).pages[0]

        assert page.markdown == "# Hours\n\nDaily."

    async def test_nesting_without_end_ends(self):
        with pytest.raises(DocumentError, match=r"no text|nested|damaged"):
            await read(b"<html><body>" + b"<div>" * 100_000 + b"x", "deep.html")


async def test_a_picture_is_a_page_for_ocr():
    document = await read(png(), "photo.txt")

    assert document.kind is DocumentKind.PNG
    assert [page.needs_ocr for page in document.pages] == [True]
