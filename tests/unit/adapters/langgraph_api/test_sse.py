import json

from shared.adapters.langgraph_api.json_encoding import encode
from shared.adapters.langgraph_api.sse import HEARTBEAT, sse_event


def test_an_event_has_a_name_data_and_an_id():
    said = {"text": "a\nb\r\n\u2028c\u2029d\u0085e"}
    event = sse_event("values|a:1", encode(said), 7)
    fields = dict(line.split(": ", 1) for line in event.decode().strip().splitlines())

    assert event.endswith(b"\n\n")
    assert (fields["event"], fields["id"], json.loads(fields["data"])) == ("values|a:1", "7", said)


def test_a_heartbeat_is_a_comment():
    assert HEARTBEAT.startswith(b":")
    assert HEARTBEAT.endswith(b"\n\n")
