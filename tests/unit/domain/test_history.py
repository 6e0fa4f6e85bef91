import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.utils import count_tokens_approximately

from shared.domain.history import LEFT_OUT, NO_RESULT, told_plainly, trim
from shared.domain.ids import DocumentId
from shared.domain.kb.file_parts import marked, waiting_part
from shared.domain.turns import human_ids
from shared.domain.window import NO_COVERAGE, Coverage, coverage
from tests.unit.domain.conversations import called, entry, ids, result, spoken

PLENTY = 10**9


def count_messages(messages: Sequence[BaseMessage]) -> int:
    """A token for each message."""
    return len(messages)


def trimmed(
    messages: Sequence[AnyMessage], *, end: int = -1, buffer: int = 0, budget: int = PLENTY
) -> list[AnyMessage]:
    return trim(messages, Coverage(end), buffer_turns=buffer, token_budget=budget, count_tokens=count_messages)


class TestTurns:
    @pytest.mark.parametrize(
        ("buffer", "humans", "max_end", "first", "count"),
        [
            # seed_rows section 18, reading A, row by row
            (5, 10, -1, 0, 10),
            (5, 11, 9, 5, 6),
            (5, 12, 9, 5, 7),
            (5, 15, 9, 5, 10),
            (5, 20, 9, 5, 15),
            (5, 21, 19, 15, 6),
            (0, 11, 9, 10, 1),  # TT04
            (20, 21, 19, 0, 21),
            (5, 4, 2, 0, 4),  # TT06
            (5, 7, 5, 1, 6),
            (2, 7, 5, 4, 3),
        ],
    )
    def test_the_buffer_table(self, buffer: int, humans: int, max_end: int, first: int, count: int) -> None:
        # TT03, TT05, TT08: passes in any order.
        passes = [entry(n, n, sequence=n + 1) for n in range(max_end + 1)]
        covered = coverage(ids(humans), reversed(passes))
        kept = trim(spoken(humans), covered, buffer_turns=buffer, token_budget=PLENTY, count_tokens=count_messages)
        assert human_ids(kept) == ids(humans)[first:]
        assert len(human_ids(kept)) == count
        assert kept == spoken(humans)[2 * first :]

    @pytest.mark.parametrize("buffer", [0, 5])
    def test_the_current_turn_is_sent_when_the_thread_is_shorter_than_its_summaries(self, buffer: int) -> None:
        # TT10: rolled back to three turns, with summaries to #10. By ids nothing is covered then.
        assert human_ids(trimmed(spoken(3), end=9, buffer=buffer)) == ["m2"]
        covered = coverage(ids(3), [entry(0, 9)])
        kept = trim(spoken(3), covered, buffer_turns=buffer, token_budget=PLENTY, count_tokens=count_messages)
        assert kept == spoken(3)

    def test_the_current_turn_is_sent_even_if_it_is_covered(self) -> None:
        # Regenerating the answer of a turn that a pass has covered already.
        assert human_ids(trimmed(spoken(3), end=2)) == ["m2"]

    def test_a_gap_stops_the_trim(self) -> None:
        # AMB-31
        covered = coverage(ids(9), [entry(0, 2), entry(6, 8, sequence=3)])
        kept = trim(spoken(9), covered, buffer_turns=0, token_budget=PLENTY, count_tokens=count_messages)
        assert human_ids(kept) == ids(9)[3:]

    def test_nothing_is_trimmed_without_summaries(self) -> None:
        # TT07, AMB-08
        kept = trim(spoken(30), NO_COVERAGE, buffer_turns=5, token_budget=PLENTY, count_tokens=count_messages)
        assert kept == spoken(30)

    def test_system_messages_are_stripped(self) -> None:
        # TT02, P02
        assert trimmed([SystemMessage("s"), *spoken(1), SystemMessage("s"), *spoken(2)[2:]]) == spoken(2)
        assert trimmed([SystemMessage("s")]) == []

    def test_a_thread_without_a_human_message_comes_back(self) -> None:
        # TT07
        greeting: list[AnyMessage] = [SystemMessage("s"), AIMessage("Welcome!")]
        assert trimmed(greeting, end=4) == [AIMessage("Welcome!")]
        assert trimmed([]) == []

    def test_the_thread_itself_is_not_touched(self) -> None:
        # TT01, TT09, ST2-18
        messages = [
            SystemMessage("s"),
            *spoken(8),
            HumanMessage("q", id="m8"),
            called("c", content=[{"type": "tool_use", "id": "d"}]),
        ]
        before = [message.model_copy(deep=True) for message in messages]
        trimmed(messages, end=5, budget=3)
        assert messages == before


