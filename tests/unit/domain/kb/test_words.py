import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.kb.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Quick brown-fox", ["the", "quick", "brown", "fox"]),
        ("ERR_TIMEOUT-42: v1.2", ["err", "timeout", "42", "v1", "2"]),
        ("", []),
        ("— … !?", []),
        ("Größe naïve ÅNGSTRÖM", ["grosse", "naive", "angstrom"]),
        ("oﬃce Ｆｕｌｌ ①", ["office", "full", "1"]),
        ("policies boxes glass bus is", ["policy", "boxe", "glass", "bus", "is"]),
        ("Ёлка καφές", ["елка", "καφεσ"]),
        ("東京都", ["東京", "京都"]),
        ("猫", ["猫"]),
        ("ﾃﾞｰﾀ", ["デー", "ータ"]),
        ("S3のバケット", ["s3", "のバ", "バケ", "ケッ", "ット"]),
        ("문서를 읽다", ["문서", "서를", "읽다"]),
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("كِتَاب", ["كتاب"]),
        ("שָׁלוֹם", ["שלום"]),
    ],
)
def test_words_are_compared_without_case_accents_width_and_plurals(text, words):
    assert words_of(text) == words


def test_a_search_for_office_finds_the_ligature():
    assert set(words_of("office")) <= set(words_of("The back oﬃce."))


@settings(deadline=None)
@given(st.text())
def test_composed_and_decomposed_text_has_the_same_words(text):
    assert words_of(unicodedata.normalize("NFC", text)) == words_of(unicodedata.normalize("NFD", text))


@settings(deadline=None)
@given(st.text())
def test_words_hold_no_white_space_and_are_never_empty(text):
    words = words_of(text)
    assert all(words)
    assert not any(char.isspace() for word in words for char in word)
