"""A function in plain sockets: every way a response can go, without the weight of a framework.

Started by the gateway like any function; what it does is chosen by the last part of the event's path.
"""

import http.client
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

API = os.environ["AWS_LAMBDA_RUNTIME_API"]
PREFIX = "/2018-06-01/runtime/invocation"
HEAD = b'{"statusCode":200,"headers":{"content-type":"text/event-stream"},"multiValueHeaders":{"x-many":["a","b"]}}'
END = b"\0" * 8


def stream(request_id: str) -> socket.socket:
    host, port = API.split(":")
    opened = socket.create_connection((host, int(port)))
    opened.sendall(
        f"POST {PREFIX}/{request_id}/response HTTP/1.1\r\nHost: {API}\r\nTransfer-Encoding: chunked\r\n"
        "Lambda-Runtime-Function-Response-Mode: streaming\r\n\r\n".encode()
    )
    return opened


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def error(request_id: str, path: str) -> None:
    connection = http.client.HTTPConnection(API)
    connection.request(
        "POST", f"{PREFIX}/{request_id}/{path}", b"{}", {"Lambda-Runtime-Function-Error-Type": "Function.Boom"}
    )
    connection.getresponse().read()
    connection.close()


def respond(request_id: str, event: dict) -> None:
    what = event["path"].rsplit("/", 1)[-1]
    if what == "error":
        error(request_id, "error")
        return
    if what == "die":
        note = (event["queryStringParameters"] or {}).get("note")
        if note:
            with Path(note).open("a") as seen:
                seen.write("seen\n")
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "hang":
        time.sleep(60)
    body = stream(request_id)
    if what in ("echo", "state"):
        body.sendall(chunk(HEAD + END) + chunk(json.dumps({"pid": os.getpid(), "event": event}).encode()))
    elif what == "gated":
        body.sendall(chunk(HEAD + END + b"one "))
        port = int(event["queryStringParameters"]["port"])
        with socket.create_connection(("127.0.0.1", port)) as gate:
            gate.recv(1)
        body.sendall(chunk(b"two"))
    elif what == "large":
        body.sendall(chunk(HEAD + END))
        for _ in range(800):
            body.sendall(chunk(b"x" * 65536))
    elif what == "no-prelude":
        body.sendall(chunk(b"x" * 20_000))
    elif what == "bad-prelude":
        body.sendall(chunk(b"[]" + END))
    elif what == "split-prelude":
        for byte in HEAD + END:
            body.sendall(chunk(bytes([byte])))
        body.sendall(chunk(b"fine"))
    elif what == "silent":
        body.sendall(chunk(HEAD + END + b"one "))
        time.sleep(60)
    elif what == "truncated":
        body.sendall(chunk(HEAD + END + b"one "))
        body.close()
        return
    elif what == "trailers":
        body.sendall(chunk(HEAD + END + b"one ") + b"0\r\nLambda-Runtime-Function-Error-Type: Function.Cut\r\n\r\n")
        body.recv(1000)
        body.close()
        return
    body.sendall(b"0\r\n\r\n")
    assert b" 202 " in body.recv(1000)
    body.close()


def main() -> None:
    if os.environ.get("START") == "fails":
        connection = http.client.HTTPConnection(API)
        connection.request("POST", "/2018-06-01/runtime/init/error", b'{"errorType":"Runtime.ImportModuleError"}')
        connection.getresponse().read()
        sys.exit(1)
    connection = http.client.HTTPConnection(API)
    while True:
        connection.request("GET", f"{PREFIX}/next")
        answer = connection.getresponse()
        event = json.loads(answer.read())
        respond(answer.headers["Lambda-Runtime-Aws-Request-Id"], event)


main()
