"""What a test writes down for the scripted source: which requests, and what is answered.

Scripts are matched on what a request holds, so that tests and users that run at the same time do not take each
other's replies: a test puts a word of its own into its messages and matches on it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from local.model.reply import FailureCode, StopReason
from local.model.request import ConverseRequest

RequestKind = Literal["answer", "object", "text"]
"""``answer``: tools are offered and none is forced. ``object``: structured output. ``text``: neither."""


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Match(_Written):
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


class ScriptedCall(_Written):
    """A tool call of a scripted reply."""

    name: str
    arguments: dict[str, Any]
    tool_use_id: str | None = None


class Wait(_Written):
    """Stop before token ``before`` (0 is the first) until the gate is opened."""

    gate: str
    before: Annotated[int, Field(ge=0)] = 0


class Failure(_Written):
    """Fail before token ``before``; ``cut`` drops the connection instead of saying why."""

    before: Annotated[int, Field(ge=0)] = 0
    code: FailureCode = "ThrottlingException"
    message: str = "Scripted failure."
    cut: bool = False


class Reply(_Written):
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


class Script(_Written):
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


def kind_of(request: ConverseRequest) -> RequestKind:
    """Tell what sort of request this is."""
    if request.wanted_object() is not None:
        return "object"
    return "answer" if request.tools else "text"


def _everything_said(request: ConverseRequest) -> str:
    return "\n".join([request.system, *texts_of(request.messages)])


def texts_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give everything that messages say: texts, tool inputs, tool results."""
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
