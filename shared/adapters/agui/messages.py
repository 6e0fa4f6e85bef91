"""Messages as AG-UI has them, and as the product has them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from ag_ui.core import (
    AssistantMessage,
    DataSource,
    DocumentPart,
    FunctionCall,
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    UserMessage,
)
from ag_ui.core import ToolMessage as ToolResult
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from shared.adapters.langgraph_api.messages import messages_of
from shared.domain.content import text_of
from shared.domain.errors import InvalidInputError
from shared.domain.kb.file_parts import FILE, Part, parts_of, plain_name, referred_to, with_parts

_NOT_SAID: Final = frozenset({"reasoning", "activity"})
"""What clients keep of a run beside the conversation, and send back with it."""


def read_messages(given: Sequence[Message], *, new_id: Callable[[], str]) -> list[AnyMessage]:
    """Read a conversation as a client sends it.

    Parameters
    ----------
    given : sequence of Message
        All of it, as clients resend it.
    new_id : callable
        Makes an id where a client left it empty.

    Raises
    ------
    InvalidInputError
        When a message cannot be used, saying why.
    """
    said = [message for message in given if message.role not in _NOT_SAID]
    return messages_of([_as_sent(message) for message in said], new_id=new_id, where="messages")


def with_todays_parts(body: object) -> object:
    """Give a request whose files are written as the protocol has them since its version 1.

    Clients of earlier versions send every file as a ``binary`` part; the protocol's models know that no more.
    """
    return _each(body, "messages", lambda message: _each(message, "content", _todays_part))


def _each(value: object, field: str, change: Callable[[object], object]) -> object:
    """Change each member of the list that stands in a field, where there is one."""
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, object]", value)
    members = fields.get(field)
    if not isinstance(members, list):
        return fields
    return {**fields, field: [change(member) for member in cast("list[object]", members)]}


def _todays_part(part: object) -> object:
    match part:
        case {"type": "binary", "mimeType": str(kind), "data": str(data)}:
            source = {"type": "data", "value": data, "mimeType": kind}
        case {"type": "binary", "mimeType": str(kind), "url": str(address)}:
            source = {"type": "url", "value": address, "mimeType": kind}
        case _:
            return part
    if kind.startswith("image/"):
        return {"type": "image", "source": source}
    name = cast("Mapping[str, object]", part).get("filename")
    return {"type": "document", "source": source, "metadata": {"filename": name}}


def _as_sent(message: Message) -> dict[str, Any]:
    """Give a message in the shape that the product's other routes read."""
    shape: dict[str, Any] = {"role": message.role, "id": message.id or None}
    match message:
        case UserMessage():
            return {**shape, "name": message.name, "content": _content(message.content)}
        case AssistantMessage():
            calls = [_call(call) for call in message.tool_calls or ()]
            return {**shape, "name": message.name, "content": message.content, "tool_calls": calls}
        case ToolResult():
            status = "success" if message.error is None else "error"
            content = _content(message.content) or message.error
            return {**shape, "content": content, "tool_call_id": message.tool_call_id, "status": status}
        case _:
            raise InvalidInputError(f"messages: The role '{message.role}' is not supported: the prompt is the agent's.")


def _content(content: Any) -> str | list[dict[str, Any]]:  # noqa: ANN401 - a union of the protocol's
    if isinstance(content, str):
        return content
    return [_part(part) for part in content]


def _part(part: object) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ImagePart(source=DataSource() as source):
            return {"type": "image", "base64": source.value, "mime_type": source.mime_type}
        case DocumentPart(source=DataSource() as source, metadata=metadata):
            # The name, if there is one, is in there.
            return {"type": "file", "base64": source.value, "mime_type": source.mime_type, "metadata": metadata}
        case _:
            raise InvalidInputError(
                "messages: Of parts, texts are taken, and images and documents that are in the message itself."
            )


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        args = json.loads(call.function.arguments or "{}")
    except ValueError:
        args = None
    if not isinstance(args, dict):
        raise InvalidInputError("messages: The arguments of a tool call are a JSON object.")
    return {"id": call.id, "name": call.function.name, "args": args}


def shown_messages(messages: Sequence[AnyMessage]) -> list[Message]:
    """Give a thread's messages as clients show them, without those that are no part of the conversation."""
    return [shown for message in messages if (shown := _shown(message)) is not None]


def _shown(message: AnyMessage) -> Message | None:
    ident = message.id or ""
    match message:
        case HumanMessage():
            return UserMessage(id=ident, name=message.name, content=_shown_content(message))
        case AIMessage():
            calls = [
                ToolCall(
                    id=call["id"] or "", function=FunctionCall(name=call["name"], arguments=json.dumps(call["args"]))
                )
                for call in message.tool_calls
            ]
            return AssistantMessage(id=ident, name=message.name, content=message.text, tool_calls=calls or None)
        case ToolMessage():
            content = text_of(message.content)
            error = content if message.status == "error" else None
            return ToolResult(id=ident, content=content, tool_call_id=message.tool_call_id, error=error)
        case _:
            return None


def _shown_content(message: HumanMessage) -> str | list[Any]:
    content: object = message.content
    if not isinstance(content, list):
        return text_of(content)
    shown = [_shown_part(part) for part in cast("list[object]", content)]
    # What stands beside a file says nothing to a person.
    return [part for part in shown if not (isinstance(part, TextPart) and not part.text)]


def _shown_part(part: object) -> TextPart | ImagePart:
    match part:
        case {"type": "image", "base64": str(data), "mime_type": str(kind)}:
            return ImagePart(source=DataSource(value=data, mime_type=kind))
        case {"type": "image_url", "image_url": {"url": str(address)}}:
            kind, _, data = address.partition(";base64,")
            return ImagePart(source=DataSource(value=data, mime_type=kind.removeprefix("data:")))
        case {"type": str(kind), "filename": str(name)} if kind == FILE:
            # What marks it is the model's.
            return TextPart(text=text_of([{"type": FILE, "filename": plain_name(name)}]))
        case _:
            return TextPart(text=text_of([part]))


def with_files_of(stored: HumanMessage, sent: HumanMessage) -> HumanMessage:
    """Give a message that a client sends again with the files of which it was shown only the names.

    Parameters
    ----------
    stored : HumanMessage
        As the thread has it.
    sent : HumanMessage
        As it came: where it has what :func:`shown_messages` gave of a file, the file is in the result.
    """
    files: dict[str, list[list[Part]]] = {}
    last: list[Part] = []
    for part in parts_of(stored):
        match part:
            case {"type": str(kind)} if kind == FILE:
                last = [part]
                files.setdefault(text_of([_as_read(part)]), []).append(last)
            case _ if referred_to(part) is not None:
                # It stands behind its file.
                last.append(part)
            case _:
                last = []

    def in_full(part: Part) -> list[Part]:
        left = files.get(text_of([part]))
        return left.pop(0) if left else [part]

    return cast("HumanMessage", with_parts(sent, in_full))


def _as_read(part: object) -> dict[str, Any]:
    return _part(_shown_part(part))
