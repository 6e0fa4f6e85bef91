"""A small function for the runtime's tests: every way a reply can go."""

import asyncio
import os

from fastapi import FastAPI, Request, Response
from starlette.responses import StreamingResponse

from shared.adapters.http import LANGGRAPH_API, install_error_handlers
from shared.adapters.runtime.asgi import AsgiRunner

app = FastAPI()
install_error_handlers(app, LANGGRAPH_API)
served: list[str] = []


async def _gate(port: int, message: bytes) -> None:
    """Tell the test something and wait until it says go on."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(message + b"\n")
    await reader.readline()
    writer.close()


@app.get("/stream/gated/{port}")
async def gated(port: int) -> Response:
    async def tokens():
        yield b"one "
        yield b""
        await _gate(port, b"after one")
        yield b"two"
        await _gate(port, b"after two")

    return StreamingResponse(tokens(), media_type="text/event-stream")


@app.get("/stream/breaks")
async def breaks() -> Response:
    async def tokens():
        yield b"half an "
        raise RuntimeError("a secret said by the user")

    return StreamingResponse(tokens(), media_type="text/event-stream")


@app.get("/stream/headers/{size}")
async def headers(size: int) -> Response:
    reply = Response("fine", headers={"x-large": "x" * size})
    reply.headers.append("x-twice", "a")
    reply.headers.append("x-twice", "b")
    return reply


@app.get("/stream/large/{size}")
async def large(size: int) -> Response:
    async def parts():
        for _ in range(size // 65536):
            yield b"x" * 65536

    return StreamingResponse(parts(), media_type="application/octet-stream")


@app.get("/raises")
@app.get("/stream/raises")
async def raises() -> Response:
    raise RuntimeError("a secret said by the user")


@app.get("/empty")
async def empty() -> Response:
    return Response(status_code=204)


@app.get("/large/{size}")
async def large_whole(size: int) -> Response:
    return Response("x" * size)


@app.post("/echo")
async def echo(request: Request) -> dict[str, object]:
    served.append("echo")
    return {
        "body": (await request.body()).decode(),
        "query": request.query_params.multi_items(),
        "accept": request.headers.getlist("accept"),
        "process": os.getpid(),
        "loop": id(asyncio.get_running_loop()),
        "served": len(served),
    }


runner = AsgiRunner(app, streams=lambda event: event["path"].startswith("/stream/"))
handler = runner.handle
