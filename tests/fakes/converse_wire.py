"""Bedrock's Converse API on loopback, byte for byte, answering by script."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from local.model.eventstream import CONTENT_TYPE, event_frame, exception_frame

USAGE = {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18}


@dataclass
class Refuse:
    """An HTTP error instead of an answer."""

    status: int
    code: str
    message: str = "Request body: secret"


@dataclass
class Answer:
    """Words and tool calls. ``failure`` comes after them as an exception event; ``gate`` is waited for first."""

    words: Sequence[str] = ()
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    stop: str | None = None
    failure: str | None = None
    cut: bool = False
    gate: threading.Event | None = None
    gate_after: int = 0


@dataclass
class Asked:
    """One request."""

    operation: str
    model: str
    body: dict[str, Any]


@dataclass
class ConverseWire:
    """What the server does and was asked."""

    url: str
    script: list[Refuse | Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def next(self) -> Refuse | Answer:
        return self.script.pop(0) if self.script else Answer(["ok"])


@contextmanager
def converse_wire() -> Iterator[ConverseWire]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            _, _, model, operation = self.path.split("/")
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            wire.asked.append(Asked(operation, model, body))
            step = wire.next()
            if isinstance(step, Refuse):
                self._send(step.status, {"message": step.message}, {"x-amzn-errortype": step.code})
            elif operation == "converse":
                self._send(200, _whole(step), {})
            else:
                self._stream(step)

        def _send(self, status: int, body: dict[str, Any], headers: dict[str, str]) -> None:
            payload = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "content-type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def _stream(self, step: Answer) -> None:
            self.send_response(200)
            self.send_header("content-type", CONTENT_TYPE)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for place, frame in enumerate(_frames(step)):
                    if step.gate is not None and place > step.gate_after:
                        step.gate.wait(30)
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame))
                    self.wfile.flush()
                if not step.cut:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                # The client left.
                pass
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wire = ConverseWire(f"http://127.0.0.1:{server.server_port}")
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield wire
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def _frames(answer: Answer) -> Iterator[bytes]:
    yield event_frame("messageStart", {"role": "assistant"})
    for word in answer.words:
        yield event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": word}})
    if answer.words:
        yield event_frame("contentBlockStop", {"contentBlockIndex": 0})
    for index, (name, args) in enumerate(answer.calls, start=1):
        start = {"toolUse": {"toolUseId": f"use-{index}", "name": name}}
        yield event_frame("contentBlockStart", {"contentBlockIndex": index, "start": start})
        half = len(text := json.dumps(args)) // 2
        for part in (text[:half], text[half:]):
            yield event_frame("contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": part}}})
        yield event_frame("contentBlockStop", {"contentBlockIndex": index})
    if answer.failure is not None:
        yield exception_frame(answer.failure, {"message": "Request body: secret"})
    elif not answer.cut:
        yield event_frame("messageStop", {"stopReason": _stop(answer)})
        yield event_frame("metadata", {"usage": USAGE, "metrics": {"latencyMs": 5}})


def _whole(answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"text": "".join(answer.words)}] if answer.words else []
    for index, (name, args) in enumerate(answer.calls, start=1):
        content.append({"toolUse": {"toolUseId": f"use-{index}", "name": name, "input": args}})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": _stop(answer),
        "usage": USAGE,
        "metrics": {"latencyMs": 5},
    }


def _stop(answer: Answer) -> str:
    return answer.stop or ("tool_use" if answer.calls else "end_turn")
