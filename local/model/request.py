"""A Converse request as the sources see it, checked as Bedrock checks it.

What Bedrock refuses with a ``ValidationException`` is refused here too: a turn that works locally and is refused
in the cloud would make the local model worse than none.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_CACHE_POINTS = 4


class InvalidRequestError(ValueError):
    """Bedrock would answer this request with a ``ValidationException``."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call.

    Parameters
    ----------
    name, description : str
        As the product describes it.
    schema : mapping
        JSON schema of its input.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """One request of either Converse operation.

    Parameters
    ----------
    model_id : str
        From the path.
    body : mapping
        The JSON as it came.
    system : str
        The system blocks' text, joined by line breaks.
    messages : sequence of mapping
        ``role`` and ``content`` blocks, cache points dropped.
    tools : sequence of Tool
        What may be called.
    forced_tool : str or None
        The tool that must be called; set too when any must be and there is only one.
    must_call : bool
        Whether the answer has to be a tool call.
    output_schema : mapping or None
        The JSON schema the text must follow.
    """

    model_id: str
    body: Mapping[str, Any]
    system: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Tool] = ()
    forced_tool: str | None = None
    must_call: bool = False
    output_schema: Mapping[str, Any] | None = None

    def tool(self, name: str) -> Tool | None:
        """Give the offered tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def wanted_object(self) -> Mapping[str, Any] | None:
        """Give the schema of the object that is asked for, by output format or by a forced tool."""
        if self.output_schema is not None:
            return self.output_schema
        tool = self.tool(self.forced_tool) if self.forced_tool else None
        return None if tool is None else tool.schema

    def last_user_text(self) -> str:
        """Give the text of the last user message that has any; tool results are no text."""
        for message in reversed(self.messages):
            if message["role"] == "user" and (text := text_of(message)):
                return text
        return ""

    def user_texts(self) -> list[str]:
        """Give the text of every user message that has any, oldest first."""
        return [text for message in self.messages if message["role"] == "user" and (text := text_of(message))]

    def pending_tool_results(self) -> list[tuple[str, Any]]:
        """Give name and content of the tool results that the last message brings; empty when it brings none."""
        names = {
            block["toolUse"]["toolUseId"]: block["toolUse"]["name"]
            for message in self.messages
            for block in message["content"]
            if "toolUse" in block
        }
        return [
            (names.get(block["toolResult"]["toolUseId"], ""), _result_content(block["toolResult"]))
            for block in self.messages[-1]["content"]
            if "toolResult" in block
        ]


def text_of(message: Mapping[str, Any]) -> str:
    """Give the text blocks of a message, joined by line breaks."""
    return "\n".join(block["text"] for block in message["content"] if "text" in block).strip()


def parse_request(model_id: str, body: object) -> ConverseRequest:
    """Read the body of a Converse or ConverseStream request.

    Raises
    ------
    InvalidRequestError
        When Bedrock would refuse it.
    """
    if not isinstance(body, dict):
        raise InvalidRequestError("The request body is no JSON object.")
    raw_messages: list[dict[str, Any]] = body.get("messages") or []
    system: list[dict[str, Any]] = body.get("system") or []
    tool_config: dict[str, Any] = body.get("toolConfig") or {}
    _check_cache_points(raw_messages, system, tool_config)
    messages = [_without_cache_points(message) for message in raw_messages]
    tools = _tools(tool_config)
    _check_messages(messages, has_tools=bool(tool_config))
    forced, must_call = _tool_choice(tool_config, tools)
    return ConverseRequest(
        model_id=model_id,
        body=body,
        system="\n".join(block["text"] for block in system if "text" in block),
        messages=messages,
        tools=tools,
        forced_tool=forced,
        must_call=must_call,
        output_schema=_output_schema(body),
    )


def _without_cache_points(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        raise InvalidRequestError("Each message needs a list of content blocks.")
    return {"role": message.get("role"), "content": [block for block in content if "cachePoint" not in block]}


def _check_cache_points(
    messages: Sequence[Mapping[str, Any]], system: Sequence[Mapping[str, Any]], tool_config: Mapping[str, Any]
) -> None:
    blocks = [*system, *(tool_config.get("tools") or [])]
    for message in messages:
        content = message.get("content")
        blocks.extend(content if isinstance(content, list) else [])
    if sum("cachePoint" in block for block in blocks) > MAX_CACHE_POINTS:
        raise InvalidRequestError(f"A maximum of {MAX_CACHE_POINTS} blocks with cachePoint may be provided.")


def _tools(tool_config: Mapping[str, Any]) -> tuple[Tool, ...]:
    if tool_config and not tool_config.get("tools"):
        raise InvalidRequestError("toolConfig.tools must have at least one tool.")
    specs = [tool["toolSpec"] for tool in tool_config.get("tools") or [] if "toolSpec" in tool]
    return tuple(Tool(spec["name"], spec.get("description", ""), spec["inputSchema"]["json"]) for spec in specs)


def _tool_choice(tool_config: Mapping[str, Any], tools: Sequence[Tool]) -> tuple[str | None, bool]:
    choice = tool_config.get("toolChoice") or {}
    if "tool" in choice:
        name = choice["tool"]["name"]
        if name not in {tool.name for tool in tools}:
            raise InvalidRequestError(f"toolChoice names {name}, which is no tool of this request.")
        return name, True
    if "any" in choice:
        return (tools[0].name if len(tools) == 1 else None), True
    return None, False


def _output_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    text_format = (body.get("outputConfig") or {}).get("textFormat") or {}
    if text_format.get("type") != "json_schema":
        return None
    try:
        schema = json.loads(text_format["structure"]["jsonSchema"]["schema"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequestError("The output format's schema is no JSON.") from error
    if not isinstance(schema, dict):
        raise InvalidRequestError("The output format's schema is no JSON object.")
    return schema


def _check_messages(messages: Sequence[Mapping[str, Any]], *, has_tools: bool) -> None:
    if not messages or messages[0]["role"] != "user":
        raise InvalidRequestError("A conversation must start with a user message.")
    open_calls: set[str] = set()
    previous = ""
    for message in messages:
        role = message["role"]
        if role not in ("user", "assistant"):
            raise InvalidRequestError(f"{role!r} is no role.")
        if role == previous:
            raise InvalidRequestError("Roles must alternate between user and assistant.")
        previous = role
        if not message["content"]:
            raise InvalidRequestError("The content of a message must not be empty.")
        open_calls = _check_blocks(message, open_calls, has_tools=has_tools)
    if messages[-1]["role"] == "assistant" and "toolUse" in messages[-1]["content"][-1]:
        raise InvalidRequestError("A tool call must be followed by its result.")


def _check_blocks(message: Mapping[str, Any], open_calls: set[str], *, has_tools: bool) -> set[str]:
    calls = {block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block}
    results = {block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block}
    if (calls or results) and not has_tools:
        raise InvalidRequestError("toolConfig must be given when toolUse or toolResult blocks are.")
    if any("text" in block and not block["text"].strip() for block in message["content"]):
        raise InvalidRequestError("The text of a content block must not be blank.")
    if message["role"] == "user" and results != open_calls:
        raise InvalidRequestError("The tool results do not fit the tool calls of the turn before.")
    return calls


def _result_content(result: Mapping[str, Any]) -> object:
    """Give what a tool said: its JSON where it is JSON, else its text."""
    parts: list[object] = []
    for block in result.get("content") or []:
        if "json" in block:
            parts.append(block["json"])
        elif "text" in block:
            parts.append(block["text"])
    if len(parts) != 1:
        return parts
    only = parts[0]
    if isinstance(only, str):
        try:
            return json.loads(only)
        except ValueError:
            return only
    return only
