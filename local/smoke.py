"""Shows that a deployment streams: ``python -m local.smoke <API URL>``, with an ID token in ``EVERTHREAD_TOKEN``.

It makes a thread, has one short turn in it and prints each piece of the answer with the time it arrived; then it
reads the stored thread back and deletes it. Without the variable it asks for the token. The exit code is 1 when
something is wrong, also when the answer came all at once: then something on the way buffers.
"""

import argparse
import asyncio
import getpass
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

QUESTION: Final = "Count from one to twenty in words, with commas between them."
FEWEST_PIECES: Final = 5
"""Of an answer that can be told to have been streamed."""

SHORTEST_SPREAD: Final = 0.05
"""Seconds between the first and the last piece of an answer that was streamed."""

_SILENCE: Final = 60.0
"""Seconds without even a heartbeat after which the connection counts as dead."""


class SmokeError(Exception):
    """What is wrong, for people."""


@dataclass
class Answer:
    """What came of one turn.

    Attributes
    ----------
    arrivals : list of (float, str)
        Seconds since the request, and the piece.
    """

    arrivals: list[tuple[float, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(piece for _, piece in self.arrivals)

    def check(self) -> None:
        """Check that the answer was streamed.

        Raises
        ------
        SmokeError
            When there is none, or it came all at once.
        """
        if not self.arrivals:
            raise SmokeError("No piece of an answer arrived.")
        spread = self.arrivals[-1][0] - self.arrivals[0][0]
        if len(self.arrivals) >= FEWEST_PIECES and spread < SHORTEST_SPREAD:
            raise SmokeError(f"{len(self.arrivals)} pieces arrived within {spread:.3f} s: something buffers the reply.")


async def smoke(http: httpx.AsyncClient, say: Callable[[str], None]) -> Answer:
    """Run the check.

    Parameters
    ----------
    http : httpx.AsyncClient
        With base URL and token.
    say : callable
        Takes each line of the report.

    Raises
    ------
    SmokeError
        Saying what is wrong.
    """
    _expect(await http.get("/ok"), 200, "The service")
    without_token = http.build_request("GET", "/threads/00000000-0000-0000-0000-000000000000")
    without_token.headers.pop("authorization", None)
    _expect(await http.send(without_token, auth=None), 401, "A request without a token")
    created = await http.post("/threads", json={"metadata": {"title": "Smoke test"}})
    thread = _expect(created, 200, "Making a thread").json()["thread_id"]
    try:
        answer = Answer()
        began = time.monotonic()
        async for name, data in _events(http, thread):
            if name == "error":
                raise SmokeError(f"The run failed: {data['error']}: {data['message']}")
            for piece in _pieces(data) if name == "messages" else ():
                answer.arrivals.append((time.monotonic() - began, piece))
                say(f"{answer.arrivals[-1][0]:7.3f} s  {piece!r}")
        answer.check()
        state = _expect(await http.get(f"/threads/{thread}/state"), 200, "Reading the thread").json()
        kinds = [message["type"] for message in state["values"].get("messages", [])]
        if kinds != ["human", "ai"]:
            raise SmokeError(f"The thread holds {kinds} instead of a question and its answer.")
    finally:
        _expect(await http.delete(f"/threads/{thread}"), 204, "Deleting the thread")
    first, last = answer.arrivals[0][0], answer.arrivals[-1][0]
    say(f"{len(answer.arrivals)} pieces, the first after {first:.2f} s, the last after {last:.2f} s. Stored, deleted.")
    return answer


async def _events(http: httpx.AsyncClient, thread: str) -> AsyncIterator[tuple[str, Any]]:
    body = {
        "assistant_id": "agent",
        "input": {"messages": [{"role": "user", "content": QUESTION}]},
        "stream_mode": "messages-tuple",
    }
    async with http.stream("POST", f"/threads/{thread}/runs/stream", json=body) as reply:
        if reply.status_code != 200:
            await reply.aread()
            _expect(reply, 200, "A run")
        name = ""
        async for line in reply.aiter_lines():
            kind, _, value = line.partition(": ")
            if kind == "event":
                name = value
            elif kind == "data":
                yield name, json.loads(value)


def _pieces(data: list[Any]) -> list[str]:
    message = data[0]
    if message["type"] not in ("AIMessageChunk", "ai"):
        return []
    content = message["content"]
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return [part for part in parts if part]


def _expect(reply: httpx.Response, status: int, what: str) -> httpx.Response:
    if reply.status_code != status:
        raise SmokeError(f"{what}: {reply.status_code} instead of {status}: {reply.text[:300]}")
    return reply


async def _run(url: str, token: str) -> None:
    timeout = httpx.Timeout(30, read=_SILENCE)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout) as http:
        await smoke(http, print)


def main() -> int:
    """Check the deployment at an address; give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m local.smoke", description="Shows that a deployment streams.")
    parser.add_argument("url", help="the stack's output ApiUrl, or the address that make local prints")
    url = parser.parse_args().url.rstrip("/")
    token = os.environ.get("EVERTHREAD_TOKEN") or getpass.getpass("ID token: ")
    try:
        asyncio.run(_run(url, token.strip()))
    except SmokeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except httpx.HTTPError as error:
        sys.stderr.write(f"{url} cannot be reached: {type(error).__name__}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
