"""Notes what happens in a graph's run, as LangChain's callbacks tell it: ids, times, counts, nothing that was said."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp

from shared.domain.errors import EverthreadError
from shared.domain.spans import Span, SpanKind, SpanStatus
from shared.ports import Clock

STOPPED: Final = "STOPPED"
"""The error of a step that its run did not wait for: it was cancelled, or out of time."""

MAX_SPANS: Final = 400
"""Of one run, which are one item of the database; what comes after is left out."""

Fact = str | int | float


class SpanRecorder(BaseCallbackHandler):
    """A callback handler for one run: a span for the graph, and for each node, model and tool that is called (OB01).

    It writes nothing, and does so little that it is called in line.

    Parameters
    ----------
    clock : Clock
        The time of day.
    """

    run_inline = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._own: dict[UUID, str] = {}
        # Of those too that are no span: the one that they are a part of.
        self._within: dict[UUID, str] = {}
        self._spans: dict[str, Span] = {}
        self._tasks: set[str] = set()

    def spans(self, run: str) -> Sequence[Span]:
        """Give what was noted so far, in the order in which it began; what has not ended was stopped.

        Parameters
        ----------
        run : str
            The run that it is of.
        """
        now = self._clock.now()
        stopped = {"status": SpanStatus.FAILED, "error": STOPPED, "ended_at": now}
        return [
            replace(span, run=run, **(stopped if span.status is SpanStatus.RUNNING else {}))
            for span in self._spans.values()
        ]

    # What LangChain calls

    def on_chain_start(
        self,
        serialized: Mapping[str, Any] | None,
        inputs: Any,  # noqa: ANN401 - the graph's own
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 - LangChain's own
    ) -> None:
        """Note a graph or a node; the runnables that they are made of are no steps of anybody's."""
        told = metadata or {}
        node, task = told.get("langgraph_node"), str(told.get("langgraph_checkpoint_ns"))
        if parent_run_id is None:
            self._begin(run_id, None, str(kwargs.get("name")), SpanKind.RUN)
        elif isinstance(node, str) and task not in self._tasks and not node.startswith("__"):
            self._tasks.add(task)
            self._begin(run_id, parent_run_id, node, SpanKind.NODE)
        elif parent_run_id in self._within:
            self._within[run_id] = self._within[parent_run_id]

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note that it ended."""
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note that it failed."""
        self._end(run_id, error=error)

    def on_chat_model_start(
        self,
        serialized: Mapping[str, Any] | None,
        messages: Sequence[Sequence[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Note a call of a model."""
        name = (metadata or {}).get("ls_model_name") or kwargs.get("name") or "model"
        self._begin(run_id, parent_run_id, str(name), SpanKind.MODEL, messages=sum(map(len, messages)))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note what it took and gave."""
        self._end(run_id, facts=_usage(response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note that it failed."""
        self._end(run_id, error=error)

    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Note a call of a tool."""
        name = (serialized or {}).get("name") or kwargs.get("name") or "tool"
        self._begin(run_id, parent_run_id, str(name), SpanKind.TOOL, characters=len(input_str))

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note how much it gave."""
        text = output.text if isinstance(output, BaseMessage) else str(output)
        self._end(run_id, facts={"given": len(text)})

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401
        """Note that it failed."""
        self._end(run_id, error=error)

    def _begin(self, run_id: UUID, parent: UUID | None, name: str, kind: SpanKind, **facts: Fact) -> None:
        inside = None if parent is None else self._within.get(parent)
        if len(self._spans) >= MAX_SPANS:
            return
        span_id = str(len(self._spans) + 1)
        self._own[run_id] = self._within[run_id] = span_id
        self._spans[span_id] = Span(
            id=span_id,
            run="",
            name=name,
            kind=kind,
            status=SpanStatus.RUNNING,
            started_at=self._clock.now(),
            parent=inside,
            facts=facts,
        )

    def _end(
        self, run_id: UUID, *, error: BaseException | None = None, facts: Mapping[str, Fact] | None = None
    ) -> None:
        span_id = self._own.get(run_id)
        if span_id is None:
            # What a step is made of has ended, not the step.
            return
        span = self._spans[span_id]
        if isinstance(error, GraphBubbleUp):
            # A person is asked, or another node goes on: no failure.
            error = None
        self._spans[span_id] = replace(
            span,
            status=SpanStatus.OK if error is None else SpanStatus.FAILED,
            ended_at=self._clock.now(),
            error="" if error is None else error.code if isinstance(error, EverthreadError) else type(error).__name__,
            facts={**span.facts, **(facts or {})},
        )


def _usage(response: LLMResult) -> dict[str, Fact]:
    """Give the tokens that a call took and gave, as far as the model says."""
    generation = response.generations[0][0] if response.generations and response.generations[0] else None
    message = generation.message if isinstance(generation, ChatGeneration) else None
    if not isinstance(message, AIMessage):
        return {}
    usage = message.usage_metadata
    facts: dict[str, Fact] = {"tool_calls": len(message.tool_calls)}
    if usage is not None:
        facts |= {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
        facts["cached_tokens"] = usage.get("input_token_details", {}).get("cache_read", 0) or 0
    return {name: fact for name, fact in facts.items() if fact}