class TestTokens:
    def test_whole_turns_go_from_the_front_until_the_rest_fits(self) -> None:
        # X03, ST2-14
        assert trimmed(spoken(4), budget=8) == spoken(4)
        assert trimmed(spoken(4), budget=7) == spoken(4)[2:]
        assert trimmed(spoken(4), budget=5) == spoken(4)[4:]
        assert trimmed(spoken(4), budget=2) == spoken(4)[6:]

    @pytest.mark.parametrize("budget", [0, 1, 3])
    def test_a_turn_over_the_budget_is_sent_all_the_same(self, budget: int) -> None:
        # ST2-16
        turn = [HumanMessage("q", id="m1"), called("c"), result("c"), called("d"), result("d")]
        assert trimmed([*spoken(1), *turn], budget=budget) == turn

    def test_turns_go_before_tokens(self) -> None:
        assert trimmed(spoken(10), end=6, buffer=1, budget=100) == spoken(10)[12:]
        assert trimmed(spoken(10), end=6, buffer=1, budget=4) == spoken(10)[16:]

    def test_langchain_s_counter_counts(self) -> None:
        long = [HumanMessage("word " * 1000, id="m0"), AIMessage("answer"), *spoken(2)[2:]]
        kept = trim(long, NO_COVERAGE, buffer_turns=0, token_budget=200, count_tokens=count_tokens_approximately)
        assert kept == spoken(2)[2:]


