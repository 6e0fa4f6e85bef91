import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from shared.domain.turns import human_ids, is_answered, role_of, transcript, turns_of
from tests.unit.domain.conversations import called, result, spoken

KINDS: st.SearchStrategy[AnyMessage] = st.sampled_from(["human", "ai", "tool", "system"]).map(
    lambda kind: {
        "human": HumanMessage("q", id="h"),
        "ai": AIMessage("a"),
        "tool": ToolMessage("r", tool_call_id="c"),
        "system": SystemMessage("s"),
    }[kind]
)


def lines(messages: list[AnyMessage], *, char_limit: int = 1000) -> list[dict[str, object]]:
    return [json.loads(line) for line in transcript(turns_of(messages), char_limit=char_limit).split("\n")]


def test_a_turn_is_a_human_message_and_every_reply_up_to_the_next() -> None:
    # RF06, TP01, TP02
    messages = [HumanMessage("q0", id="m0"), called("c"), result("c"), AIMessage("a0"), HumanMessage("q1", id="m1")]
    first, second = turns_of(messages)
    assert first.messages == tuple(messages[:4])
    assert second.messages == (messages[4],)
    assert [(turn.index, turn.message_id, turn.label) for turn in (first, second)] == [(0, "m0", "#1"), (1, "m1", "#2")]


def test_system_messages_shift_no_index() -> None:
    # TR14
    messages = spoken(2)
    strewn = [SystemMessage("s"), *messages[:1], SystemMessage("s"), *messages[1:3], SystemMessage("s"), *messages[3:]]
    assert turns_of(strewn) == turns_of(messages)


def test_what_precedes_the_first_human_message_is_in_no_turn() -> None:
    assert turns_of([AIMessage("Welcome!"), *spoken(1)]) == turns_of(spoken(1))
    assert turns_of([AIMessage("Welcome!")]) == []
    assert turns_of([]) == []


def test_a_streamed_human_message_counts() -> None:
    assert human_ids([HumanMessageChunk("q", id="m0")]) == ["m0"]


@given(st.lists(KINDS))
def test_turns_hold_the_conversation_in_order_and_once(messages: list[AnyMessage]) -> None:
    turns = turns_of(messages)
    humans = [message for message in messages if message.type == "human"]
    assert len(turns) == len(humans)
    said = [message for message in messages if message.type != "system"]
    first = next((place for place, message in enumerate(said) if message.type == "human"), len(said))
    held = [message for turn in turns for message in turn.messages]
    assert [id(message) for message in held] == [id(message) for message in said[first:]]


def test_a_human_message_without_an_id_is_known_by_its_place_and_text() -> None:
    # HID-10: every reader of the same thread derives the same identity.
    thread = [
        HumanMessage("q"),
        AIMessage("a"),
        HumanMessage("q"),
        HumanMessage("other", id=""),
        HumanMessage("\ud800"),
    ]
    identities = human_ids(thread)
    assert identities == human_ids([message.model_copy() for message in thread])
    assert len(set(identities)) == 4
    assert all(identities)
    assert human_ids([HumanMessage("p"), *thread[1:]])[1:] == identities[1:]


@pytest.mark.parametrize(
    ("replies", "answered"),
    [
        ([AIMessage("yes")], True),
        ([called("c"), result("c"), AIMessage("yes")], True),
        ([AIMessage([{"type": "text", "text": "yes"}])], True),
        ([AIMessage([{"type": "image", "url": "https://x.example/c"}])], True),
        ([ChatMessage(role="assistant", content="yes")], True),
        ([AIMessage("half an ans", response_metadata={"cancelled": True})], True),
        ([], False),
        ([AIMessage("")], False),
        ([AIMessage(" \n")], False),
        ([AIMessage([{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}])], False),
        ([called("c")], False),
        ([called("c", content="Let me look.")], False),
        ([called("c"), result("c")], False),
        ([ChatMessage(role="critic", content="no")], False),
    ],
)
def test_a_turn_is_answered_when_it_ends_with_something_said(replies: list[AnyMessage], answered: bool) -> None:
    # HID-20
    assert is_answered(turns_of([HumanMessage("q", id="m0"), *replies])[0]) is answered


