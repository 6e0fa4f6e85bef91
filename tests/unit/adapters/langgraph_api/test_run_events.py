import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from shared.adapters.langgraph_api.run_events import RunEvents
from shared.domain.root_checkpoint import root_checkpoint_id

THREAD = "0b7a2d0e-6f3c-4a51-9a57-3a2f4d1c9e10"
CONFIG = {
    "configurable": {"thread_id": "inner", "checkpoint_ns": "", "checkpoint_id": "c1", "userId": "u", "memory": 1}
}


def events(*modes):
    return RunEvents(modes, THREAD)


def test_of_a_tokens_metadata_goes_what_clients_read():
    metadata = {"langgraph_node": "model", "langgraph_checkpoint_ns": "a:1", "thread_id": "t", "tags": ["x"]}
    chunk = AIMessageChunk("Hel", id="m1")
    ((name, data),) = events("messages-tuple").of("messages", (chunk, metadata), ())

    assert (name, data) == (
        "messages",
        [chunk, {"langgraph_node": "model", "langgraph_checkpoint_ns": "a:1", "tags": ["x"]}],
    )


@pytest.mark.parametrize("mode", ["values", "updates", "custom", "tasks"])
def test_the_subgraph_stands_in_the_name(mode):
    ((name, _),) = events(mode).of(mode, {"id": 1}, ("a:1", "b:2"))

    assert name == f"{mode}|a:1|b:2"


def test_the_mode_messages_tells_the_answer_so_far():
    named = events("messages")
    seen = [
        event
        for message in (AIMessageChunk("Hel", id="m1"), AIMessageChunk("lo", id="m1"), AIMessage("Whole", id="m2"))
        for event in named.of("messages", (message, {"langgraph_node": "model"}), ())
    ]

    assert [name for name, _ in seen] == [
        "messages/metadata",
        "messages/partial",
        "messages/partial",
        "messages/metadata",
        "messages/complete",
    ]
    assert seen[0][1] == {"m1": {"metadata": {"langgraph_node": "model"}}}
    assert [(data[0]["type"], data[0]["content"]) for name, data in seen if name != "messages/metadata"] == [
        ("ai", "Hel"),
        ("ai", "Hello"),
        ("ai", "Whole"),
    ]


def test_both_kinds_of_messages_may_be_asked_for():
    names = [
        name for name, _ in events("messages", "messages-tuple").of("messages", (AIMessageChunk("a", id="m"), {}), ())
    ]

    assert names == ["messages", "messages/metadata", "messages/partial"]


def test_a_checkpoint_has_places_and_nothing_of_the_configuration():
    payload = {
        "config": CONFIG,
        "parent_config": None,
        "values": {"messages": []},
        "metadata": {"step": 1, "userId": "u", "run_id": "r"},
        "next": ["a"],
        "tasks": [
            {"id": "t1", "name": "a", "interrupts": (), "state": CONFIG},
            {"id": "t2", "name": "b", "error": RuntimeError("secret"), "state": None},
        ],
    }
    ((_, data),) = events("checkpoints").of("checkpoints", payload, ())
    ((_, debug),) = events("debug").of("debug", {"type": "checkpoint", "step": 1, "payload": payload}, ())

    assert data["checkpoint"] == {"thread_id": THREAD, "checkpoint_ns": "", "checkpoint_id": "c1"}
    assert data["parent_checkpoint"] == {**data["checkpoint"], "checkpoint_id": root_checkpoint_id(THREAD)}
    assert data["metadata"] == {"step": 1, "run_id": "r"}
    assert data["tasks"][0]["checkpoint"] == data["checkpoint"]
    assert data["tasks"][1]["error"] == "The step failed."
    assert debug == {"type": "checkpoint", "step": 1, "payload": data}
    assert data["config"] == {"configurable": data["checkpoint"]}
    assert data["tasks"][0]["state"] == data["config"]


def test_an_error_of_a_step_has_no_story():
    ((_, data),) = events("tasks").of("tasks", {"id": "t", "name": "a", "error": ValueError("secret")}, ())

    assert data["error"] == "The step failed."


def test_langchains_events_go_without_prompts_and_without_what_is_silent():
    event = {
        "event": "on_chat_model_end",
        "name": "model",
        "run_id": "r",
        "tags": ["seq:1"],
        "metadata": {"langgraph_node": "model", "userId": "u"},
        "data": {"input": {"messages": ["the prompt"]}, "output": AIMessage("Hi", id="m")},
    }
    ((name, data),) = events("events").of("events", event, ())
    silent = events("events").of("events", {**event, "tags": ["nostream"]}, ())

    assert name == "events"
    assert data["data"] == {"output": AIMessage("Hi", id="m")}
    assert data["metadata"] == {"langgraph_node": "model"}
    assert silent == []
