"""A source that asks an OpenAI-compatible server: Ollama, llama.cpp, vLLM and others.

Tools, structured output and streaming are passed through; nothing is emulated that the server cannot do.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import httpx

from local.loopback import require_loopback
from local.model.reply import (
    FailureCode,
    Finish,
    ModelFailure,
    Part,
    StopReason,
    TextDelta,
    ToolUseDelta,
    ToolUseStart,
    Usage,
    new_tool_use_id,
)
from local.model.request import ConverseRequest, Tool, text_of

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filtered",
}
_FAILURES: Final[Mapping[int, FailureCode]] = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    422: "ValidationException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
_DONE: Final = "[DONE]"


class OpenAISource:
    """Answers through ``/chat/completions`` of another server.

    Parameters
    ----------
    base_url : str
        For example ``http://127.0.0.1:11434/v1``.
    model : str
        The server's name of the model; the Bedrock id of the request is not used.
    api_key : str, optional
        Sent as bearer token when given.
    allow_remote : bool
        Whether the server may be on another machine.
    client : httpx.AsyncClient, optional
        For tests.

    Raises
    ------
    NotLoopbackError
        When the server is elsewhere and that was not allowed.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        allow_remote: bool = False,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._url = (base_url if allow_remote else require_loopback(base_url)).rstrip("/") + "/chat/completions"
        self._model = model
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        # A small machine may think for minutes before the first token.
        self._client = client or httpx.AsyncClient(timeout=httpx.Timeout(300, connect=5), trust_env=allow_remote)

    async def reply(self, request: ConverseRequest) -> AsyncIterator[Part]:
        """Answer as the server does. Raises ``ModelFailure`` in Bedrock's words for the server's errors."""
        body = chat_request(request, self._model)
        try:
            async with self._client.stream("POST", self._url, json=body, headers=self._headers) as response:
                if response.status_code >= 400:
                    await response.aread()
                    raise _failure(response)
                reading = _Reading()
                async for line in response.aiter_lines():
                    data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                    if data and data != _DONE:
                        for part in reading.parts_of(_parsed(data)):
                            yield part
                yield reading.finish()
        except httpx.ConnectError as error:
            raise ModelFailure("ServiceUnavailableException", f"No server answers at {self._url}.") from error
        except httpx.TimeoutException as error:
            raise ModelFailure("ModelTimeoutException", "The model server took too long.") from error
        except httpx.HTTPError as error:
            raise ModelFailure("ModelStreamErrorException", "The model server broke off.") from error


def chat_request(request: ConverseRequest, model: str) -> dict[str, Any]:
    """Translate a Converse request into the body of a streamed chat completion."""
    inference: Mapping[str, Any] = request.body.get("inferenceConfig") or {}
    body: dict[str, Any] = {
        "model": model,
        "messages": list(_messages(request)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    names = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
    body.update({theirs: inference[ours] for ours, theirs in names.items() if ours in inference})
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.forced_tool is not None:
            body["tool_choice"] = {"type": "function", "function": {"name": request.forced_tool}}
        elif request.must_call:
            body["tool_choice"] = "required"
    if request.output_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": request.output_schema, "strict": True},
        }
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }


def _messages(request: ConverseRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        if message["role"] == "assistant":
            yield _assistant(message)
        else:
            yield from _user(message)


def _assistant(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    made: dict[str, Any] = {"role": "assistant", "content": text_of(message) or None}
    if calls:
        made["tool_calls"] = [
            {
                "id": call["toolUseId"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["input"], ensure_ascii=False)},
            }
            for call in calls
        ]
    return made


def _user(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            yield {"role": "tool", "tool_call_id": result["toolUseId"], "content": _result_text(result["content"])}
    parts = [part for block in message["content"] if (part := _content_part(block)) is not None]
    if parts and all(part["type"] == "text" for part in parts):
        yield {"role": "user", "content": "\n".join(part["text"] for part in parts)}
    elif parts:
        yield {"role": "user", "content": parts}


def _content_part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    if "text" in block:
        return {"type": "text", "text": block["text"]}
    if "image" in block:
        image = block["image"]
        # On the wire, bytes are base64 already.
        return {
            "type": "image_url",
            "image_url": {"url": f"data:image/{image['format']};base64,{image['source']['bytes']}"},
        }
    return None


def _result_text(content: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        block["text"] if "text" in block else json.dumps(block.get("json"), ensure_ascii=False) for block in content
    )


def _parsed(data: str) -> Mapping[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise ModelFailure("ModelStreamErrorException", "The model server sent no JSON.") from error
    if "error" in chunk:
        raise ModelFailure("ModelStreamErrorException", str(chunk["error"]))
    return chunk


class _Reading:
    """Where a streamed completion stands."""

    def __init__(self) -> None:
        self._stop: StopReason = "end_turn"
        self._usage: Usage | None = None
        self._calls = -1
        self._called = False

    def parts_of(self, chunk: Mapping[str, Any]) -> Iterator[Part]:
        if usage := chunk.get("usage"):
            self._usage = Usage(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            if text := delta.get("content"):
                yield TextDelta(text)
            for call in delta.get("tool_calls") or []:
                yield from self._call(call)
            if reason := choice.get("finish_reason"):
                self._stop = _STOP_REASONS.get(reason, "end_turn")

    def _call(self, call: Mapping[str, Any]) -> Iterator[Part]:
        function = call.get("function") or {}
        index = call.get("index", self._calls + 1 if function.get("name") else self._calls)
        if index < self._calls:
            raise ModelFailure("ModelErrorException", "The model server mixed up two tool calls.")
        if index > self._calls:
            self._calls = index
            self._called = True
            yield ToolUseStart(function.get("name", ""), call.get("id") or new_tool_use_id())
        if fragment := function.get("arguments"):
            yield ToolUseDelta(fragment)

    def finish(self) -> Finish:
        # Some servers say "stop" after a tool call; Bedrock never does.
        return Finish("tool_use" if self._called and self._stop == "end_turn" else self._stop, self._usage)


def _failure(response: httpx.Response) -> ModelFailure:
    code: FailureCode = _FAILURES.get(response.status_code, "InternalServerException")
    return ModelFailure(code, f"The model server answers {response.status_code}: {response.text[:500]}")
