"""What a run does, as the events that AG-UI clients read."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core.version import PROTOCOL_VERSION
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, ToolMessage

from shared.adapters.agui.messages import shown_messages
from shared.adapters.langgraph_api.json_encoding import encode
from shared.adapters.langgraph_api.run_errors import error_data
from shared.adapters.langgraph_api.sse import on_one_line
from shared.domain.content import text_of
from shared.domain.kb.citations import CITATIONS

GRAPH_MODES: Final = frozenset({"messages", "updates", "values"})
"""LangGraph's stream modes that the events are made of."""

_INTERRUPT: Final = "__interrupt__"
_REASON: Final = "langgraph:interrupt"


def sse_of(event: BaseEvent) -> bytes:
    """Give an event as a server-sent one."""
    return b"data: %b\n\n" % on_one_line(encode(event.model_dump(by_alias=True)))


class AguiEvents:
    """Tells one run.

    Parameters
    ----------
    thread, run : str
        As the client calls them.
    given : collection of str
        The ids of the messages that the client has.
    """

    def __init__(self, thread: str, run: str, given: Collection[str]) -> None:
        self._thread = thread
        self._run = run
        self._at_client = set(given)
        self._text: str | None = None
        # By their place in the message, as the pieces name it.
        self._calls: dict[int | str | None, str] = {}
        self._speaking: str | None = None
        self._was_cut = False
        self._interrupts: Sequence[Any] = ()
        self._messages: Sequence[AnyMessage] = ()

    def started(self) -> BaseEvent:
        """Give what every run begins with."""
        return RunStartedEvent(thread_id=self._thread, run_id=self._run, protocol_version=PROTOCOL_VERSION)

    def of(self, mode: str, data: Any) -> Iterator[BaseEvent]:  # noqa: ANN401 - LangGraph's own
        """Give the events for something that the graph streamed.

        Parameters
        ----------
        mode : str
            One of :data:`GRAPH_MODES`.
        data : object
            As LangGraph gives it.
        """
        match mode:
            case "messages":
                yield from self._message(data[0])
            case "values":
                self._messages = cast("Mapping[str, Any]", data).get("messages", ())
            case _:
                self._interrupts = data.get(_INTERRUPT, self._interrupts)

    def failed(self, code: str) -> Iterator[BaseEvent]:
        """Give what a run ends with that failed."""
        yield from self._close()
        data = error_data(code)
        yield RunErrorEvent(message=data["message"], code=data["error"])

    def ended(self, status: str) -> Iterator[BaseEvent]:
        """Give what a run ends with that did not fail.

        A client whose conversation is not the thread's is given that; to others it would only be repeated.
        """
        yield from self._close()
        shown = shown_messages(self._messages)
        if self._was_cut or {message.id for message in shown} != self._at_client:
            yield MessagesSnapshotEvent(messages=shown)
        if status == "success":
            outcome = RunFinishedSuccessOutcome()
        elif self._interrupts:
            outcome = RunFinishedInterruptOutcome(interrupts=[_interrupt(each) for each in self._interrupts])
        else:
            outcome = RunFinishedCancelledOutcome()
        yield RunFinishedEvent(thread_id=self._thread, run_id=self._run, outcome=outcome)

    def _message(self, message: BaseMessage) -> Iterator[BaseEvent]:
        ident = message.id
        if ident is None:
            return
        if ident != self._speaking:
            yield from self._close()
            if ident in self._at_client:
                # Two that speak at once cannot both be told; the end makes up for it.
                self._was_cut = self._was_cut or isinstance(message, AIMessageChunk)
                return
            self._speaking = ident
        match message:
            case AIMessageChunk():
                yield from self._said(ident, message.text)
                yield from self._called(ident, message)
                yield from _cited(ident, message)
            case AIMessage():
                yield from self._said(ident, message.text)
                for call in message.tool_calls:
                    yield from self._call(ident, call["id"], call["name"], call["id"])
                    arguments = encode(call["args"]).decode()
                    yield ToolCallArgsEvent(tool_call_id=call["id"] or "", delta=arguments)
                yield from _cited(ident, message)
                yield from self._close()
            case ToolMessage():
                content = text_of(message.content)
                yield ToolCallResultEvent(
                    message_id=ident, tool_call_id=message.tool_call_id, content=content, role="tool"
                )
                yield from self._close()
            case _:
                self._speaking = None

    def _said(self, ident: str, text: str) -> Iterator[BaseEvent]:
        if not text:
            return
        if self._text is None:
            self._text = ident
            yield TextMessageStartEvent(message_id=ident, role="assistant")
        yield TextMessageContentEvent(message_id=ident, delta=text)

    def _called(self, ident: str, message: AIMessageChunk) -> Iterator[BaseEvent]:
        for piece in message.tool_call_chunks:
            place = piece["index"]
            if place not in self._calls:
                yield from self._call(ident, place, piece["name"], piece["id"])
            if piece["args"]:
                yield ToolCallArgsEvent(tool_call_id=self._calls[place], delta=piece["args"])

    def _call(self, ident: str, place: int | str | None, name: str | None, call: str | None) -> Iterator[BaseEvent]:
        yield from self._close_text()
        self._calls[place] = call or ""
        yield ToolCallStartEvent(tool_call_id=call or "", tool_call_name=name or "", parent_message_id=ident)

    def _close_text(self) -> Iterator[BaseEvent]:
        if self._text is not None:
            yield TextMessageEndEvent(message_id=self._text)
            self._text = None

    def _close(self) -> Iterator[BaseEvent]:
        yield from self._close_text()
        for call in self._calls.values():
            yield ToolCallEndEvent(tool_call_id=call)
        self._calls.clear()
        if self._speaking is not None:
            self._at_client.add(self._speaking)
            self._speaking = None


def _cited(ident: str, message: AIMessage | AIMessageChunk) -> Iterator[BaseEvent]:
    """Give what an answer cites; the protocol's messages have no place for it."""
    if cited := message.additional_kwargs.get(CITATIONS):
        yield CustomEvent(name=CITATIONS, value={"messageId": ident, "citations": cited})


def _interrupt(asked: Any) -> Interrupt:  # noqa: ANN401 - LangGraph's Interrupt, which adapters do not import
    """Give an interrupt in the shape that the protocol's own adapter for LangGraph gives it."""
    value: object = asked.value
    fields = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else dict[str, object]()
    message = value if isinstance(value, str) else fields.get("message")
    call, schema = fields.get("tool_call_id"), fields.get("response_schema")
    return Interrupt(
        id=asked.id,
        reason=str(fields.get("reason") or _REASON),
        message=message if isinstance(message, str) else None,
        tool_call_id=call if isinstance(call, str) else None,
        response_schema=cast("dict[str, Any]", schema) if isinstance(schema, dict) else None,
        metadata={"langgraph": {"raw": value}},
    )
