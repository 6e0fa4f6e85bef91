from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

from shared.graphs.runs.partial_answer import PartialAnswer


def partial_of(*messages):
    partial = PartialAnswer()
    for message in messages:
        partial.add(message)
    return partial


def test_parts_of_one_message_become_one_message():
    (kept,) = partial_of(AIMessageChunk("Once ", id="1"), AIMessageChunk("upon", id="1")).messages(known=())

    assert (kept.id, kept.type, kept.content) == ("1", "ai", "Once upon")
    assert kept.response_metadata == {"cancelled": True}


def test_a_finished_tool_call_is_kept_with_its_result_and_an_open_one_is_not():
    kept = partial_of(
        AIMessage("Let me see.", id="1", tool_calls=[{"name": "look", "args": {}, "id": "a"}]),
        ToolMessage("seen", id="2", tool_call_id="a"),
        AIMessage("And again.", id="3", tool_calls=[{"name": "look", "args": {}, "id": "b"}]),
    ).messages(known=())

    assert [(message.type, message.text) for message in kept] == [
        ("ai", "Let me see."),
        ("tool", "seen"),
        ("ai", "And again."),
    ]
    assert [call["id"] for call in kept[0].tool_calls] == ["a"]
    assert kept[2].tool_calls == []
    assert [message.response_metadata for message in kept] == [{}, {}, {"cancelled": True}]


def test_what_the_thread_has_already_is_not_kept_again():
    assert partial_of(AIMessage("Done.", id="1")).messages(known={"1"}) == []


def test_only_what_was_said_is_kept():
    thought = AIMessageChunk([{"type": "reasoning_content", "reasoning_content": {"text": "hm"}, "index": 0}], id="1")

    assert partial_of(thought, HumanMessage("Hi", id="2"), AIMessageChunk("", id="3")).messages(known=()) == []


def test_a_message_without_an_id_cannot_be_kept():
    assert partial_of(AIMessage("Who am I?")).messages(known=()) == []