class TestValidity:
    def test_history_starts_with_a_human_message(self) -> None:
        # ST2-21
        assert trimmed([AIMessage("Welcome!"), result("c"), *spoken(1)]) == spoken(1)

    def test_whole_tool_loops_stay_as_they_are(self) -> None:
        loop = [
            HumanMessage("q", id="m0"),
            called("c", "d"),
            result("c"),
            result("d"),
            called("e"),
            result("e"),
            AIMessage("a"),
        ]
        kept = trimmed(loop)
        assert len(kept) == len(loop)
        assert all(message is original for message, original in zip(kept, loop, strict=True))

    def test_a_call_that_was_cut_off_gets_a_result_that_says_so(self) -> None:
        cut = called("c", "d", content="Let me look.")
        kept = trimmed([HumanMessage("q", id="m0"), cut, result("d"), HumanMessage("stop", id="m1")])
        unfinished = ToolMessage(NO_RESULT, name="weather", tool_call_id="c", status="error")
        assert kept == [HumanMessage("q", id="m0"), cut, unfinished, result("d"), HumanMessage("stop", id="m1")]

    def test_a_result_without_its_call_is_dropped(self) -> None:
        assert trimmed([HumanMessage("q", id="m0"), result("gone"), AIMessage("a")]) == [
            HumanMessage("q", id="m0"),
            AIMessage("a"),
        ]

    def test_a_late_result_stands_right_behind_its_call(self) -> None:
        # A run that was resumed after the user had written again.
        thread = [HumanMessage("q", id="m0"), called("c"), HumanMessage("and?", id="m1"), result("c"), AIMessage("a")]
        assert trimmed(thread) == [thread[0], thread[1], thread[3], thread[2], thread[4]]

    def test_of_two_results_of_a_call_the_last_counts(self) -> None:
        thread = [HumanMessage("q", id="m0"), called("c"), result("c", "waiting"), result("c", "done"), AIMessage("a")]
        assert trimmed(thread) == [*thread[:2], *thread[3:]]

    def test_ids_of_calls_may_come_again(self) -> None:
        one = [HumanMessage("q", id="m0"), called("call_1"), result("call_1", "one"), AIMessage("a")]
        two = [
            HumanMessage("q", id="m1"),
            called("call_1"),
            HumanMessage("q", id="m2"),
            called("call_1"),
            result("call_1", "two"),
        ]
        kept = trimmed([*one, *two])
        assert [message.content for message in kept if message.type == "tool"] == ["one", NO_RESULT, "two"]

    @pytest.mark.parametrize(
        "silent",
        [
            AIMessage(""),
            AIMessage("  \n"),
            AIMessage([]),
            AIMessage([{"type": "text", "text": ""}]),
            AIMessage([{"type": "reasoning_content", "reasoning_content": {"text": "hm"}}]),
        ],
    )
    def test_a_model_that_said_nothing_is_left_out(self, silent: AIMessage) -> None:
        assert trimmed([HumanMessage("q", id="m0"), silent, *spoken(2)[2:]]) == [
            HumanMessage("q", id="m0"),
            *spoken(2)[2:],
        ]

    def test_an_empty_question_keeps_its_place(self) -> None:
        thread = [HumanMessage("", id="m0"), AIMessage("Yes?"), HumanMessage([], id="m1")]
        assert trimmed(thread) == thread

    def test_calls_that_broke_off_while_being_written_are_dropped(self) -> None:
        # A cancelled stream: the block of the call is there, its arguments are not.
        broken = AIMessage(
            [
                {"type": "text", "text": "Let me"},
                "see",
                {"type": "tool_use", "id": "c", "name": "weather", "input": '{"ci'},
            ],
            invalid_tool_calls=[{"name": "weather", "args": '{"ci', "id": "c", "error": None}],
        )
        (_, said) = trimmed([HumanMessage("q", id="m0"), broken])
        assert said.content == [{"type": "text", "text": "Let me"}, "see"]
        assert isinstance(said, AIMessage)
        assert (said.tool_calls, said.invalid_tool_calls) == ([], [])

    def test_a_call_that_broke_off_and_nothing_said_is_nothing(self) -> None:
        broken = AIMessage("", invalid_tool_calls=[{"name": "weather", "args": '{"ci', "id": "c", "error": None}])
        assert trimmed([HumanMessage("q", id="m0"), broken]) == [HumanMessage("q", id="m0")]

    def test_a_broken_call_beside_text_is_dropped_too(self) -> None:
        # Some adapters send the field on, and then the call has no result.
        broken = AIMessage("I look.", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": None}])
        (_, said) = trimmed([HumanMessage("q", id="m0"), broken])
        assert isinstance(said, AIMessage)
        assert (said.content, said.invalid_tool_calls) == ("I look.", [])
        assert broken.invalid_tool_calls

    def test_the_blocks_of_whole_calls_stay(self) -> None:
        message = called("c", content=[{"type": "tool_use", "id": "c", "name": "weather", "input": {}}])
        assert trimmed([HumanMessage("q", id="m0"), message, result("c")]) == [
            HumanMessage("q", id="m0"),
            message,
            result("c"),
        ]

    def test_a_call_without_an_id_cannot_be_answered(self) -> None:
        message = AIMessage("I call.", tool_calls=[{"name": "weather", "args": {}, "id": None}])
        (_, said) = trimmed([HumanMessage("q", id="m0"), message])
        assert isinstance(said, AIMessage)
        assert (said.content, said.tool_calls) == ("I call.", [])

    def test_kinds_that_the_model_s_adapter_refuses_are_left_out(self) -> None:
        assert trimmed([*spoken(1), ChatMessage(role="critic", content="no")]) == spoken(1)


CALL_IDS = st.sampled_from(["c1", "c2", "c3"])
MESSAGES: st.SearchStrategy[AnyMessage] = st.one_of(
    st.just(None).map(lambda _: HumanMessage("q")),
    st.sampled_from(["", "said", "[]"]).map(lambda text: AIMessage([] if text == "[]" else text)),
    st.lists(CALL_IDS, min_size=1, max_size=2, unique=True).map(lambda call_ids: called(*call_ids)),
    CALL_IDS.map(result),
    st.just(None).map(lambda _: SystemMessage("s")),
)


def _numbered(messages: list[AnyMessage]) -> list[AnyMessage]:
    return [message.model_copy(update={"id": f"id{n}"}) for n, message in enumerate(messages)]


@given(st.lists(MESSAGES, max_size=14).map(_numbered), st.integers(-1, 8), st.integers(0, 3), st.integers(0, 12))
def test_whatever_happened_in_a_thread_a_model_can_read_its_history(
    messages: list[AnyMessage], end: int, buffer: int, budget: int
) -> None:
    # ST2-21, ST2-24
    kept = trimmed(messages, end=end, buffer=buffer, budget=budget)
    humans = human_ids(messages)
    if not humans:
        assert kept == [message for message in messages if message.type != "system"]
        return
    # The current turn is there, and what is there are the last turns.
    assert kept[0].type == "human"
    assert human_ids(kept) == humans[-len(human_ids(kept)) :]
    waiting: list[str] = []
    for message in kept:
        assert message.type in {"human", "ai", "tool"}
        if isinstance(message, ToolMessage):
            # Results follow their call at once, each once, in the order of the calls.
            assert waiting
            assert message.tool_call_id == waiting.pop(0)
            continue
        assert not waiting
        if isinstance(message, AIMessage):
            assert message.content or message.tool_calls
            waiting = [call["id"] or "" for call in message.tool_calls]
    assert not waiting
    # Nothing was made up but results of calls that have none.
    known = {message.id for message in messages}
    assert all(message.id in known or message.content == NO_RESULT for message in kept)
    # Done again it changes nothing.
    assert trimmed(kept, budget=PLENTY) == kept


class TestWhatBedrockTakes:
    @pytest.mark.parametrize("ident", ["functions.f:0", "x" * 65, "ü", "a b"])
    def test_odd_ids_become_legal_ones_that_stay_the_same(self, ident: str) -> None:
        messages = [HumanMessage("q", id="m"), called(ident), result(ident)]
        first, second = trimmed(messages), trimmed([HumanMessage("before", id="b"), AIMessage("."), *messages])[2:]
        (call,) = first[1].tool_calls
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["id"])
        assert first[2].tool_call_id == call["id"]
        assert first == second
        assert messages[1].tool_calls[0]["id"] == ident

    def test_odd_names_become_legal_ones(self) -> None:
        message = AIMessage("", tool_calls=[{"name": "functions.weather now!" + "x" * 80, "args": {}, "id": "c"}])
        (sent,) = [each for each in trimmed([HumanMessage("q"), message]) if isinstance(each, AIMessage)]
        assert sent.tool_calls[0]["name"] == ("functions_weather_now_" + "x" * 80)[:64]

    def test_no_id_comes_twice_in_a_history(self) -> None:
        turn = [called("c"), result("c")]
        kept = trimmed([HumanMessage("q", id="m1"), *turn, AIMessage("a"), HumanMessage("r", id="m2"), *turn])
        calls = [call["id"] for each in kept if isinstance(each, AIMessage) for call in each.tool_calls]
        assert len(set(calls)) == len(calls) == 2
        assert [each.tool_call_id for each in kept if isinstance(each, ToolMessage)] == calls

    def test_of_two_calls_of_one_message_with_one_id_one_is_sent(self) -> None:
        twice = AIMessage("", tool_calls=[{"name": name, "args": {}, "id": "c"} for name in ("f", "g")])
        kept = trimmed([HumanMessage("q"), twice, result("c")])
        assert [call["name"] for call in kept[1].tool_calls] == ["f"]
        assert len(kept) == 3

    def test_blank_parts_of_a_question_are_left_out(self) -> None:
        text = {"type": "text", "text": "q"}
        (kept,) = trimmed([HumanMessage(["", text, " ", {"type": "text", "text": ""}], id="m")])
        assert kept.content == [text]
        assert trimmed([HumanMessage(["", " "], id="m")])[0].content == ""


