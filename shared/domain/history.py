"""The history a model call carries: the thread without what its summaries hold, within a budget, and valid.

The thread itself is never touched: clients and the checkpointer keep every message (TT01, TT09).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    trim_messages,  # pyright: ignore[reportUnknownVariableType] - of a splitter class that need not be installed
)

from shared.domain.content import CALL_PARTS, text_of
from shared.domain.turns import Turn, turns_of
from shared.domain.window import Coverage

NO_RESULT: Final = "This call was not finished; it has no result."
"""What stands for the result of a tool call that was cut off."""


def trim(
    messages: Sequence[AnyMessage],
    coverage: Coverage,
    *,
    buffer_turns: int,
    token_budget: int,
    count_tokens: Callable[[list[BaseMessage]], int],
) -> list[AnyMessage]:
    """Cut a thread to what one model call carries.

    First by turns: covered turns go, but for the last ``buffer_turns`` of them. Then by tokens, from the front, to
    a whole turn. Then what remains is made valid: it starts with a human message, every tool call is followed by
    its result, every result belongs to a call, and nothing empty is said by the model. The current turn always
    stays, whatever it costs.

    Parameters
    ----------
    messages : sequence of message
        The thread, oldest first. Neither it nor its messages are changed.
    coverage : Coverage
        Of this thread as it is now; ``NO_COVERAGE`` when the summaries could not be read.
    buffer_turns : int
        B of the seed: covered turns that are sent all the same, counted back from the end of the coverage.
    token_budget : int
        Tokens the result may have.
    count_tokens : callable
        Counts the tokens of a list of messages.

    Returns
    -------
    list of message
        Without system messages. A thread without a human message comes back whole but for those (TT07).
    """
    turns = turns_of(messages)
    if not turns:
        return [message for message in messages if not isinstance(message, SystemMessage)]
    kept = _within_budget(turns[_first_turn(len(turns), coverage, buffer_turns) :], token_budget, count_tokens)
    return list(_valid(kept))


def _first_turn(count: int, coverage: Coverage, buffer_turns: int) -> int:
    """Find the first turn that is sent: section 18, reading A, and at least the current turn (TT10)."""
    return min(max(0, coverage.end + 1 - buffer_turns), count - 1)


def _within_budget(
    turns: Sequence[Turn], token_budget: int, count_tokens: Callable[[list[BaseMessage]], int]
) -> list[AnyMessage]:
    kept = trim_messages(
        [message for turn in turns for message in turn.messages],
        max_tokens=token_budget,
        token_counter=count_tokens,
        strategy="last",
        start_on=HumanMessage,
    )
    # Nothing is left when the current turn alone is over the budget (ST2-16).
    return cast("list[AnyMessage]", kept) or list(turns[-1].messages)


def _valid(messages: Sequence[AnyMessage]) -> Iterator[AnyMessage]:
    results = _results(messages)
    for place, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            # An empty one stays: without it the answer would stand alone. The model's adapter fills it.
            yield message
        elif isinstance(message, AIMessage):
            said = _with_callable_calls(message)
            # Two human messages may follow each other: adapters join neighbours of one role.
            if said.tool_calls or text_of(said.content).strip():
                yield said
                for call in said.tool_calls:
                    yield results.get((place, call["id"])) or _unfinished(call)


def _results(messages: Sequence[AnyMessage]) -> Mapping[tuple[int, str | None], ToolMessage]:
    """Find the result of each call: by the place of the message that calls and the call's id.

    Ids may come again later in a thread, so a result belongs to the latest call before it. Of several results of
    one call the last counts. A result without a call is nobody's.
    """
    callers: dict[str | None, int] = {}
    results: dict[tuple[int, str | None], ToolMessage] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage):
            callers.update((call["id"], place) for call in message.tool_calls)
        elif isinstance(message, ToolMessage) and message.tool_call_id in callers:
            results[callers[message.tool_call_id], message.tool_call_id] = message
    return results


def _with_callable_calls(message: AIMessage) -> AIMessage:
    """Drop calls that no result can answer: those without an id, and those that broke off while being written."""
    calls = [call for call in message.tool_calls if call["id"]]
    content = message.content
    if not isinstance(content, str):
        ids = {call["id"] for call in calls}
        content = [part for part in content if not _is_call(part) or _call_id(part) in ids]
    if content == message.content and calls == message.tool_calls and not message.invalid_tool_calls:
        return message
    return message.model_copy(update={"content": content, "tool_calls": calls, "invalid_tool_calls": []})


def _is_call(part: str | dict[Any, Any]) -> bool:
    return isinstance(part, dict) and part.get("type") in CALL_PARTS


def _call_id(part: str | dict[Any, Any]) -> object:
    return part.get("id") if isinstance(part, dict) else None


def _unfinished(call: ToolCall) -> ToolMessage:
    return ToolMessage(NO_RESULT, name=call["name"], tool_call_id=call["id"] or "", status="error")
