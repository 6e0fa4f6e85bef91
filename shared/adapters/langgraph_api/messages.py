"""What clients say: messages in the shapes that LangChain, OpenAI and the stock clients send."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from shared.adapters.langgraph_api.files import file_fields, image_fields
from shared.domain.content import text_of
from shared.domain.errors import InvalidIdError, InvalidInputError
from shared.domain.ids import parse_document_id
from shared.domain.images import IMAGE_KINDS, MAX_IMAGES, encoded_image_fault
from shared.domain.kb.file_parts import bytes_part

_IN_THE_MESSAGE: Final = "data:"
# Longer ones are refused by whoever stores the file, with a reason that the user sees.
_FILE_NAME_CHARS: Final = 1_000


def _image_address(value: str) -> str:
    # Nothing is fetched from addresses that users give.
    kind, _, data = value.partition(";base64,")
    if not value.startswith(_IN_THE_MESSAGE) or kind.removeprefix(_IN_THE_MESSAGE) not in IMAGE_KINDS or not data:
        raise ValueError(f"an image is in the message itself: data:<kind>;base64,…, kinds: {', '.join(IMAGE_KINDS)}")
    fault = encoded_image_fault(data, kind.removeprefix(_IN_THE_MESSAGE))
    if fault is not None:
        raise ValueError(fault)
    return value


def _file_base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError("the data of a file is base64, and this is not") from None
    return value


def _document_id(value: str) -> str:
    try:
        return parse_document_id(value)
    except InvalidIdError as error:
        raise ValueError(str(error)) from None


MessageId = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class _Part(BaseModel):
    # Clients add fields of their own, such as "index" or "metadata"; they mean nothing to a model and are left out.
    model_config = ConfigDict(extra="ignore")


class TextPart(_Part):
    """A part that says something."""

    type: Literal["text"]
    text: str


class ImageAddress(_Part):
    """Where an image is: in the message itself."""

    url: Annotated[str, AfterValidator(_image_address)]


class ImageUrlPart(_Part):
    """An image as OpenAI's clients send it."""

    type: Literal["image_url"]
    image_url: ImageAddress


class ImagePart(_Part):
    """An image as LangChain's clients send it."""

    type: Literal["image"]
    base64: str
    mime_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

    @model_validator(mode="before")
    @classmethod
    def _in_one_shape(cls, given: Any) -> Any:  # noqa: ANN401 - JSON
        return image_fields(cast("dict[str, Any]", given)) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _is_an_image(self) -> Self:
        fault = encoded_image_fault(self.base64, self.mime_type)
        if fault is not None:
            raise ValueError(fault)
        return self


