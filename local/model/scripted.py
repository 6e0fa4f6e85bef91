"""The source for tests: answers by script, waits at gates, fails on demand, and keeps every request.

Scripts are matched on what a request holds, so that tests and users that run at the same time do not take each
other's replies: a test puts a word of its own into its messages and matches on it. A request that no script fits
goes to the fallback.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from local.model.reply import (
    ConnectionCut,
    FailureCode,
    Finish,
    ModelFailure,
    Part,
    Source,
    StopReason,
    TextDelta,
    object_parts,
    tool_call,
    words,
)
from local.model.request import ConverseRequest

RequestKind = Literal["answer", "object", "text"]
"""``answer``: tools are offered and none is forced. ``object``: structured output. ``text``: neither."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Match(_Model):
    """Which requests a script answers; every condition that is given must hold.

    Parameters
    ----------
    contains : str, optional
        Somewhere in the messages' text or tool results.
    last_user_contains : str, optional
        In the last user message that has text.
    kind : str, optional
        See :data:`RequestKind`.
    field : str, optional
        A property of the object that is asked for, for example ``entries``.
    after_tool : str, optional
        The request brings the result of this tool.
    """

    contains: str | None = None
    last_user_contains: str | None = None
    kind: RequestKind | None = None
    field: str | None = None
    after_tool: str | None = None

    def fits(self, request: ConverseRequest) -> bool:
        """Tell whether the request is one of these."""
        results = [name for name, _ in request.pending_tool_results()]
        schema = request.wanted_object() or {}
        return (
            (self.contains is None or self.contains in _everything_said(request))
            and (self.last_user_contains is None or self.last_user_contains in request.last_user_text())
            and (self.kind is None or self.kind == kind_of(request))
            and (self.field is None or self.field in schema.get("properties", {}))
            and (self.after_tool is None or self.after_tool in results)
        )


class ScriptedCall(_Model):
    """A tool call of a scripted reply."""

    name: str
    arguments: dict[str, Any]
    tool_use_id: str | None = None


class Wait(_Model):
    """Stop before token ``before`` (0 is the first) until the gate is opened."""

    gate: str
    before: Annotated[int, Field(ge=0)] = 0


class Failure(_Model):
    """Fail before token ``before``; ``cut`` drops the connection instead of saying why."""

    before: Annotated[int, Field(ge=0)] = 0
    code: FailureCode = "ThrottlingException"
    message: str = "Scripted failure."
    cut: bool = False


class Reply(_Model):
    """One scripted reply.

    Parameters
    ----------
    text : str
        Sent word by word; a token is a word with the white space after it.
    tool_calls : list of ScriptedCall
        After the text.
    structured : dict, optional
        The object, sent in whichever way the request asks for one.
    waits : list of Wait
        Where the reply stops until told to go on.
    failure : Failure, optional
        Where it breaks.
    pause : float
        Seconds between tokens.
    stop_reason : str, optional
        What to finish with, when not the natural reason.
    """

    text: str = ""
    tool_calls: list[ScriptedCall] = []
    structured: dict[str, Any] | None = None
    waits: list[Wait] = []
    failure: Failure | None = None
    pause: Annotated[float, Field(ge=0, le=10)] = 0.0
    stop_reason: StopReason | None = None


class Script(_Model):
    """Replies for matching requests, used one after the other.

    Parameters
    ----------
    match : Match
        Which requests.
    replies : list of Reply
        In order; when they are used up the script fits no more, unless ``repeat`` is set, which repeats the last.
    """

    id: str = Field(default_factory=lambda: str(uuid4()))
    match: Match = Match()
    replies: Annotated[list[Reply], Field(min_length=1)]
    repeat: bool = False


class RecordedRequest(_Model):
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
            if contains is None or contains in "\n".join(_texts(record.body["messages"]))
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


def kind_of(request: ConverseRequest) -> RequestKind:
    """Tell what sort of request this is."""
    if request.wanted_object() is not None:
        return "object"
    return "answer" if request.tools else "text"


def _tokens(reply: Reply, request: ConverseRequest) -> list[Sequence[Part]]:
    tokens: list[Sequence[Part]] = [[TextDelta(word)] for word in words(reply.text)]
    if reply.structured is not None:
        tokens.extend(object_parts(reply.structured, request))
    tokens.extend(tool_call(call.name, call.arguments, call.tool_use_id) for call in reply.tool_calls)
    return tokens


def _everything_said(request: ConverseRequest) -> str:
    return "\n".join([request.system, *_texts(request.messages)])


def _texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for block in message["content"]:
            if "text" in block:
                found.append(block["text"])
            elif "toolResult" in block:
                found.extend(str(part.get("text", part.get("json", ""))) for part in block["toolResult"]["content"])
            elif "toolUse" in block:
                found.append(str(block["toolUse"]["input"]))
    return found
