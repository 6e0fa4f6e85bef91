"""Structured answers: the summary of a transcript, the router's decision, and any other object by its schema."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from local.model.demo.wording import shortened
from local.model.request import ConverseRequest

_QUESTION_LIMIT = 200
_ANSWER_LIMIT = 400
_KEYWORDS: Final[Mapping[str, str]] = {
    "weather": r"\b(?:weather|forecast|temperature|rain|snow|sunny|umbrella)\b",
    "crypto": r"\b(?:crypto|bitcoin|btc|ethereum|eth|coin|token price|solana|dogecoin)\b",
    "code": r"\b(?:code|python|javascript|typescript|function|bug|regex|sql|compile|stack trace)\b",
}
_GREETING: Final = re.compile(r"(?:hi|hello|hey|thanks|thank you|bye|goodbye|ok|okay)[\s!.]*", re.IGNORECASE)


def structured_answer(request: ConverseRequest) -> dict[str, Any]:
    """Make the object that the request's schema asks for."""
    schema = request.wanted_object() or {}
    if "entries" in schema.get("properties", {}):
        return {"entries": summary_entries(request.last_user_text())}
    made = _made(schema, schema, request.last_user_text())
    return made if isinstance(made, dict) else {}


def summary_entries(transcript: str) -> list[dict[str, Any]]:
    """Extract one entry per turn of a JSONL transcript; greetings join the turn after them.

    Each line holds the turn's label (``id`` or ``ref``, for example ``#4``) and its ``messages``.
    """
    entries: list[dict[str, Any]] = []
    waiting: list[str] = []
    for label, messages in _turns(transcript):
        question = next((_said(message) for message in messages if message.get("role") == "user"), "")
        answers = [said for message in messages if message.get("role") == "assistant" and (said := _said(message))]
        if not question or (_GREETING.fullmatch(question.strip()) and not _tools_used(messages)):
            waiting.append(label)
            continue
        refs = [*waiting, label]
        waiting = []
        answer = shortened(answers[-1], _ANSWER_LIMIT) if answers else "No answer was given."
        tools = _tools_used(messages)
        if tools:
            answer = f"{answer} (tools used: {', '.join(tools)})"
        entries.append({"question": shortened(question, _QUESTION_LIMIT), "answer": answer, "refs": refs})
    if waiting and entries:
        entries[-1]["refs"].extend(waiting)
    elif waiting:
        entries.append({"question": "Greetings.", "answer": "The user and the assistant greeted.", "refs": waiting})
    return entries


def _turns(transcript: str) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for line in transcript.splitlines():
        try:
            turn = json.loads(line)
        except ValueError:
            continue
        if isinstance(turn, dict) and isinstance(turn.get("messages"), list):
            label = str(turn.get("id") or turn.get("ref") or "")
            if label:
                yield (label if label.startswith("#") else f"#{label}"), turn["messages"]


def _said(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content.strip() if isinstance(content, str) else ""


def _tools_used(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for message in messages:
        calls = message.get("tool_calls") or message.get("toolCalls") or []
        for call in calls:
            if isinstance(call, Mapping) and isinstance(call.get("name"), str):
                names[call["name"]] = None
    return list(names)


def _made(schema: Mapping[str, Any], root: Mapping[str, Any], text: str) -> object:
    """Make the plainest value that a schema allows; a choice is made by the words of the text."""
    if "$ref" in schema:
        return _made(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, text)
    for alternative in schema.get("anyOf") or schema.get("oneOf") or []:
        return _made(alternative, root, text)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return _chosen(schema["enum"], text)
    match schema.get("type"):
        case "object":
            return {name: _made(part, root, text) for name, part in schema.get("properties", {}).items()}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return shortened(text, 100)


def _chosen(options: Sequence[Any], text: str) -> object:
    for option, words in _KEYWORDS.items():
        named = next((value for value in options if isinstance(value, str) and option in value.lower()), None)
        if named is not None and re.search(words, text, re.IGNORECASE):
            return named
    return next((value for value in options if isinstance(value, str) and "chat" in value.lower()), options[0])
