"""A run's parts as AG-UI events, in the order that the protocol allows."""

from ag_ui.core import EventType
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage

from shared.adapters.agui.events import AguiEvents, sse_of


def told(*messages, given=()):
    events = AguiEvents("t", "r", given)
    return [event for message in messages for event in events.of("messages", (message, {}))], events


def kinds(events):
    return [event.type.value for event in events]


def call_chunk(index, *, name=None, args="", call=None):
    return {"type": "tool_call_chunk", "index": index, "name": name, "args": args, "id": call}


def test_text_is_closed_before_a_call_begins_and_calls_before_their_results():
    events, _ = told(
        AIMessageChunk("Let me", id="a"),
        AIMessageChunk("", id="a", tool_call_chunks=[call_chunk(0, name="f", call="c0")]),
        AIMessageChunk("", id="a", tool_call_chunks=[call_chunk(0, args="{}"), call_chunk(1, name="g", call="c1")]),
        ToolMessage("done", id="t", tool_call_id="c0"),
    )
    assert kinds(events) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
    ]
    assert [event.tool_call_id for event in events[3:]] == ["c0", "c0", "c1", "c0", "c1", "c0"]
    assert events[3].parent_message_id == "a"


def test_a_whole_message_is_told_like_one_that_came_in_pieces():
    calls = [{"name": "f", "args": {"a": 1}, "id": "c0", "type": "tool_call"}]
    events, _ = told(AIMessage("Hi", id="a", tool_calls=calls))
    assert kinds(events) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
    ]
    assert events[4].delta == '{"a":1}'


def test_a_message_is_told_once_and_what_the_client_has_is_not():
    events, _ = told(AIMessageChunk("Hi", id="a"), AIMessage("old", id="o"), AIMessage("Hi", id="a"), given=["o"])
    assert kinds(events) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


def test_what_is_no_part_of_the_conversation_is_left_out():
    events, _ = told(HumanMessage("Hi", id="h"), SystemMessage("You are", id="s"), AIMessageChunk("", id="a"))
    assert events == []


def test_a_run_that_fails_in_the_middle_closes_what_is_open():
    _, run = told(AIMessageChunk("Hi", id="a"))
    assert kinds(run.failed("RUN_FAILED")) == ["TEXT_MESSAGE_END", "RUN_ERROR"]


def test_a_client_that_has_everything_is_not_given_it_again():
    _, run = told(AIMessageChunk("Hi", id="a"), given=["h"])
    list(run.of("values", {"messages": [HumanMessage("Hi", id="h"), AIMessage("Hi", id="a")]}))
    assert kinds(run.ended("success")) == ["TEXT_MESSAGE_END", "RUN_FINISHED"]


def test_two_that_speak_at_once_are_made_up_for_at_the_end():
    chunks = [AIMessageChunk(text, id=ident) for ident, text in (("a", "one "), ("b", "two"), ("a", "more"))]
    events, run = told(*chunks)
    list(run.of("values", {"messages": [AIMessage("one more", id="a"), AIMessage("two", id="b")]}))
    ending = list(run.ended("success"))
    assert EventType.MESSAGES_SNAPSHOT in {event.type for event in ending}
    assert [event.delta for event in events if event.type == EventType.TEXT_MESSAGE_CONTENT] == ["one ", "two"]


def test_an_event_is_one_line_for_every_reader():
    ((_, content, *_), _) = told(AIMessageChunk("a\u2028b\nc", id="a"))
    written = sse_of(content).decode()
    assert written.endswith("\n\n")
    assert len(written.strip().splitlines()) == 1


def test_citations_are_an_event_of_their_own_before_the_text_is_closed():
    cited = [{"number": 1, "documentId": "d", "name": "a.pdf"}]
    events, _ = told(
        AIMessageChunk("In March [1].", id="a"),
        AIMessageChunk("", id="a", additional_kwargs={"citations": cited}),
        AIMessage("Again [1].", id="b", additional_kwargs={"citations": cited}),
    )
    assert kinds(events) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "CUSTOM",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "CUSTOM",
        "TEXT_MESSAGE_END",
    ]
    assert (events[2].name, events[2].value) == ("citations", {"messageId": "a", "citations": cited})


def test_a_file_of_the_thread_is_shown_by_its_name_and_its_mark_is_not():
    events = AguiEvents("t", "r", ())
    parts = [{"type": "file", "filename": "[kb:d-1] a.pdf"}, {"type": "kb_ref", "docId": "d-1"}]
    list(events.of("values", {"messages": [HumanMessage(["See", *parts], id="h")]}))

    snapshot, _ = events.ended("success")

    assert [part.text for part in snapshot.messages[0].content] == ["See", "[file: a.pdf]"]
