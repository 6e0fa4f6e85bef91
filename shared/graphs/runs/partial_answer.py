"""What is kept of an answer that was stopped half-way."""

from collections.abc import Collection
from typing import Final, cast

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, ToolMessage

from shared.domain.storable import fitted_message

CANCELLED_MARK: Final = {"cancelled": True}
"""Stands in the ``response_metadata`` of an answer that was stopped."""


class PartialAnswer:
    """Collects the messages of a run as they are streamed.

    A graph that is stopped in the middle of a step loses that step, and an agent with its tools is one step. What the
    user saw of it is kept from here.
    """

    def __init__(self) -> None:
        self._messages: dict[str, BaseMessage] = {}

    def add(self, message: BaseMessage) -> None:
        """Take a streamed message, or the next part of one."""
        if message.id is None:
            return
        so_far = self._messages.get(message.id)
        if isinstance(message, AIMessageChunk) and isinstance(so_far, AIMessageChunk):
            self._messages[message.id] = so_far + message
        else:
            self._messages[message.id] = message

    def messages(self, *, known: Collection[str | None]) -> list[AnyMessage]:
        """Give what to keep, in order: finished tool calls with their results, and all text. The last is marked.

        Parameters
        ----------
        known : collection of str
            Ids of messages that the thread has already.

        Returns
        -------
        list of message
            Empty when nothing was said. Thoughts and tool calls without a result are left out: a model cannot go on
            from half of either.
        """
        results = {
            message.tool_call_id: message for message in self._messages.values() if isinstance(message, ToolMessage)
        }
        kept: list[AnyMessage] = []
        for message in self._messages.values():
            if not isinstance(message, AIMessage) or message.id in known:
                continue
            finished = message.tool_calls and all(call["id"] in results for call in message.tool_calls)
            text = message.text
            if finished:
                calls = message.tool_calls
                kept.append(_storable(AIMessage(id=message.id, content=text, tool_calls=calls)))
                kept.extend(results[str(call["id"])] for call in calls)
            elif text:
                kept.append(_storable(AIMessage(id=message.id, content=text)))
        if kept and isinstance(kept[-1], AIMessage):
            kept[-1] = kept[-1].model_copy(update={"response_metadata": dict(CANCELLED_MARK)})
        return kept


def _storable(message: AIMessage) -> AIMessage:
    return cast("AIMessage", fitted_message(message))