def test_roles_are_user_assistant_and_tool() -> None:
    # TP03, TP05, HID-26
    roles = {
        "user": [HumanMessage("q"), HumanMessageChunk("q")],
        "assistant": [AIMessage("a"), ChatMessage(role="assistant", content="a")],
        "tool": [result("c"), FunctionMessage(name="f", content="r")],
        None: [SystemMessage("s"), RemoveMessage(id="m"), ChatMessage(role="critic", content="c")],
    }
    for role, messages in roles.items():
        assert {role_of(message) for message in messages} == {role}


def test_a_transcript_is_a_line_of_json_per_turn() -> None:
    # TP04: labels are one-based and global, tool calls are a field.
    messages = [
        *spoken(10),
        HumanMessage("Wie warm\nist es?", id="m10"),
        called("c", content="Moment."),
        result("c"),
        AIMessage("4°"),
    ]
    assert transcript(turns_of(messages)[10:], char_limit=100) == json.dumps(
        {
            "id": "#11",
            "messages": [
                {"role": "user", "content": "Wie warm\nist es?"},
                {
                    "role": "assistant",
                    "content": "Moment.",
                    "tool_calls": [{"name": "weather", "args": {"city": "Oslo"}}],
                },
                {"role": "tool", "content": "4 degrees"},
                {"role": "assistant", "content": "4°"},
            ],
        },
        ensure_ascii=False,
    )
    assert [line["id"] for line in lines(messages)] == [f"#{n}" for n in range(1, 12)]


def test_a_transcript_names_turns_by_number_and_never_by_id():
    # RF03
    messages = [HumanMessage("Why?", id="id-of-a-question"), AIMessage("So.", id="id-of-an-answer")]
    assert "id-of" not in transcript(turns_of(messages), char_limit=100)


def test_kinds_that_are_no_conversation_are_left_out_of_the_transcript_only() -> None:
    # TP03
    messages = [HumanMessage("q", id="m0"), ChatMessage(role="critic", content="hm"), AIMessage("a")]
    assert len(turns_of(messages)[0].messages) == 3
    assert [message["role"] for message in lines(messages)[0]["messages"]] == ["user", "assistant"]


def test_long_texts_and_arguments_are_cut() -> None:
    # HID-17
    messages = [
        HumanMessage("q" * 50, id="m0"),
        AIMessage("", tool_calls=[{"name": "save", "args": {"text": "x" * 50}, "id": "c"}]),
        result("c", "r" * 20),
    ]
    (line,) = lines(messages, char_limit=20)
    human, call, tool = line["messages"]
    assert human["content"] == "q" * 20 + " … [30 more characters]"
    assert call["tool_calls"][0]["args"].startswith('{"text": "xxxxxxxxxx … [')
    assert tool["content"] == "r" * 20


def test_arguments_as_long_as_the_limit_are_whole() -> None:
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"a": "bcd"}, "id": "c"}])
    for limit, args in ((12, {"a": "bcd"}), (11, '{"a": "bcd" … [1 more characters]')):
        (line,) = lines([HumanMessage("q", id="m0"), message], char_limit=limit)
        assert line["messages"][1]["tool_calls"][0]["args"] == args


@given(st.lists(st.text(st.characters()), min_size=1, max_size=3))
def test_any_text_can_be_sent_to_a_model_and_stays_on_its_line(texts: list[str]) -> None:
    written = transcript(turns_of([HumanMessage(text, id="m") for text in texts]), char_limit=1000)
    written.encode()
    assert [json.loads(line)["id"] for line in written.split("\n")] == [f"#{n + 1}" for n in range(len(texts))]


def test_arguments_that_are_no_json_are_written_as_text() -> None:
    message = AIMessage("", tool_calls=[{"name": "f", "args": {"at": {1}}, "id": "c"}])
    assert lines([HumanMessage("q", id="m0"), message])[0]["messages"][1]["tool_calls"][0]["args"] == {"at": "{1}"}
