"""KB25."""

import pytest

from shared.domain.kb.mentions import Mentions, mentions_in, readable

ONE = "d-00000000-0000-4000-8000-000000000001"
FOLDER = "f-00000000-0000-4000-8000-00000000000a"
TWO = "d-00000000-0000-4000-8000-000000000002"


def test_documents_and_folders_are_found_once_each_in_order():
    text = (
        f"Compare :kb-document[Plan B]{{documentId={TWO}}} with :kb-document[a]{{documentId={ONE}}}, "
        f":kb-folder[Tax 2025]{{folderId={FOLDER.upper()}}} and again :kb-document[Plan B]{{documentId={TWO}}}"
    )
    assert mentions_in(text) == Mentions(documents=(TWO, ONE), folders=(FOLDER,))


@pytest.mark.parametrize("quoted", [f"'{ONE}'", f'"{ONE}"', f" {ONE} ", ONE.upper().replace("D-", "d-")])
def test_quotes_spaces_and_capital_digits_make_no_difference(quoted):
    assert mentions_in(f":kb-document[x]{{documentId={quoted}}}").documents == (ONE,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no mention",
        f":kb-document[x]{{folderId={ONE}}}",
        ":kb-document[x]{documentId=all}",
        ":kb-document[x]{documentId=}",
        f":kb-document{{documentId={ONE}}}",
        f":kb-document[x\ny]{{documentId={ONE}}}",
        f":kb-document[x]{{documentId={ONE}'}}",
        f":kb-document[x] {{documentId={ONE}}}",
        ":kb-folder[x]{folderId=a/../b}",
        ":kb-folder[x]{folderId=f-7}",
    ],
)
def test_what_is_not_well_formed_is_text(text):
    assert not mentions_in(text)
    assert readable(text) == text


def test_the_readable_text_has_labels_and_no_ids():
    text = rf"See :kb-document[a \[draft\]]{{documentId={ONE}}} in :kb-folder[b]{{folderId={FOLDER}}}."
    assert readable(text) == "See “a [draft]” in “b”."


def test_a_hostile_text_is_searched_in_good_time():
    assert not mentions_in(":kb-document[" * 20_000 + "\\" * 20_000)
