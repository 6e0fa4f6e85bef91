import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.ids import DocumentId
from shared.domain.kb.chunks import Chunk
from shared.domain.kb.pages import DocumentText, Page
from shared.domain.kb.split import MAX_CHARS, split

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")


def pages_of(*markdown: str, labels: tuple[str, ...] = ()) -> list[Page]:
    names = labels or ("",) * len(markdown)
    return [Page.read(n, text, label=name) for n, (text, name) in enumerate(zip(markdown, names, strict=True), start=1)]


def chunks_of(*markdown: str, max_chars: int = MAX_CHARS, labels: tuple[str, ...] = ()) -> list[Chunk]:
    return split(pages_of(*markdown, labels=labels), DOCUMENT, 3, max_chars=max_chars)


def table(rows: int, head: str = "| No | Article | Place |") -> str:
    body = [f"| {n} | Article number {n} | shelf {n % 7} of the hall at the river |" for n in range(rows)]
    return "\n".join([head, "| --- | --- | --- |", *body])


SENTENCE = "The quick brown fox jumps over the lazy dog near the old mill. "


class TestIds:
    def test_an_id_is_document_version_and_number(self):
        ids = [chunk.id for chunk in chunks_of(SENTENCE * 60)]

        assert ids == [f"{DOCUMENT}:3:{n}" for n in range(len(ids))]
        assert len(ids) > 1

    def test_the_same_pages_give_the_same_chunks(self):
        assert chunks_of("# A\n\n" + SENTENCE * 60, table(40)) == chunks_of("# A\n\n" + SENTENCE * 60, table(40))

    def test_the_id_says_its_place(self):
        assert chunks_of(SENTENCE)[0].place.version == 3


class TestTables:
    def test_every_part_of_a_long_table_has_its_head_and_the_headings_above_it(self):
        chunks = chunks_of("# Report\n\n## Stock\n\n" + table(60))

        assert len(chunks) >= 3
        for chunk in chunks:
            assert "| No | Article | Place |\n| --- | --- | --- |\n" in chunk.text
            assert chunk.heading_path == ("Report", "Stock")
        assert all(chunk.text.startswith("Report > Stock\n\n| No |") for chunk in chunks[1:])

    def test_no_row_is_cut_or_lost(self):
        chunks = chunks_of(table(60))

        rows = [line for chunk in chunks for line in chunk.text.split("\n") if "Article number" in line]
        assert rows == table(60).split("\n")[2:]

    def test_a_table_that_fits_stays_whole(self):
        small = table(12)
        # Too little room is left after the text: the table begins the next chunk rather than being cut.
        chunks = chunks_of(SENTENCE * 15 + "\n\n" + small + "\n\n" + SENTENCE * 15)

        assert [small in chunk.text for chunk in chunks].count(True) == 1
        assert not any("| 5 |" in chunk.text for chunk in chunks if small not in chunk.text)

    def test_where_the_source_had_no_head_the_first_full_row_is_it(self):
        rows = "\n".join(f"| team {n} | city {n} | {n} cups won in all the years so far |" for n in range(60))
        headless = "|  |  |  |\n| --- | --- | --- |\n| Cups |  |  |\n| Team | City | Cups |\n" + rows

        chunks = chunks_of(headless)

        assert len(chunks) > 1
        assert all("| Team | City | Cups |" in chunk.text for chunk in chunks)

    def test_a_head_wider_than_a_chunk_is_cut_at_a_column(self):
        wide = "|" + "|".join(f" column number {n} " for n in range(200)) + "|"
        rule = "|" + " --- |" * 200
        row = "|" + "|".join(f" {n} " for n in range(200)) + "|"

        chunks = chunks_of("\n".join([wide, rule, *[row] * 5]))

        assert all(len(chunk.text) <= MAX_CHARS for chunk in chunks)
        assert all(chunk.text.startswith("| column number 0 |") for chunk in chunks if "| 3 | 4 |" in chunk.text)

    def test_lines_with_bars_are_no_table_without_a_rule(self):
        assert len(chunks_of("| a | b |\n| c | d |\n\n" + SENTENCE)) == 1


