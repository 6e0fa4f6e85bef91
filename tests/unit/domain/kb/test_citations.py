import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from shared.domain.kb.citations import PassageNumbers, last_number, numbers_in, passages_found, with_citations

PASSAGES = {number: {"number": number, "documentId": "d", "name": f"{number}.pdf"} for number in (1, 2, 3, 7)}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The river rises in spring [1].", [1]),
        ("It rises[2] and falls [1][3].", [2, 1, 3]),
        ("Both say so [1, 3] and [2;7].", [1, 3, 2, 7]),
        ("All do [1-3].", [1, 2, 3]),
        ("As some models write it【7】, also with a place【2†source】.", [7, 2]),
        ("Not a link [1](https://example.org), not [a], not [], not [ ].", []),
        ("```python\nrow[1] = rows[2]\n``` and `cell[3]` are code.", []),
        ("A fence that is still open ```x[1]", []),
        ("[3-1] is no range and [1-999999] is none that anybody means.", []),
    ],
)
def test_numbers_are_read_as_a_person_reads_them(text, numbers):
    assert list(numbers_in(text)) == numbers


def test_an_answer_carries_what_it_cites_once_in_its_order():
    answer = AIMessage("Spring [7], again [1], again [7], and [99] is invented.", id="a1", additional_kwargs={"k": 1})
    cited = with_citations(answer, PASSAGES)
    assert [citation["number"] for citation in cited.additional_kwargs["citations"]] == [7, 1]
    assert (cited.id, cited.text, cited.additional_kwargs["k"]) == ("a1", answer.text, 1)
    assert "citations" not in answer.additional_kwargs


@pytest.mark.parametrize("text", ["Nothing to cite.", "[99]"])
def test_an_answer_that_cites_nothing_stays_as_it_is(text):
    answer = AIMessage(text)
    assert with_citations(answer, PASSAGES) is answer


def test_passages_are_those_of_tool_messages():
    thread = [
        HumanMessage("What?"),
        ToolMessage("…", tool_call_id="1", artifact={"passages": [PASSAGES[1], PASSAGES[2]]}),
        ToolMessage("…", tool_call_id="2", artifact={"passages": [PASSAGES[7]]}),
        ToolMessage("…", tool_call_id="3", artifact={"other": 1}),
        ToolMessage("…", tool_call_id="4"),
    ]
    assert list(passages_found(thread)) == [1, 2, 7]


@pytest.mark.parametrize(
    ("thread", "last"),
    [
        ([], 0),
        ([ToolMessage("…", tool_call_id="1", artifact={"passages": [PASSAGES[2], PASSAGES[7]]})], 7),
        ([AIMessage("Spring.", additional_kwargs={"citations": [PASSAGES[3], PASSAGES[1]]})], 3),
        ([AIMessage("Spring [2], and summer [7].")], 7),
        ([HumanMessage("What is [9]?"), AIMessage("Spring [1].")], 1),
        ([AIMessage("No passage: [123456].")], 0),
        ([AIMessage("As a client made it.", additional_kwargs={"citations": ["x", {"number": "9"}, {}]})], 0),
        ([AIMessage("As a client made it.", additional_kwargs={"citations": 1})], 0),
    ],
)
def test_the_last_number_is_the_highest_that_was_found_or_that_an_answer_cites(thread, last):
    assert last_number(thread) == last


def test_what_stands_for_turns_that_are_gone_cites_as_they_did():
    assert last_number([AIMessage("Spring [1].")], "They spoke of herons [4].") == 4


def test_no_number_is_given_twice():
    numbers = PassageNumbers()
    assert [numbers.take(3, after=4), numbers.take(2, after=4), numbers.take(0), numbers.take(1, after=20)] == [
        5,
        8,
        10,
        21,
    ]
