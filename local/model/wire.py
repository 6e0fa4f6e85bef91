"""Parts of a reply as the two Converse operations answer them."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from local.model.eventstream import event_frame, exception_frame
from local.model.prompt_cache import PromptCache
from local.model.reply import FailureCode, Finish, ModelFailure, Part, TextDelta, ToolUseDelta, ToolUseStart
from local.model.request import ConverseRequest

STATUS_OF: Final[Mapping[FailureCode, int]] = {
    "AccessDeniedException": 403,
    "InternalServerException": 500,
    "ModelErrorException": 424,
    "ModelNotReadyException": 429,
    "ModelStreamErrorException": 424,
    "ModelTimeoutException": 408,
    "ResourceNotFoundException": 404,
    "ServiceUnavailableException": 503,
    "ThrottlingException": 429,
    "ValidationException": 400,
}

# The exceptions that the stream's own shape has; anything else arrives as a failed stream.
_IN_STREAM: Final = frozenset(
    {"InternalServerException", "ServiceUnavailableException", "ThrottlingException", "ValidationException"}
)


@dataclass(slots=True)
class Meter:
    """Counts one reply for its ``usage`` and ``metrics``."""

    request: ConverseRequest
    cache: PromptCache
    started: float = field(default_factory=monotonic)
    characters: int = 0

    def add(self, text: str) -> None:
        """Count output."""
        self.characters += len(text)

    def totals(self, finish: Finish) -> dict[str, Any]:
        """Give ``usage`` and ``metrics`` as Bedrock shapes them."""
        fresh, read, written = self.cache.count(self.request.model_id, self.request.body)
        output = -(-self.characters // 4)
        if finish.usage is not None:
            fresh, output = finish.usage.input_tokens, finish.usage.output_tokens
        return {
            "usage": {
                "inputTokens": fresh,
                "outputTokens": output,
                "totalTokens": fresh + read + written + output,
                "cacheReadInputTokens": read,
                "cacheWriteInputTokens": written,
            },
            "metrics": {"latencyMs": int((monotonic() - self.started) * 1000)},
        }


async def converse(parts: AsyncIterator[Part], meter: Meter) -> dict[str, Any]:
    """Collect a reply into the body of Converse."""
    content: list[dict[str, Any]] = []
    arguments = ""
    finish = Finish()

    def close_call() -> None:
        nonlocal arguments
        if content and "toolUse" in content[-1] and arguments:
            try:
                content[-1]["toolUse"]["input"] = json.loads(arguments)
            except ValueError as error:
                raise ModelFailure("ModelErrorException", "The model's tool call is no JSON.") from error
        arguments = ""

    async for part in parts:
        match part:
            case TextDelta(text):
                meter.add(text)
                close_call()
                if content and "text" in content[-1]:
                    content[-1]["text"] += text
                else:
                    content.append({"text": text})
            case ToolUseStart(name, tool_use_id):
                close_call()
                content.append({"toolUse": {"toolUseId": tool_use_id, "name": name, "input": {}}})
            case ToolUseDelta(fragment):
                meter.add(fragment)
                arguments += fragment
            case Finish():
                finish = part
    close_call()
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": finish.stop_reason,
        **meter.totals(finish),
    }


async def converse_stream(first: Part, rest: AsyncIterator[Part], meter: Meter) -> AsyncIterator[bytes]:
    """Give a reply as the frames of ConverseStream; a failure in the middle ends it with an exception frame."""
    frames = _Frames(meter)
    yield event_frame("messageStart", {"role": "assistant"})
    try:
        for frame in frames.of(first):
            yield frame
        async for part in rest:
            for frame in frames.of(part):
                yield frame
    except ModelFailure as failure:
        yield failure_frame(failure)


def failure_frame(failure: ModelFailure) -> bytes:
    """Give the exception frame of a failure."""
    if failure.code in _IN_STREAM:
        return exception_frame(failure.code[0].lower() + failure.code[1:], {"message": failure.message})
    return exception_frame(
        "modelStreamErrorException",
        {
            "message": failure.message,
            "originalStatusCode": STATUS_OF[failure.code],
            "originalMessage": failure.message,
        },
    )


class _Frames:
    """Keeps which content block is open. Bedrock starts tool calls explicitly and text blocks not."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._index = -1
        self._open: type[Part] | None = None

    def of(self, part: Part) -> list[bytes]:
        match part:
            case TextDelta(text):
                self._meter.add(text)
                frames = self._enter(TextDelta)
                frames.append(self._delta({"text": text}))
            case ToolUseStart(name, tool_use_id):
                frames = self._enter(ToolUseStart)
                start = {
                    "start": {"toolUse": {"toolUseId": tool_use_id, "name": name}},
                    "contentBlockIndex": self._index,
                }
                frames.append(event_frame("contentBlockStart", start))
            case ToolUseDelta(fragment):
                self._meter.add(fragment)
                frames = [self._delta({"toolUse": {"input": fragment}})]
            case Finish():
                frames = self._leave()
                frames.append(event_frame("messageStop", {"stopReason": part.stop_reason}))
                frames.append(event_frame("metadata", self._meter.totals(part)))
        return frames

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return event_frame("contentBlockDelta", {"delta": delta, "contentBlockIndex": self._index})

    def _enter(self, block: type[Part]) -> list[bytes]:
        if block is TextDelta and self._open is TextDelta:
            return []
        frames = self._leave()
        self._index += 1
        self._open = block
        return frames

    def _leave(self) -> list[bytes]:
        if self._open is None:
            return []
        self._open = None
        return [event_frame("contentBlockStop", {"contentBlockIndex": self._index})]
