"""What a source gives back, piece by piece, and how it fails."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol
from uuid import uuid4

from local.model.request import ConverseRequest

StopReason = Literal["end_turn", "tool_use", "max_tokens", "stop_sequence", "guardrail_intervened", "content_filtered"]

FailureCode = Literal[
    "AccessDeniedException",
    "InternalServerException",
    "ModelErrorException",
    "ModelNotReadyException",
    "ModelStreamErrorException",
    "ModelTimeoutException",
    "ResourceNotFoundException",
    "ServiceUnavailableException",
    "ThrottlingException",
    "ValidationException",
]


class ModelFailure(Exception):  # noqa: N818 - an outcome that Bedrock names, not a fault of this program
    """The model refuses or breaks off; before the first part an HTTP error, later an exception frame.

    Parameters
    ----------
    code : str
        Bedrock's name of the error.
    message : str
        What the client is told.
    """

    def __init__(self, code: FailureCode, message: str) -> None:
        super().__init__(message)
        self.code: FailureCode = code
        self.message = message


class ConnectionCut(Exception):  # noqa: N818 - as above
    """The connection breaks without a word, as networks do."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUseStart:
    """A tool call begins; its input follows as :class:`ToolUseDelta` parts."""

    name: str
    tool_use_id: str


@dataclass(frozen=True, slots=True)
class ToolUseDelta:
    """A fragment of the JSON of the present tool call's input."""

    fragment: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as far as the source knows them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete. Must be the last part.

    Parameters
    ----------
    stop_reason : str
        Bedrock's word for why.
    usage : Usage or None
        ``None`` when the source does not count; the wire then estimates.
    """

    stop_reason: StopReason = "end_turn"
    usage: Usage | None = None


Part = TextDelta | ToolUseStart | ToolUseDelta | Finish


class Source(Protocol):
    """Something that answers Converse requests."""

    def reply(self, request: ConverseRequest) -> AsyncIterator[Part]:
        """Answer piece by piece, ending with one :class:`Finish`.

        Raises
        ------
        ModelFailure
            When there is no answer, or no more of it.
        """
        ...


def new_tool_use_id() -> str:
    """Make an id in the form Bedrock gives tool calls."""
    return f"tooluse_{uuid4().hex[:22]}"


def tool_call(name: str, arguments: dict[str, Any], tool_use_id: str | None = None) -> tuple[Part, ...]:
    """Give the parts of one complete tool call."""
    return (
        ToolUseStart(name, tool_use_id or new_tool_use_id()),
        ToolUseDelta(json.dumps(arguments, ensure_ascii=False)),
    )


def object_parts(structured: Mapping[str, Any], request: ConverseRequest) -> list[Sequence[Part]]:
    """Give an object in the way the request asks for one: as the forced tool's input or as JSON text."""
    if request.forced_tool is not None:
        return [tool_call(request.forced_tool, dict(structured))]
    return [[TextDelta(json.dumps(structured, ensure_ascii=False))]]


def words(text: str) -> list[str]:
    """Cut a text into words, each with the white space after it; joined they are the text."""
    return re.findall(r"\s*\S+\s*", text) if text.strip() else ([text] if text else [])
