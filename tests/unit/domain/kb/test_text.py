import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.kb.text import agreement, legibility, normalised


class TestNormalised:
    def test_ligatures_are_spelt_out(self):
        assert normalised("the o\ufb03ce, \ufb01rst") == "the office, first"

    def test_full_width_letters_become_plain(self):
        assert normalised("\uff21\uff22\uff23\uff11\uff12") == "ABC12"

    def test_soft_hyphens_go_and_the_words_they_broke_are_joined(self):
        assert normalised("infor\u00admation, infor\u00ad\r\n  mation, guar\u0002antee, guar\ufffe\nantee") == (
            "information, information, guarantee, guarantee"
        )

    def test_a_hyphen_that_is_meant_stays(self):
        assert normalised("well-known\nfacts") == "well-known\nfacts"

    def test_lines_end_in_one_way_and_gaps_close(self):
        assert normalised("a  \r\nb\rc\u2028d\n\n\n\n\ne\n") == "a\nb\nc\nd\n\ne"

    def test_controls_and_marks_nobody_sees_go(self):
        assert normalised("\ufeffa\x00b\u200bc\x07\x9fd") == "abcd"

    def test_joiners_that_scripts_need_stay(self):
        assert (
            normalised("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
            == "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
        )

    def test_a_wide_bar_makes_no_new_column(self):
        assert normalised("| a\uff5cb\uff5cc | d |\n| --- | --- |") == "| a\\|b\\|c | d |\n| --- | --- |"
        assert normalised("a\uff5cb") == "a|b"

    @given(st.text())
    def test_what_is_normal_stays_as_it_is(self, text: str):
        once = normalised(text)

        assert normalised(once) == once
        assert unicodedata.is_normalized("NFKC", once)


class TestLegibility:
    def test_white_space_does_not_count(self):
        assert legibility(" a b\n\tc ").characters == 3

    def test_glyphs_without_a_letter_are_bad(self):
        found = legibility("ab\ufffd\ue001 \x03")

        assert (found.characters, found.bad_share) == (5, 3 / 5)

    def test_the_mark_of_a_broken_word_is_not(self):
        assert legibility("guar\u0002antee").bad_share == 0

    def test_nothing(self):
        assert legibility("").bad_share == 0


class TestAgreement:
    def test_order_and_markup_make_no_difference(self):
        assert agreement("# The **Plan** of May", "may of plan the") == 1

    def test_other_words(self):
        assert agreement("one two", "three four") == 0
        assert agreement("one two three four", "one two") == 2 * 2 / 6

    def test_nothing_agrees_with_nothing(self):
        assert agreement("", "") == 1
        assert agreement("", "word") == 0
