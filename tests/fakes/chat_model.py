"""A chat model that follows a script and keeps what it was asked."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr


@dataclass
class Say:
    """One answer, word by word.

    ``calls`` are tool calls as ``(name, args)``. ``before_token`` is awaited before each word, with its place.
    """

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    before_token: Callable[[int], Awaitable[Any]] | None = None


@dataclass
class Request:
    """What one call brought."""

    messages: list[BaseMessage]
    tools: list[str] = field(default_factory=list)

    @property
    def system(self) -> str:
        (message,) = [message for message in self.messages if isinstance(message, SystemMessage)]
        return message.text

    @property
    def history(self) -> list[BaseMessage]:
        return [message for message in self.messages if not isinstance(message, SystemMessage)]


def routed_to(agent: str) -> Say:
    """Give the structured answer of a router's model."""
    return Say(calls=[("Route", {"agent": agent})])


class ScriptedChatModel(BaseChatModel):
    """Answers with one step of the script after another: words, tool calls, or an error that is raised.

    A step may be a callable that makes one of the request. After the script it says "ok".
    """

    _script: list[Say | str | Exception | Callable[[Request], Say | str]] = PrivateAttr()
    _requests: list[Request] = PrivateAttr(default_factory=list)
    _calls: int = PrivateAttr(default=0)

    def __init__(self, *script: Say | str | Exception | Callable[[Request], Say | str]) -> None:
        super().__init__()
        self._script = list(script)

    @property
    def requests(self) -> list[Request]:
        return self._requests

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise AssertionError("the product is asynchronous")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chunks = [chunk async for chunk in self._astream(messages, stop, run_manager, **kwargs)]
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        message = AIMessage(content=whole.message.content, tool_calls=whole.message.tool_calls)
        return ChatResult(generations=[{"message": message}])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request = Request(list(messages), [tool["function"]["name"] for tool in kwargs.get("tools", [])])
        self._requests.append(request)
        step = self._script.pop(0) if self._script else "ok"
        if isinstance(step, Exception):
            raise step
        if callable(step):
            step = step(request)
        say = Say(step) if isinstance(step, str) else step
        for place, word in enumerate(re.findall(r"\s*\S+", say.text)):
            if say.before_token is not None:
                await say.before_token(place)
            yield ChatGenerationChunk(message=AIMessageChunk(word))
        calls = []
        for index, (name, args) in enumerate(say.calls):
            self._calls += 1
            calls.append({"name": name, "args": json.dumps(args), "id": f"call-{self._calls}", "index": index})
        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=calls))
