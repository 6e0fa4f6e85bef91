"""From a delivery of turn ends to summary passes."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from pydantic import ValidationError

from shared.adapters.observability import InvocationContext, code_of
from shared.domain import counters
from shared.domain.errors import EverthreadError, MalformedEventError, StoreError, ThreadNotFoundError
from shared.domain.events import DETAIL_TYPE, SOURCE, TurnEnded
from shared.domain.ids import thread_id_or_none, user_id_or_none
from shared.domain.spans import Trace
from shared.graphs.agent.envelope import Envelope
from shared.graphs.background.state import BackgroundState
from shared.graphs.spans import SpanRecorder
from shared.ports import Metrics, Threads
from shared.services.record_spans import KeepTraces

BackgroundGraph = CompiledStateGraph[BackgroundState, None, BackgroundState, BackgroundState]

_log = logging.getLogger(__name__)


# In all other cases the model was not asked, or what it said came too late for a thread that may be gone.
_PASSES: Final = frozenset({"written", "failed"})


def handler_of(
    graph: BackgroundGraph, metrics: Metrics, *, threads: Threads, traces: KeepTraces | None = None
) -> Callable[[object, InvocationContext], dict[str, list[str]]]:
    """Make the Lambda handler.

    Parameters
    ----------
    graph : CompiledStateGraph
        The background graph; run once for each turn end.
    metrics : Metrics
        Counts what cannot be understood.
    threads : Threads
        Says whether a thread lives: its purge does not come again for a trace that is written after it.
    traces : KeepTraces, optional
        Keeps what happened in passes.

    Returns
    -------
    callable
        Takes an EventBridge event, a JSON array of them, or the record of a failed delivery, which is how a dead
        letter is tried again. Every turn end in it is handled before the first failure is raised, so that one bad
        event holds nothing up. Raising is how the platform learns of it: Lambda delivers twice more and then keeps
        the event with the dead letters, malformed ones too. Nothing loops, nothing is dropped unseen.
    """

    def handle(delivery: object, _context: InvocationContext) -> dict[str, list[str]]:
        return asyncio.run(_handle(background, metrics, delivery))

    background = _Background(graph, threads, traces)
    return handle


@dataclass(frozen=True, slots=True)
class _Background:
    """The graph, and who keeps what happens in it."""

    graph: BackgroundGraph
    threads: Threads
    traces: KeepTraces | None

    async def after(self, turn: TurnEnded) -> str:
        """Run the graph for one turn end and give its outcome."""
        envelope = Envelope(user=turn.user_id, thread=turn.thread_id)
        config: RunnableConfig = {"configurable": envelope.configurable()}
        if self.traces is None:
            return _outcome(await self.graph.ainvoke({"turn": turn}, config))  # pyright: ignore[reportUnknownMemberType]
        recorder = SpanRecorder(self.traces.clock)
        outcome = _outcome(await self.graph.ainvoke({"turn": turn}, {**config, "callbacks": [recorder]}))  # pyright: ignore[reportUnknownMemberType]
        if outcome in _PASSES and await self._lives(turn):
            trace = Trace(
                run_id=turn.run_id,
                thread_id=turn.thread_id,
                origin="summary",
                message_id=turn.human_message_id,
                spans=recorder.spans(turn.run_id),
            )
            await self.traces.keep(turn.user_id, trace)
        return outcome

    async def _lives(self, turn: TurnEnded) -> bool:
        try:
            await self.threads.get(turn.user_id, turn.thread_id)
        except ThreadNotFoundError:
            return False
        except StoreError as error:
            # The pass itself is well.
            _log.warning("trace not written", extra={"code": error.code, "run_id": turn.run_id})
            return False
        return True


def _outcome(state: Mapping[str, Any]) -> str:
    return state.get("outcome", "quiet")


async def _handle(background: _Background, metrics: Metrics, delivery: object) -> dict[str, list[str]]:
    outcomes: list[str] = []
    failures: list[EverthreadError] = []
    for event in _events_in(delivery):
        try:
            outcomes.append(await background.after(_turn_end_of(event)))
        except EverthreadError as error:
            if isinstance(error, MalformedEventError):
                metrics.count(counters.EVENT_MALFORMED)
            _log.warning("turn end not handled", extra={"code": code_of(error)})
            failures.append(error)
    if failures:
        raise failures[0]
    return {"outcomes": outcomes}


def _events_in(delivery: object) -> Iterator[object]:
    if isinstance(delivery, list):
        for each in cast("list[object]", delivery):
            yield from _events_in(each)
    elif isinstance(delivery, Mapping) and "requestPayload" in delivery:
        yield from _events_in(cast("Mapping[str, object]", delivery)["requestPayload"])
    else:
        yield delivery


def _turn_end_of(event: object) -> TurnEnded:
    """Read one event.

    Raises
    ------
    MalformedEventError
        When it is no turn end, or names no legal user and thread. The message repeats nothing of it.
    """
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", event) if isinstance(event, Mapping) else {}
    if (fields.get("source"), fields.get("detail-type")) != (SOURCE, DETAIL_TYPE):
        raise MalformedEventError("The event is no turn end.")
    try:
        turn = TurnEnded.model_validate(fields.get("detail"))
    except ValidationError:
        raise MalformedEventError("The turn end does not fit its model.") from None
    if user_id_or_none(turn.user_id) is None or thread_id_or_none(turn.thread_id) != turn.thread_id:
        raise MalformedEventError("The turn end names no legal user and thread.")
    return turn
