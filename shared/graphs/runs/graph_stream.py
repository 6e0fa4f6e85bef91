"""One pass of a graph: gives out what was asked for, and keeps what the run itself must know."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from shared.domain.kb.citations import CITATIONS
from shared.graphs.runs.partial_answer import PartialAnswer
from shared.graphs.runs.request import Durability, GraphRequest
from shared.graphs.runs.state_messages import messages_in
from shared.graphs.runs.stream import Streamed

Graph = CompiledStateGraph[Any, Any, Any, Any]
GraphInput = Any
"""A state's change, a command, or nothing: LangGraph's own kinds."""
Part = tuple[tuple[str, ...], str, Any]

# What a run needs for itself, whatever the client asks for: the state, interrupts, and tokens for a partial answer.
_OWN_MODES: Final = frozenset({"values", "updates", "messages", "custom"})
# A client sees tokens and notices of the agents as the graph's own; agents are subgraphs only by our choice.
_SEEN_THROUGH: Final = frozenset({"messages", "custom"})
_EVENTS: Final = "events"
_INTERRUPT: Final = "__interrupt__"


class GraphStream:
    """Runs a graph once.

    Parameters
    ----------
    graph : CompiledStateGraph
        The graph, with a checkpointer.
    request : GraphRequest
        What to give out, and where to stop.

    Attributes
    ----------
    values
        The graph's state as it was streamed last.
    interrupted
        Whether the graph stopped for a person.
    partial
        What was said, for an answer that is stopped.
    """

    def __init__(self, graph: Graph, request: GraphRequest) -> None:
        self._graph = graph
        self._request = request
        self.values: Mapping[str, Any] = {}
        self.interrupted = False
        self.partial = PartialAnswer()
        self._told: dict[str | None, Any] = {}

    @property
    def messages(self) -> Sequence[AnyMessage]:
        """The messages of ``values``."""
        return messages_in(self.values)

    async def outputs(
        self,
        graph_input: GraphInput,
        config: RunnableConfig,
        *,
        durability: Durability,
    ) -> AsyncIterator[Streamed]:
        """Run the graph and give what was asked for."""
        request = self._request
        async for namespace, mode, data in self._parts(graph_input, config, durability):
            self._note(namespace, mode, data)
            if mode in request.modes and (request.subgraphs or not namespace or mode in _SEEN_THROUGH):
                yield Streamed(mode, data, namespace if request.subgraphs else ())
            if mode == "updates" and "messages" in request.modes:
                for piece in self._citations(data):
                    yield Streamed("messages", piece, namespace if request.subgraphs else ())

    def _citations(self, updates: Any) -> Iterator[tuple[AIMessageChunk, Any]]:  # noqa: ANN401 - LangGraph's own
        """Give the last piece of an answer that was streamed: what it cites is known once it is whole."""
        for update in cast("Mapping[str, Any]", updates).values():
            messages = cast("Mapping[str, Any]", update).get("messages", ()) if isinstance(update, Mapping) else ()
            for message in cast("Sequence[AnyMessage]", messages if isinstance(messages, list) else ()):
                cited = message.additional_kwargs.get(CITATIONS) if isinstance(message, AIMessage) else None
                if cited and message.id in self._told:
                    piece = AIMessageChunk(content="", id=message.id, additional_kwargs={CITATIONS: cited})
                    yield piece, self._told.pop(message.id)

    async def _parts(
        self,
        graph_input: GraphInput,
        config: RunnableConfig,
        durability: Durability,
    ) -> AsyncIterator[Part]:
        request = self._request
        options: dict[str, Any] = {
            "stream_mode": sorted((_OWN_MODES | request.modes) - {_EVENTS}),
            "interrupt_before": _nodes(request.interrupt_before),
            "interrupt_after": _nodes(request.interrupt_after),
            "durability": durability,
            "subgraphs": True,
        }
        if _EVENTS not in request.modes:
            async for part in self._graph.astream(graph_input, config, **options):  # pyright: ignore[reportUnknownMemberType]
                yield cast("Part", part)
            return
        # LangChain's events hold what the graph streams as the events of the run itself.
        named: RunnableConfig = {**config, "run_id": UUID(request.run)}
        async for event in self._graph.astream_events(graph_input, named, version="v2", **options):  # pyright: ignore[reportUnknownMemberType]
            if event["event"] == "on_chain_stream" and event["run_id"] == request.run:
                yield cast("Part", event["data"].get("chunk"))
            else:
                yield (), _EVENTS, event

    def _note(self, namespace: tuple[str, ...], mode: str, data: Any) -> None:  # noqa: ANN401 - LangGraph's own
        if mode == "messages":
            self.partial.add(data[0])
            self._told[data[0].id] = data[1]
        elif not namespace and mode == "values":
            self.values = data
        elif not namespace and mode == "updates" and _INTERRUPT in data:
            self.interrupted = True


def _nodes(nodes: Sequence[str] | str) -> Any:  # noqa: ANN401 - LangGraph takes a list, "*" or nothing
    return "*" if nodes == "*" else list(nodes) or None
