import json

from langchain_core.messages import AIMessageChunk

from shared.adapters.langgraph_api.sse import HEARTBEAT, SseWriter


def fields(event: bytes) -> dict[str, str]:
    assert event.endswith(b"\n\n")
    return dict(line.split(": ", 1) for line in event.decode().strip().splitlines())


def test_an_event_has_a_name_data_and_an_id():
    event = fields(SseWriter().event("values", {"text": "a\nb\r\n\u2028c\u2029d\u0085e"}))

    assert event["event"] == "values"
    assert json.loads(event["data"]) == {"text": "a\nb\r\n\u2028c\u2029d\u0085e"}
    assert event["id"] == "1"


def test_ids_count_up_whatever_the_event():
    writer = SseWriter()
    events = [writer.event("metadata", {}), writer.message(AIMessageChunk("a", id="1"), {}), writer.event("end", None)]

    assert [fields(event)["id"] for event in events] == ["1", "2", "3"]


def test_the_subgraph_stands_in_the_name():
    assert fields(SseWriter().event("updates", {}, namespace=("a:1", "b:2")))["event"] == "updates|a:1|b:2"


def test_of_a_tokens_metadata_goes_what_clients_read():
    metadata = {
        "langgraph_node": "model",
        "langgraph_checkpoint_ns": "a:1",
        "thread_id": "t",
        "userId": "u",
        "tags": ["x"],
    }
    event = fields(SseWriter().message(AIMessageChunk("Hel", id="m1"), metadata))
    message, read = json.loads(event["data"])

    assert event["event"] == "messages"
    assert (message["type"], message["content"], message["id"]) == ("AIMessageChunk", "Hel", "m1")
    assert read == {"langgraph_node": "model", "langgraph_checkpoint_ns": "a:1", "tags": ["x"]}


def test_a_heartbeat_is_a_comment():
    assert HEARTBEAT.startswith(b":")
    assert HEARTBEAT.endswith(b"\n\n")
