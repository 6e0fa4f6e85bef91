from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.ids import DocumentId
from shared.domain.kb.chunks import Chunk, chunk_id
from shared.domain.kb.hits import LiveDocument
from shared.domain.kb.passages import CUT_MARK, passages_within
from shared.domain.summary import estimate_tokens

DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")
DOCUMENTS = {DOCUMENT: LiveDocument("Handbook.pdf", 2)}


def chunk(number, text):
    return Chunk(
        id=chunk_id(DOCUMENT, 2, number),
        text=text,
        heading_path=("Part", "Section"),
        page_from=3,
        page_to=4,
        start=100 * number,
        end=100 * number + len(text),
    )


def test_a_passage_says_where_it_is():
    """KB23: numbered, with document, page and offsets."""
    (passage,) = passages_within(100, [chunk(7, "Some text.")], DOCUMENTS, first=5).passages
    assert (passage.number, passage.document, passage.document_id) == (5, "Handbook.pdf", DOCUMENT)
    assert (passage.page_from, passage.page_to, passage.start, passage.end) == (3, 4, 700, 710)
    assert (passage.chunk_id, passage.heading_path) == (f"{DOCUMENT}:2:7", ("Part", "Section"))
    assert (passage.text, passage.cut) == ("Some text.", False)


def test_what_the_budget_has_no_room_for_is_cut_and_counted():
    long = "word " * 80
    found = passages_within(150, [chunk(n, long) for n in range(4)], DOCUMENTS)
    assert [(passage.number, passage.cut) for passage in found.passages] == [(1, False), (2, True)]
    assert found.left_out == 2
    assert not found.complete
    assert found.passages[1].text.endswith("word" + CUT_MARK)


def test_a_remainder_too_short_to_tell_anything_is_left_out():
    found = passages_within(110, [chunk(0, "word " * 80), chunk(1, "word " * 80)], DOCUMENTS)
    assert len(found.passages) == 1
    assert found.left_out == 1


def test_a_short_passage_does_not_jump_the_queue():
    found = passages_within(30, [chunk(0, "word " * 80), chunk(1, "short")], DOCUMENTS)
    assert found.passages == ()
    assert found.left_out == 2


def test_everything_that_fits_is_complete():
    assert passages_within(100, [chunk(0, "a"), chunk(1, "b")], DOCUMENTS).complete
    assert passages_within(0, [], DOCUMENTS).complete


@settings(deadline=None)
@given(st.integers(0, 400), st.lists(st.text(min_size=1, max_size=600), max_size=6))
def test_texts_never_take_more_than_the_budget(budget, texts):
    found = passages_within(budget, [chunk(n, text) for n, text in enumerate(texts)], DOCUMENTS)
    assert sum(estimate_tokens(passage.text) for passage in found.passages) <= budget
    assert len(found.passages) + found.left_out == len(texts)
    for passage, text in zip(found.passages, texts, strict=False):
        kept = passage.text.removesuffix(CUT_MARK) if passage.cut else passage.text
        assert text.startswith(kept)
        assert passage.cut == (passage.text != text)