DOCUMENT = DocumentId("d-00000000-0000-4000-8000-000000000001")
PICTURE = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}


class TestWhatModelsRefuse:
    def test_attachments_that_were_never_answered_are_left_out(self) -> None:
        first, last = HumanMessage(["a", PICTURE], id="m1"), HumanMessage(["b", PICTURE], id="m2")
        kept = trimmed([first, last])
        assert kept[0].content == ["a", {"type": "text", "text": f"[image] ({LEFT_OUT})"}]
        assert kept[1] == last
        assert trimmed([first, AIMessage("A dot."), last])[0] == first
        assert trim(
            [first, last], NO_COVERAGE, buffer_turns=0, token_budget=PLENTY, count_tokens=count_messages, asked=["m1"]
        ) == [first, last]

    def test_a_file_that_has_become_a_document_is_no_attachment_to_leave_out(self) -> None:
        waiting = waiting_part(DOCUMENT, "a.md", "text/markdown", "5a")
        for parts in ([waiting], marked(waiting, DOCUMENT)):
            kept = trimmed([HumanMessage(["a", *parts], id="m1"), HumanMessage("b", id="m2")])
            assert kept[0].content == ["a", *parts]

    def test_a_plain_history_has_answered_turns_as_they_were_said(self) -> None:
        messages = [
            HumanMessage(["a", PICTURE], id="m1"),
            called("c"),
            result("c"),
            AIMessage("A dot."),
            HumanMessage("never answered", id="m2"),
            HumanMessage(["now", PICTURE], id="m3"),
            called("d"),
            result("d"),
        ]
        plain = told_plainly(messages)
        assert [(each.type, each.text) for each in plain[:2]] == [("human", "a\n[image]"), ("ai", "A dot.")]
        assert plain[2:] == messages[5:]
        assert told_plainly(messages, asked=["m2", "m3"])[2:] == messages[4:]
        assert told_plainly(plain) == plain
