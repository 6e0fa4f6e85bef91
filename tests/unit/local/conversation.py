"""Builds Converse requests the way the product sends them, and reads what a source answers."""

import json
from typing import Any

from local.model.reply import Finish, Source, TextDelta, ToolUseDelta, ToolUseStart
from local.model.request import parse_request

SAVE = {
    "name": "save_memory",
    "schema": {"type": "object", "properties": {"patches": {"type": "array"}}, "required": ["patches"]},
}
LOOKUP = {
    "name": "lookup_thread_messages",
    "schema": {"type": "object", "properties": {"refs": {"type": "array"}}, "required": ["refs"]},
}
WEATHER = {
    "name": "get_weather",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CRYPTO = {
    "name": "get_crypto_price",
    "schema": {"type": "object", "properties": {"coins": {"type": "array"}}, "required": ["coins"]},
}


def request(*said: Any, profile=None, earlier: str | None = None, system="Base.", tools=(SAVE, LOOKUP), **more):
    """A conversation: strings alternate between user and assistant; dicts are taken as messages."""
    blocks = [system]
    if profile:
        blocks.append(f"<memory>\n{json.dumps(profile, indent=2, ensure_ascii=False)}\n</memory>")
    if earlier:
        blocks.append(f"<earlier_conversation>\n{earlier}\n</earlier_conversation>")
    messages = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": [{"text": text}]}
        if isinstance(text, str)
        else text
        for number, text in enumerate(said)
    ]
    body: dict[str, Any] = {"system": [{"text": "\n\n".join(blocks)}], "messages": messages, **more}
    if tools:
        specs = [
            {"toolSpec": {"name": tool["name"], "description": "d", "inputSchema": {"json": tool["schema"]}}}
            for tool in tools
        ]
        body["toolConfig"] = {"tools": specs, **body.get("toolConfig", {})}
    return parse_request("model", body)


def called(name: str, arguments: dict[str, Any], result: Any) -> list[dict[str, Any]]:
    """The two messages of a tool call and its result."""
    text = result if isinstance(result, str) else json.dumps(result)
    return [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": name, "input": arguments}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": text}]}}]},
    ]


async def answer(source: Source, asked) -> tuple[str, list[tuple[str, Any]], str]:
    """Text, tool calls and stop reason of a reply."""
    text, calls, stop = "", [], ""
    async for part in source.reply(asked):
        match part:
            case TextDelta(piece):
                text += piece
            case ToolUseStart(name, _):
                calls.append([name, ""])
            case ToolUseDelta(fragment):
                calls[-1][1] += fragment
            case Finish(stop_reason):
                stop = stop_reason
    return text, [(name, json.loads(arguments)) for name, arguments in calls], stop