class FilePart(_Part):
    """A file in the message itself, in whichever of its shapes a client sends it, or one that was sent before.

    What was sent before is known by its document: it comes back with a conversation, or names an upload.
    """

    type: Literal["file"]
    filename: str = Field(default="", max_length=_FILE_NAME_CHARS)
    mime_type: str = Field(default="", max_length=200)
    base64: Annotated[str, AfterValidator(_file_base64)] | None = None
    file_id: Annotated[str, AfterValidator(_document_id)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_one_shape(cls, given: Any) -> Any:  # noqa: ANN401 - JSON
        return file_fields(cast("dict[str, Any]", given)) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if self.base64 is None and self.file_id is None:
            raise ValueError("a file has its data in the message, as base64; nothing is fetched from addresses")
        return self

    def part(self) -> dict[str, Any]:
        """Give the part as the graph knows it."""
        if self.base64 is not None:
            return bytes_part(self.filename, self.mime_type, self.base64)
        return {"type": "file", "file_id": self.file_id, "filename": self.filename, "mime_type": self.mime_type}


class KbRefPart(_Part):
    """What stands beside a file that was sent before. Whose document it is, is looked up whenever it is shown."""

    type: Literal["kb_ref"]
    docId: Annotated[str, AfterValidator(_document_id)]  # noqa: N815 - the part's own name for it
    attachmentId: str = Field(default="", max_length=200)  # noqa: N815 - as above


Part = Annotated[TextPart | ImageUrlPart | ImagePart | FilePart | KbRefPart, Field(discriminator="type")]


class _Message(BaseModel):
    # Clients send back what they were given, usage and response metadata included; that is not theirs to say.
    model_config = ConfigDict(extra="ignore")

    id: MessageId | None = None
    name: str | None = None


class FromHuman(_Message):
    """What the user says."""

    content: str | list[str | Part]

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if isinstance(self.content, str):
            texts = [self.content]
        else:
            texts = [
                part if isinstance(part, str) else getattr(part, "text", "an image or a file") for part in self.content
            ]
        if not any(text.strip() for text in texts):
            raise ValueError("a message of a user must hold something")
        if sum(isinstance(part, ImageUrlPart | ImagePart) for part in self.content) > MAX_IMAGES:
            raise ValueError(f"a message may hold {MAX_IMAGES} images")
        return self

    def message(self, new_id: Callable[[], str]) -> AnyMessage:
        """Give the message, with an id."""
        content: Any = self.content
        if not isinstance(self.content, str):
            content = [_kept(part) for part in self.content]
        return HumanMessage(content=content, id=self.id or new_id(), name=self.name)


def _kept(part: Any) -> Any:  # noqa: ANN401 - a string or one of the parts above
    if isinstance(part, str):
        return part
    return part.part() if isinstance(part, FilePart) else part.model_dump()


# What else an answer holds (thoughts, marks of the vendor) is nothing to go on from, and tool calls are a field.
Said = Annotated[str, BeforeValidator(lambda value: "" if value is None else text_of(value))]  # pyright: ignore[reportUnknownLambdaType]


class Call(BaseModel):
    """A tool call in an earlier answer."""

    model_config = ConfigDict(extra="ignore")

    name: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    args: dict[str, Any]
    id: MessageId
    type: Literal["tool_call"] = "tool_call"


class FromAssistant(_Message):
    """An earlier answer, as clients that keep the history themselves send it."""

    content: Said = ""
    tool_calls: list[Call] | None = None

    @model_validator(mode="after")
    def _calls_are_told_apart(self) -> Self:
        ids = [call.id for call in self.tool_calls or ()]
        if len(ids) > len(set(ids)):
            raise ValueError("two tool calls have one id")
        return self

    def message(self, _new_id: Callable[[], str]) -> AnyMessage:
        """Give the message."""
        calls: Any = [call.model_dump() for call in self.tool_calls or ()]
        return AIMessage(content=self.content, id=self.id, name=self.name, tool_calls=calls)


class FromTool(_Message):
    """A tool's result, as clients send it that run tools themselves."""

    content: Said = ""
    tool_call_id: MessageId
    status: Literal["success", "error"] = "success"

    def message(self, _new_id: Callable[[], str]) -> AnyMessage:
        """Give the message."""
        return ToolMessage(
            content=self.content, id=self.id, name=self.name, tool_call_id=self.tool_call_id, status=self.status
        )


class Removal(BaseModel):
    """Takes a message out of the thread."""

    model_config = ConfigDict(extra="ignore")

    id: MessageId

    def message(self, _new_id: Callable[[], str]) -> BaseMessage:
        """Give what LangGraph removes the message for."""
        return RemoveMessage(id=self.id)


_Kinds = Mapping[str, type[FromHuman | FromAssistant | FromTool | Removal]]

_KINDS: Final[_Kinds] = {
    "human": FromHuman,
    "user": FromHuman,
    "ai": FromAssistant,
    "assistant": FromAssistant,
    "tool": FromTool,
}
_CHANGES: Final[_Kinds] = {**_KINDS, "remove": Removal}


def messages_of(
    given: Sequence[dict[str, Any]], *, new_id: Callable[[], str], where: str = "input.messages"
) -> list[AnyMessage]:
    """Read the messages of a request.

    Parameters
    ----------
    given : sequence of dict
        As they stand in the body.
    new_id : callable
        Makes the id of a human message that has none; the id is the identity of its turn.
    where : str, optional
        Where they stand, for errors.

    Returns
    -------
    list of message
        The same, as LangChain knows them.

    Raises
    ------
    InvalidInputError
        Saying which message does not fit, and how. Nothing a message says is repeated.
    """
    return cast("list[AnyMessage]", _read(given, _KINDS, new_id, where))


def message_changes_of(given: Sequence[dict[str, Any]], *, new_id: Callable[[], str], where: str) -> list[BaseMessage]:
    """Read changes of a thread's messages: new ones, others in place of those with the same id, and removals.

    As :func:`messages_of`.
    """
    return _read(given, _CHANGES, new_id, where)


def _read(given: Sequence[dict[str, Any]], kinds: _Kinds, new_id: Callable[[], str], where: str) -> list[BaseMessage]:
    messages = [_message(one, kinds, f"{where}.{index}", new_id) for index, one in enumerate(given)]
    known: set[str] = set()
    for index, message in enumerate(messages):
        # LangGraph would put the second in the first one's place.
        if message.id in known:
            raise InvalidInputError(f"{where}.{index}.id: Another message of this request has the same id.")
        known.update([] if message.id is None else [message.id])
    return messages


def _message(given: dict[str, Any], kinds: _Kinds, where: str, new_id: Callable[[], str]) -> BaseMessage:
    named: object = given.get("type") or given.get("role")
    kind = kinds.get(named) if isinstance(named, str) else None
    if kind is None:
        raise InvalidInputError(f"{where}: A message has a 'type' or a 'role', one of: {', '.join(kinds)}.")
    try:
        return kind.model_validate(given).message(new_id)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        # Content fails both as a text and as a list of parts; the last of the problems furthest in is the one meant.
        problem = max(reversed(problems), key=lambda each: len(each["loc"]))
        fields = [str(part) for part in problem["loc"] if isinstance(part, int) or part.isidentifier()]
        raise InvalidInputError(f"{'.'.join([where, *fields])}: {problem['msg']}") from None
