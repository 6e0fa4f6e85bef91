import pytest

from shared.domain.kb.failures import EmptyDocumentError, NeedsOcrError
from shared.domain.kb.pages import DocumentText, Page, PageKind, page_kind, pages_for_ocr, require_text
from shared.domain.kb.states import DocumentState

GARBAGE = "\ue001\ue002\ue003 words"


class TestWhichPagesNeedOcr:
    @pytest.mark.parametrize(
        ("characters", "bad_share", "image_cover", "kind"),
        [
            (3000, 0.0, 0.0, PageKind.TEXT),
            (3000, 0.15, 0.0, PageKind.TEXT),
            (3000, 0.151, 0.0, PageKind.SCAN),
            (19, 0.0, 0.51, PageKind.SCAN),
            (20, 0.0, 0.51, PageKind.TEXT),
            (19, 0.0, 0.5, PageKind.TEXT),
            (99, 0.0, 0.81, PageKind.SCAN),
            (100, 0.0, 1.0, PageKind.TEXT),
            (99, 0.0, 0.8, PageKind.TEXT),
            (0, 0.0, 0.11, PageKind.SCAN),
            (0, 0.0, 0.5, PageKind.SCAN),
            (0, 0.0, 0.1, PageKind.BLANK),
            (0, 0.0, 0.0, PageKind.BLANK),
            (1, 0.0, 0.0, PageKind.TEXT),
        ],
    )
    def test_rule(self, characters: int, bad_share: float, image_cover: float, kind: PageKind):
        assert page_kind(characters=characters, bad_share=bad_share, image_cover=image_cover) is kind

    def test_the_layer_is_judged_as_it_came(self):
        assert Page.read(1, GARBAGE).needs_ocr

    def test_their_numbers(self):
        pages = [Page.read(1, "Text."), Page.read(2, "", image_cover=1.0), Page.read(3, "")]

        assert pages_for_ocr(pages) == (2,)


class TestAfterOcr:
    def test_what_ocr_read_takes_the_place_of_less(self):
        page = Page.read(1, "p. 7", image_cover=1.0).with_ocr("The text of the page.\r\nAnd more.")

        assert page.markdown == "The text of the page.\nAnd more."
        assert page.kind is PageKind.TEXT

    def test_the_layer_stays_when_ocr_reads_less(self):
        page = Page.read(1, "Stamp of 1912", image_cover=1.0)

        assert page.needs_ocr
        after = page.with_ocr("Stamp")
        assert (after.markdown, after.needs_ocr) == ("Stamp of 1912", False)

    def test_glyphs_that_are_no_letters_do_not_count_for_the_layer(self):
        assert Page.read(1, GARBAGE).with_ocr("words too").markdown == "words too"

    def test_a_picture_without_words_is_blank(self):
        assert Page.read(1, "", image_cover=1.0).with_ocr("").kind is PageKind.BLANK

    def test_a_page_is_read_once(self):
        # KB10
        assert pages_for_ocr([Page.read(1, "", image_cover=1.0).with_ocr("")]) == ()


class TestWhetherThereIsText:
    def test_scans_that_nobody_read(self):
        with pytest.raises(NeedsOcrError, match="pictures of text") as caught:
            require_text([Page.read(1, "", image_cover=1.0), Page.read(2, "", image_cover=1.0), Page.read(3, "")])

        assert caught.value.state is DocumentState.NEEDS_OCR
        assert caught.value.code == "NEEDS_OCR"

    def test_blank_pages(self):
        # KB12, KB15
        with pytest.raises(EmptyDocumentError) as caught:
            require_text([Page.read(1, " \n"), Page.read(2, "", image_cover=1.0).with_ocr("")])

        assert caught.value.state is DocumentState.EMPTY

    def test_one_page_with_text_is_enough(self):
        require_text([Page.read(1, "Text."), Page.read(2, "", image_cover=1.0)])


class TestDocumentText:
    def test_pages_are_joined_and_found_again(self):
        document = DocumentText((Page.read(1, "One."), Page.read(2, ""), Page.read(3, "Three.")))

        assert document.text == "One.\n\n\n\nThree."
        assert document.starts == (0, 6, 8)
        assert [document.page_at(offset) for offset in (0, 3, 5, 6, 8, 13)] == [1, 1, 1, 2, 3, 3]

    def test_a_layer_that_cannot_be_trusted_is_left_out(self):
        assert DocumentText((Page.read(1, GARBAGE), Page.read(2, "Two."))).text == "\n\nTwo."

    def test_a_short_layer_on_a_scan_is_kept(self):
        assert DocumentText((Page.read(1, "Page 7", image_cover=1.0),)).text == "Page 7"
