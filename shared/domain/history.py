"""The history a model call carries: the thread without what its summaries hold, within a budget, and valid.

The thread itself is never touched: clients and the checkpointer keep every message (TT01, TT09).
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
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

from shared.domain.content import CALL_PARTS, is_attachment, text_of
from shared.domain.kb.file_parts import names_document
from shared.domain.turns import Turn, turns_of
from shared.domain.window import Coverage

NO_RESULT: Final = "This call was not finished; it has no result."
"""What stands for the result of a tool call that was cut off."""

LEFT_OUT: Final = "left out, as this message was never answered; the user can send it again"
"""Why an image of an earlier turn is not there."""

_LEGAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_MAX_CHARS: Final = 64


def trim(
    messages: Sequence[AnyMessage],
    coverage: Coverage,
    *,
    buffer_turns: int,
    token_budget: int,
    count_tokens: Callable[[list[BaseMessage]], int],
    asked: Collection[str | None] = (),
) -> list[AnyMessage]:
    """Cut a thread to what one model call carries.

    First by turns: covered turns go, but for the last ``buffer_turns`` of them. Then by tokens, from the front, to
    a whole turn. Then what remains is made valid: it starts with a human message, every tool call is followed by
    its result, every result belongs to a call, and nothing empty is said by the model. The current turn always
    stays, whatever it costs.

    Images of earlier turns that the model never answered are left out, for the model may have refused them
    and would do so for ever. Ids and names of tool calls are such as Bedrock takes, whoever made them.

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
    asked : collection of str, optional
        Ids of the human messages that are answered now, beside the last.

    Returns
    -------
    list of message
        Without system messages. A thread without a human message comes back whole but for those (TT07).
    """
    turns = turns_of(messages)
    if not turns:
        return [message for message in messages if not isinstance(message, SystemMessage)]
    current = turns[-1].message_id
    sent = [
        turn if turn.message_id in (current, *asked) else _without_refusable(turn)
        for turn in turns[_first_turn(len(turns), coverage, buffer_turns) :]
    ]
    return list(_valid(_within_budget(sent, token_budget, count_tokens)))


def told_plainly(history: Sequence[AnyMessage], *, asked: Collection[str | None] = ()) -> list[AnyMessage]:
    """Give a history without anything in its earlier turns that a model may refuse.

    For a model that has refused the history as it is. Whatever the matter was, it must not stand in the way of every
    later turn: of the earlier turns only those that were answered are told, and only what was said in them.

    Parameters
    ----------
    history : sequence of message
        As :func:`trim` gives it.
    asked : collection of str, optional
        As there.
    """
    turns = turns_of(history)
    now = next((turn.index for turn in turns if turn.message_id in asked and not _has_reply(turn)), len(turns) - 1)
    plain: list[AnyMessage] = []
    for turn in turns[:now]:
        human, *replies = turn.messages
        said = [
            AIMessage(text, id=reply.id) for reply in replies if isinstance(reply, AIMessage) and (text := _text(reply))
        ]
        if said and _text(human):
            plain += [HumanMessage(_text(human), id=human.id), *said]
    return [*plain, *(message for turn in turns[now:] for message in turn.messages)]


def _text(message: BaseMessage) -> str:
    return text_of(message.content).strip()


def _has_reply(turn: Turn) -> bool:
    return any(isinstance(message, AIMessage) for message in turn.messages)


def _without_refusable(turn: Turn) -> Turn:
    """Leave out of a turn that was never answered what the model may have refused."""
    human = turn.messages[0]
    content = human.content
    if _has_reply(turn) or not isinstance(content, list) or not any(map(_may_be_refused, content)):
        return turn
    parts = [
        {"type": "text", "text": f"{text_of([part])} ({LEFT_OUT})"} if _may_be_refused(part) else part
        for part in content
    ]
    return replace(turn, messages=(human.model_copy(update={"content": parts}), *turn.messages[1:]))


def _may_be_refused(part: object) -> bool:
    # Of a file that has become a document the text is shown, and that is not left out.
    return is_attachment(part) and not names_document(part)


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
    given: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, HumanMessage):
            # An empty one stays: without it the answer would stand alone. The model's adapter fills it.
            yield _without_blank_parts(message)
        elif isinstance(message, AIMessage):
            said = _with_callable_calls(message)
            # Two human messages may follow each other: adapters join neighbours of one role.
            if said.tool_calls or text_of(said.content).strip():
                legal = _with_legal_calls(said, given)
                yield legal
                for call, sent in zip(said.tool_calls, legal.tool_calls, strict=True):
                    yield _result_of(sent, results.get((place, call["id"])))


def _without_blank_parts(message: HumanMessage) -> HumanMessage:
    """Drop empty parts, which a model does not take beside others."""
    if not isinstance(message.content, list):
        return message
    kept = [part for part in message.content if not _is_blank(part)]
    return message if kept == message.content else message.model_copy(update={"content": kept or ""})


def _is_blank(part: str | dict[Any, Any]) -> bool:
    said: object = part if isinstance(part, str) else part.get("text") if part.get("type") == "text" else part
    return isinstance(said, str) and not said.strip()


def _with_legal_calls(message: AIMessage, given: set[str]) -> AIMessage:
    """Give a message's calls ids and names that Bedrock takes, and no id twice; ``given`` are those so far."""
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        ident = _legal_id(call["id"] or "", given)
        given.add(ident)
        calls.append({**call, "id": ident, "name": _legal_name(call["name"])})
    if calls == message.tool_calls:
        return message
    # The parts of the content that stand for calls are made from these by the model's adapter.
    content: Any = message.content
    if isinstance(content, list):
        content = [part for part in cast("list[str | dict[Any, Any]]", content) if not _is_call(part)]
    return message.model_copy(update={"content": content, "tool_calls": calls})


def _legal_id(ident: str, given: set[str]) -> str:
    # Made of the id alone where that is possible, so that the next request has the same and is read from cache.
    legal = ident if _LEGAL_ID.fullmatch(ident) else f"call_{_digest(ident)}"
    again = 0
    while legal in given:
        again += 1
        legal = f"call_{_digest(ident)}_{again}"
    return legal


def _digest(ident: str) -> str:
    return sha256(ident.encode(errors="replace")).hexdigest()[:24]


def _legal_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)[:_NAME_MAX_CHARS] or "tool"


def _result_of(call: ToolCall, result: ToolMessage | None) -> ToolMessage:
    if result is None:
        return _unfinished(call)
    if result.tool_call_id == call["id"]:
        return result
    return result.model_copy(update={"tool_call_id": call["id"]})


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
    """Drop calls that no result can answer: those without an id of their own, and those that broke off half-way."""
    calls = list({call["id"]: call for call in reversed(message.tool_calls) if call["id"]}.values())[::-1]
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
