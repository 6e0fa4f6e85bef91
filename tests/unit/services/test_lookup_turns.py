import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from shared.domain.ids import ThreadId
from shared.services.lookup_turns import LookupTurns
from tests.fakes.summary_entries import summary_entry

THREAD = ThreadId("8d8ac610-566d-4ef0-9c22-186b2a5ed793")


def turn(number: int) -> list[AnyMessage]:
    return [HumanMessage(f"question {number}", id=f"h{number}"), AIMessage(f"answer {number}", id=f"a{number}")]


def thread_of(count: int) -> list[AnyMessage]:
    return [message for number in range(1, count + 1) for message in turn(number)]


WITH_TOOLS: list[AnyMessage] = [
    SystemMessage("never shown"),
    HumanMessage("What is the weather?", id="h1"),
    AIMessage("", id="a1", tool_calls=[{"name": "get_weather", "args": {"place": "Berlin"}, "id": "c1"}]),
    ToolMessage("12 degrees", id="t1", tool_call_id="c1"),
    AIMessage(
        "Let me look further.", id="a2", tool_calls=[{"name": "get_weather", "args": {"place": "Bonn"}, "id": "c2"}]
    ),
    ToolMessage("13 degrees", id="t2", tool_call_id="c2"),
    AIMessage("It is mild.", id="a3"),
]


def refs_of(answer: dict[str, Any]) -> list[str]:
    return [turn["ref"] for turn in answer["turns"]]


def test_gives_turns_in_order_with_roles() -> None:
    """LK06, LK09."""
    answer = LookupTurns().find(thread_of(4), [], ["#3", "#1"])

    assert answer == {
        "ok": True,
        "queryRefs": ["#3", "#1"],
        "matchCount": 2,
        "turns": [
            {
                "ref": f"#{number}",
                "messages": [
                    {"role": "user", "content": f"question {number}"},
                    {"role": "assistant", "content": f"answer {number}"},
                ],
            }
            for number in (1, 3)
        ],
    }


@pytest.mark.parametrize(
    ("refs", "found"),
    [
        ("#3", ["#3"]),
        ("3", ["#3"]),
        ("#3-#5", ["#3", "#4", "#5"]),
        ("3-5", ["#3", "#4", "#5"]),
        ("#5-#3", ["#3", "#4", "#5"]),
        ("#1, #4", ["#1", "#4"]),
        (["#2", "4-5"], ["#2", "#4", "#5"]),
    ],
)
def test_reads_every_form_of_ref(refs: str | list[str], found: list[str]) -> None:
    """LK02, LK13: also turns that no summary speaks of."""
    assert refs_of(LookupTurns().find(thread_of(5), [], refs)) == found


@pytest.mark.parametrize("refs", ["abc", "", "#0", [], ["first", "second"]])
def test_says_how_refs_are_written_when_there_is_none(refs: str | list[str]) -> None:
    """LK05."""
    answer = LookupTurns().find(thread_of(2), [], refs)

    assert answer["ok"] is False
    assert answer["code"] == "BAD_REFS"
    assert "#3-#5" in answer["message"]


def test_turns_that_are_not_there_are_left_out() -> None:
    """LK10."""
    assert refs_of(LookupTurns().find(thread_of(3), [], ["#2", "#99"])) == ["#2"]


def test_no_turn_at_all_is_a_failure_that_names_them() -> None:
    """LK10."""
    answer = LookupTurns().find(thread_of(3), [], "#98-#99")

    assert answer["ok"] is False
    assert answer["code"] == "NOT_FOUND"
    assert "#98" in answer["message"]


def test_without_tools_only_what_was_said_is_shown() -> None:
    """LK03, LK11, HID-25."""
    answer = LookupTurns().find(WITH_TOOLS, [], "#1")

    assert answer["turns"][0]["messages"] == [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": "Let me look further."},
        {"role": "assistant", "content": "It is mild."},
    ]


def test_with_tools_calls_and_results_are_shown() -> None:
    """LK12."""
    answer = LookupTurns().find(WITH_TOOLS, [], "#1", include_tool_messages=True)

    assert [line["role"] for line in answer["turns"][0]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert answer["turns"][0]["messages"][1]["toolCalls"] == [{"name": "get_weather", "args": {"place": "Berlin"}}]
    assert "never shown" not in json.dumps(answer)


def test_a_ref_means_the_turn_it_was_given_to_wherever_it_is_now() -> None:
    """RF07: the summary knows the third turn by its id; the first turn has been deleted since."""
    entries = [summary_entry(THREAD, ["h2", "h3"], start=1)]
    shifted = thread_of(4)[2:]

    answer = LookupTurns().find(shifted, entries, "#3")

    assert answer["turns"][0]["messages"][0]["content"] == "question 3"


def test_when_no_turn_is_left_the_summaries_answer() -> None:
    """LK07, LK08, HID-26: as a pair of user and assistant, under the refs of the entry, ranges included."""
    entries = [
        summary_entry(THREAD, ["h4", "h5"], start=3, question="A cat?", answer="Yes, called Momo.", refs=["#4-#5"]),
        summary_entry(THREAD, ["h6"], start=5, sequence=2, question="A dog?", answer="No.", refs=["#6"]),
    ]

    answer = LookupTurns().find([], entries, "#5")

    assert answer["ok"]
    assert answer["turns"] == [
        {
            "ref": "#4-#5",
            "messages": [
                {"role": "user", "content": "A cat?"},
                {"role": "assistant", "content": "Yes, called Momo."},
            ],
        }
    ]


def test_an_endless_range_is_cut() -> None:
    """HID-25."""
    answer = LookupTurns(max_turns=20).find(thread_of(30), [], "#1-#1000000")

    assert refs_of(answer) == [f"#{number}" for number in range(1, 21)]
    assert answer["truncated"] is True


@pytest.mark.parametrize("letter", ["x", "ж", "😀"])
def test_answers_stay_within_their_bytes(letter: str) -> None:
    """HID-25."""
    lookup = LookupTurns(max_bytes=24_000, max_message_chars=4_000)
    long = [message for n in range(1, 40) for message in (HumanMessage(letter * 9_000, id=f"h{n}"), AIMessage("ok"))]

    answer = lookup.find(long, [], "#1-#39")

    assert answer["turns"][0]["messages"][0]["content"].startswith(letter * 4_000)
    assert answer["truncated"] is True
    assert len(json.dumps(answer["turns"], ensure_ascii=False).encode()) <= 24_000 + 2_000


def test_huge_arguments_of_a_tool_call_are_left_out() -> None:
    """HID-25."""
    call = {"name": "save_memory", "args": {"blob": "x" * 50_000}, "id": "c1"}
    messages = [HumanMessage("hi", id="h1"), AIMessage("", tool_calls=[call]), ToolMessage("ok", tool_call_id="c1")]

    answer = LookupTurns().find(messages, [], "#1", include_tool_messages=True)

    assert answer["turns"][0]["messages"][1]["toolCalls"] == [{"name": "save_memory"}]
    assert answer["truncated"] is True


def test_content_in_parts_becomes_text_and_markers() -> None:
    """LK15: never the bytes of a picture."""
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}},
    ]

    answer = LookupTurns().find([HumanMessage(parts, id="h1")], [], "#1")

    assert answer["turns"][0]["messages"] == [{"role": "user", "content": "Look:\n[image]"}]


def test_changes_nothing_it_was_given() -> None:
    """LK14."""
    messages = thread_of(3)
    before = [message.model_copy(deep=True) for message in messages]

    LookupTurns(max_message_chars=2).find(messages, [], "#1-#3", include_tool_messages=True)

    assert messages == before
