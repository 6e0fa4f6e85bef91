"""How the input of a model call is laid out, with cache points for models that read a known prefix from cache.

A prefix is read from cache when an earlier request had a cache point at its end. The points stand where the next
request will have the same prefix: after the agent's own prompt, which all users share; after the last block, which
changes when something is saved or summarised; and in the history, after what the previous call ended with (there it
was written) and after what this one ends with (there the next one finds it). Bedrock takes four in a request.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from shared.adapters.bedrock.model_ids import foundation_model, takes_cache_points, takes_cache_points_after_tools
from shared.domain.prompt import PromptBlocks

CACHE_POINT: Final = {"cachePoint": {"type": "default"}}

Arrange = Callable[[PromptBlocks, Sequence[AnyMessage]], list[BaseMessage]]
"""Makes a model's input of the system message's blocks and the history: exactly one system message, then these."""


def arrangement(model_id: str, *, foundation_model_id: str | None = None) -> Arrange:
    """Give the layout that suits a model.

    Parameters
    ----------
    model_id, foundation_model_id : str
        As for :func:`shared.adapters.bedrock.chat_models.chat_model`.
    """
    model = foundation_model_id or foundation_model(model_id)
    if not takes_cache_points(model):
        return plain
    after_tools = takes_cache_points_after_tools(model)
    return lambda blocks, history: with_cache_points(blocks, history, after_tools=after_tools)


def plain(blocks: PromptBlocks, history: Sequence[AnyMessage]) -> list[BaseMessage]:
    """Lay out without cache points: the system message is one text."""
    return [SystemMessage(blocks.text), *history]


def with_cache_points(
    blocks: PromptBlocks, history: Sequence[AnyMessage], *, after_tools: bool = True
) -> list[BaseMessage]:
    """Lay out with cache points; the texts, read one after the other, are those of :func:`plain`.

    Parameters
    ----------
    blocks : PromptBlocks
        The parts of the system message.
    history : sequence of message
        Stays as it is; messages that get a point are copied.
    after_tools : bool
        Whether a point may stand after a tool's result.
    """
    kinds = (HumanMessage, ToolMessage) if after_tools else (HumanMessage,)
    places = {place for place in _ends_of_calls(history) if isinstance(history[place], kinds)}
    return [
        SystemMessage(_system(blocks)),
        *(_with_point(message) if place in places else message for place, message in enumerate(history)),
    ]


def _system(blocks: PromptBlocks) -> list[str | dict[Any, Any]]:
    content: list[str | dict[Any, Any]] = [_text(blocks.base), CACHE_POINT]
    if blocks.known:
        content += [*(_text(f"\n\n{block}") for block in blocks.known), CACHE_POINT]
    return content


def _ends_of_calls(history: Sequence[AnyMessage]) -> list[int]:
    """Find what this call and the previous one end with: the last message, and the one before the last answer."""
    answers = [place for place, message in enumerate(history) if isinstance(message, AIMessage)]
    ends = [len(history) - 1, *(place - 1 for place in answers[-1:])]
    return [place for place in ends if place >= 0]


def _with_point(message: AnyMessage) -> AnyMessage:
    content = [_text(message.content)] if isinstance(message.content, str) else message.content
    return message.model_copy(update={"content": [*content, CACHE_POINT]})


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
