"""The source for tests: answers by script, waits at gates, fails on demand, and keeps every request."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

from pydantic import BaseModel

from local.model.reply import (
    ConnectionCut,
    Finish,
    ModelFailure,
    Part,
    Source,
    TextDelta,
    object_parts,
    tool_call,
    words,
)
from local.model.request import ConverseRequest
from local.model.script import Reply, RequestKind, Script, kind_of, texts_of


class RecordedRequest(BaseModel):
    """A request as it came, with which script answered it (``None``: the fallback)."""

    number: int
    kind: RequestKind
    model_id: str
    script: str | None
    body: dict[str, Any]


class ScriptedSource:
    """Answers by script.

    Parameters
    ----------
    fallback : Source
        Answers what no script fits.
    """

    def __init__(self, fallback: Source) -> None:
        self._fallback = fallback
        self._scripts: dict[str, tuple[Script, int]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._numbers = count(1)
        self.waiting: dict[str, int] = {}
        self.requests: list[RecordedRequest] = []

    def add(self, script: Script) -> None:
        """Put a script up; one that was put up earlier is asked first."""
        self._scripts[script.id] = (script, 0)

    def remove(self, script_id: str) -> None:
        """Take a script down; nothing happens when it is not there."""
        self._scripts.pop(script_id, None)

    def open(self, gate: str) -> None:
        """Let everything pass that waits at the gate, now and from now on."""
        self._gate(gate).set()

    def recorded(self, contains: str | None = None) -> list[RecordedRequest]:
        """Give the requests so far, oldest first; with ``contains`` those that hold this text in a message."""
        return [
            record
            for record in self.requests
            if contains is None or contains in "\n".join(texts_of(record.body["messages"]))
        ]

    async def reply(self, request: ConverseRequest) -> AsyncIterator[Part]:
        """Answer by the first script that fits, else by the fallback. Raises as scripted."""
        script, reply = self._take(request)
        self.requests.append(
            RecordedRequest(
                number=next(self._numbers),
                kind=kind_of(request),
                model_id=request.model_id,
                script=script,
                body=dict(request.body),
            )
        )
        if reply is None:
            async for part in self._fallback.reply(request):
                yield part
            return
        position = 0
        for token in _tokens(reply, request):
            await self._before(position, reply)
            for part in token:
                yield part
            position += 1
            if reply.pause:
                await asyncio.sleep(reply.pause)
        await self._before(position, reply)
        calls = bool(reply.tool_calls) or (reply.structured is not None and request.forced_tool is not None)
        yield Finish(reply.stop_reason or ("tool_use" if calls else "end_turn"))

    def _take(self, request: ConverseRequest) -> tuple[str | None, Reply | None]:
        for script, used in self._scripts.values():
            if script.match.fits(request) and (used < len(script.replies) or script.repeat):
                self._scripts[script.id] = (script, used + 1)
                return script.id, script.replies[min(used, len(script.replies) - 1)]
        return None, None

    async def _before(self, position: int, reply: Reply) -> None:
        for wait in reply.waits:
            if wait.before == position:
                await self._pass(wait.gate)
        failure = reply.failure
        if failure is not None and failure.before == position:
            raise ConnectionCut if failure.cut else ModelFailure(failure.code, failure.message)

    async def _pass(self, gate: str) -> None:
        self.waiting[gate] = self.waiting.get(gate, 0) + 1
        try:
            await self._gate(gate).wait()
        finally:
            self.waiting[gate] -= 1

    def _gate(self, gate: str) -> asyncio.Event:
        return self._gates.setdefault(gate, asyncio.Event())


def _tokens(reply: Reply, request: ConverseRequest) -> list[Sequence[Part]]:
    tokens: list[Sequence[Part]] = [[TextDelta(word)] for word in words(reply.text)]
    if reply.structured is not None:
        tokens.extend(object_parts(reply.structured, request))
    tokens.extend(tool_call(call.name, call.arguments, call.tool_use_id) for call in reply.tool_calls)
    return tokens