class TestHeadings:
    def test_a_section_of_some_length_begins_its_own_chunk(self):
        chunks = chunks_of("# A\n\n" + SENTENCE * 10 + "\n\n## B\n\n" + SENTENCE * 10)

        assert [chunk.heading_path for chunk in chunks] == [("A",), ("A", "B")]
        assert chunks[1].text.startswith("A\n\n## B\n\n")

    def test_scraps_of_sections_are_packed_together(self):
        chunks = chunks_of("\n\n".join(f"## Part {n}\n\nShort." for n in range(5)))

        assert len(chunks) == 1

    def test_a_heading_goes_with_what_follows_it(self):
        chunks = chunks_of(SENTENCE * 6 + "\n\n# Title\n\n" + SENTENCE.strip() * 1 + SENTENCE * 30)

        assert not any(chunk.text.rstrip().endswith("# Title") for chunk in chunks)

    def test_a_heading_ends_the_deeper_ones(self):
        parts = [("#", "a"), ("##", "b"), ("###", "c"), ("##", "d"), ("#", "e")]
        chunks = chunks_of("\n\n".join(f"{mark} {title}\n\n{SENTENCE * 9}" for mark, title in parts))

        paths = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "d"), ("e",)]
        assert [chunk.heading_path for chunk in chunks] == paths

    def test_a_title_is_said_without_its_markup(self):
        assert chunks_of("# **The [plan](https://example.org/x)** of `it`\n\nText.")[0].heading_path == (
            "The plan of it",
        )

    def test_a_hash_in_code_is_no_heading(self):
        assert chunks_of("```sh\n# comment\nls\n```\n\nText.")[0].heading_path == ()


class TestPages:
    def test_a_chunk_knows_its_pages(self):
        chunks = chunks_of(SENTENCE * 15, SENTENCE * 15, SENTENCE * 15)

        assert [(chunk.page_from, chunk.page_to) for chunk in chunks] == [(1, 2), (2, 3), (3, 3)]

    def test_a_slide_or_sheet_is_a_chunk_of_its_own_under_its_name(self):
        chunks = chunks_of("Short.", "## Costs\n\nShort too.", labels=("Slide 1", "Slide 2"))

        assert [(chunk.page_from, chunk.heading_path) for chunk in chunks] == [
            (1, ("Slide 1",)),
            (2, ("Slide 2", "Costs")),
        ]
        assert chunks[1].text == "Slide 2\n\n## Costs\n\nShort too."

    def test_a_blank_page_makes_no_chunk_and_counts(self):
        chunks = chunks_of("", "Text.")

        assert [(chunk.page_from, chunk.text) for chunk in chunks] == [(2, "Text.")]

    def test_a_code_fence_left_open_ends_with_its_page(self):
        chunks = chunks_of("```\ncode\n", "# Title\n\n" + SENTENCE * 40)

        assert chunks[-1].heading_path == ("Title",)


class TestWhatIsLeftOut:
    def test_a_chunk_of_rules_alone_is_dropped(self):
        # KB13
        assert chunks_of("---", "* * *", "| --- |") == []

    def test_no_pages_no_chunks(self):
        assert chunks_of() == []
        assert chunks_of("") == []


def test_lists_are_cut_between_items():
    items = [f"- item {n} with no full stop but some words that make it longer" for n in range(60)]

    chunks = chunks_of("\n".join(items))

    assert [line for chunk in chunks for line in chunk.text.split("\n")] == items


def test_a_text_without_spaces_is_cut_all_the_same():
    chunks = chunks_of("\u8a9e" * 5000)

    assert "".join(chunk.text for chunk in chunks) == "\u8a9e" * 5000


def test_chinese_sentences_are_cut_at_their_full_stops():
    chunks = chunks_of("\u4eca\u65e5\u306f\u826f\u3044\u5929\u6c17\u3067\u3059\u3002" * 400)

    assert all(chunk.text.endswith("\u3002") for chunk in chunks)


def test_a_limit_with_no_room_is_refused():
    with pytest.raises(ValueError, match="too short"):
        chunks_of("Text.", max_chars=99)


LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "---",
            "```",
            "# One",
            "## Two " + "long title " * 12,
            "### [x](https://example.org/" + "y" * 150 + ")",
            "| a | b |",
            "| --- | --- |",
            "| " + "cell " * 60 + "| 2 |",
            "|  |  |",
            "- item",
            "1. item",
            SENTENCE * 4,
        ]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=80),
)
MARKDOWN = st.lists(LINES, max_size=40).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(MARKDOWN, max_size=3), st.sampled_from([100, 300, MAX_CHARS]), st.booleans())
def test_for_any_document(markdown: list[str], max_chars: int, labelled: bool):
    labels = tuple(f"Slide {n}" for n in range(len(markdown))) if labelled else ()
    pages = pages_of(*markdown, labels=labels)
    document = DocumentText(tuple(pages))

    chunks = split(pages, DOCUMENT, 1, max_chars=max_chars)

    at = 0
    for chunk in chunks:
        assert len(chunk.text) <= max_chars
        assert at <= chunk.start < chunk.end <= len(document.text)
        assert chunk.text.endswith(document.text[chunk.start : chunk.end])
        between = document.text[at : chunk.start]
        # What is between two chunks is white space, rules, or headings that the next one names.
        assert not any(map(str.isalnum, between)) or between.lstrip().startswith("#")
        assert 1 <= chunk.page_from <= chunk.page_to <= len(pages)
        at = chunk.end
    rest = document.text[at:]
    assert not any(map(str.isalnum, rest)) or rest.lstrip().startswith("#")
