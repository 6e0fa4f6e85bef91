"""Which tool the demo source calls for a message, and what it says once the tool has answered."""

import re
from collections.abc import Mapping
from typing import Any, Final

from local.model.demo.answers import is_answered
from local.model.demo.documents import (
    LIST,
    SEARCH,
    document_call,
    said_of_list,
    said_of_passages,
    without_documents,
)
from local.model.demo.statements import facts_in, forgotten_in, patches_for
from local.model.demo.view import profile_in
from local.model.demo.wording import phrase_from, plain, shortened
from local.model.request import ConverseRequest, Tool

SAVE_MEMORY: Final = "save_memory"
LOOKUP: Final = "lookup_thread_messages"

_REFS: Final = re.compile(r"#\d+(?:\s*-\s*#?\d+)?")
_FIRST: Final = re.compile(
    r"\bwhat (?:did|was)\b.*\b(?:first|at the beginning|at the start|initially)\b"
    r"|\bmy (?:very )?first (?:question|message)\b",
    re.IGNORECASE,
)
_WEATHER: Final = re.compile(
    r"\b(?:weather|forecast|temperature|rain|snow)\b.*?\b(?:in|at|for)\s+(?P<what>[\w][\w .'-]*)", re.IGNORECASE
)
_COIN: Final = re.compile(r"\b(?P<what>bitcoin|btc|ethereum|eth|solana|dogecoin|litecoin|cardano)\b", re.IGNORECASE)
_COIN_IDS: Final = {"btc": "bitcoin", "eth": "ethereum"}
_TURN_LIMIT = 300

Call = tuple[str, dict[str, Any]]


def call_for(request: ConverseRequest) -> Call | None:
    """Give the tool call the last user message asks for, as name and input; ``None`` when it asks for none."""
    said = request.last_user_text()
    text = without_documents(said)
    if request.tool(SAVE_MEMORY) is not None and (patches := _patches(text, profile_in(request))):
        return SAVE_MEMORY, {"patches": patches}
    if request.tool(LOOKUP) is not None and (refs := _refs(text)):
        return LOOKUP, {"refs": refs}
    if (outside := _outside_call(request, text)) is not None:
        return outside
    # What came with the message is before the model's eyes already.
    call = document_call(text, unanswered=not is_answered(request)) if text == said else None
    return call if call is not None and request.tool(call[0]) is not None else None


def _patches(text: str, profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys, _ = forgotten_in(text, profile)
    if keys:
        return [{"op": "remove", "path": f"/{key}"} for key in keys]
    return patches_for(facts_in(text), profile)


def _refs(text: str) -> list[str]:
    if found := _REFS.findall(text):
        return found
    return ["#1"] if _FIRST.search(text) else []


def _outside_call(request: ConverseRequest, text: str) -> Call | None:
    for tool in request.tools:
        name = tool.name.lower()
        if "weather" in name and (match := _WEATHER.search(text)):
            return tool.name, _arguments(tool, match.group("what").strip(" .?!'"))
        if any(word in name for word in ("crypto", "coin", "price")) and (match := _COIN.search(text)):
            coin = match.group("what").lower()
            return tool.name, _arguments(tool, _COIN_IDS.get(coin, coin))
    return None


def _arguments(tool: Tool, what: str) -> dict[str, Any]:
    """Fill the tool's required input with what was asked about, in the types its schema names."""
    properties: Mapping[str, Any] = tool.schema.get("properties", {})
    wanted = tool.schema.get("required") or list(properties)[:1]
    made: dict[str, Any] = {}
    for name in wanted:
        kind = properties.get(name, {})
        if kind.get("type") == "array":
            made[name] = [what]
        elif "enum" in kind:
            made[name] = kind["enum"][0]
        elif kind.get("type") in ("integer", "number"):
            made[name] = kind.get("minimum", 1)
        else:
            made[name] = what
    return made


def said_after(name: str, result: object, question: str = "") -> str:
    """Put a tool's result into words, as an answer to what was asked."""
    if not isinstance(result, Mapping) or result.get("ok") is False:
        return _refusal(name, result)
    if name == SAVE_MEMORY:
        return _after_save(result)
    if name == LOOKUP:
        return _after_lookup(result)
    if name == SEARCH:
        return said_of_passages(result, question)
    if name == LIST:
        return said_of_list(result)
    return f"The tool {name} answers: {_facts_of(result)}."


def _refusal(name: str, result: object) -> str:
    if isinstance(result, Mapping):
        reason = result.get("error") or result.get("message") or result.get("code") or "no reason given"
        reason = plain(reason)
    else:
        reason = plain(result)
    return f"That did not work: {name} says “{shortened(reason, _TURN_LIMIT)}”."


def _after_save(result: Mapping[str, Any]) -> str:
    sentences: list[str] = []
    for patch in result.get("patches", []):
        key = phrase_from(str(patch.get("key") or str(patch.get("path", "")).lstrip("/")))
        value, old = patch.get("value"), patch.get("oldValue")
        if patch.get("op") == "remove":
            sentences.append(f"Forgotten: your {key}.")
        elif isinstance(value, list):
            sentences.append(f"Noted under your {key}: {plain(value)}.")
        elif old is not None:
            sentences.append(f"Noted: your {key} is now {plain(value)}, no longer {plain(old)}.")
        else:
            sentences.append(f"Noted: your {key} is {plain(value)}.")
    return " ".join(sentences) or "There was nothing to change."


def _after_lookup(result: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for turn in result.get("turns", []):
        for message in turn.get("messages", []):
            who = "you said" if message.get("role") == "user" else "I answered"
            lines.append(f"In {turn.get('ref')} {who}: “{shortened(plain(message.get('content', '')), _TURN_LIMIT)}”")
    return "\n".join(lines) or "There is nothing to be found there."


def _facts_of(result: Mapping[str, Any]) -> str:
    shown = [
        f"{phrase_from(str(key))}: {plain(value)}"
        for key, value in result.items()
        if key != "ok" and not isinstance(value, (list, dict))
    ]
    nested = [_facts_of(value) for value in result.values() if isinstance(value, Mapping) and value]
    return shortened(", ".join([*shown, *nested]), 600)
