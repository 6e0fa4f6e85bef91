"""Runs of a small graph on in-memory ports."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from shared.domain.ids import RunId, ThreadId, UserId
from shared.domain.threads import ThreadRow
from shared.graphs.runs.request import RunRequest
from shared.graphs.runs.run import Run
from shared.graphs.runs.run_ports import RunPorts
from shared.graphs.runs.runner import GraphRunner, RunTiming, TakeIn
from shared.graphs.runs.stream import Ended, Failed, RunOutput, Streamed
from shared.services.recall import Recall
from shared.services.record_spans import KeepTraces
from tests.fakes.chat_model import ScriptedChatModel
from tests.fakes.clock import FixedClock
from tests.fakes.metrics import CountingMetrics
from tests.fakes.profiles import InMemoryProfiles
from tests.fakes.run_rows import InMemoryRuns
from tests.fakes.small_graph import TURN_END, small_graph
from tests.fakes.summaries import InMemorySummaries
from tests.fakes.threads import InMemoryThreads
from tests.fakes.traces import InMemoryTraces
from tests.fakes.turn_events import RecordingTurnEvents

USER = UserId("user-1")
OTHER = UserId("user-2")
MOMENT = timedelta(milliseconds=1)


class CountingSaver(InMemorySaver):
    """Counts reads and writes by namespace kind, and fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.failures: dict[str, Exception] = {}

    def _called(self, name: str, config: Any) -> None:
        self.calls[f"{name} {'sub' if config['configurable'].get('checkpoint_ns') else 'root'}"] += 1
        if name in self.failures:
            raise self.failures[name]

    async def aget_tuple(self, config: Any) -> Any:
        self._called("get", config)
        return await super().aget_tuple(config)

    async def aput(self, config: Any, *rest: Any) -> Any:
        self._called("put", config)
        return await super().aput(config, *rest)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        if "copy" in self.failures:
            raise self.failures["copy"]
        for namespace, checkpoints in list(self.storage[source_thread_id].items()):
            self.storage[target_thread_id][namespace] = dict(checkpoints)
        for kept in (self.writes, self.blobs):
            for key in [key for key in kept if key[0] == source_thread_id]:
                kept[target_thread_id, *key[1:]] = kept[key]

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.calls["delete_for_runs"] += 1
        for thread, namespaces in self.storage.items():
            for namespace, checkpoints in namespaces.items():
                of_runs = [
                    each
                    for each, (_, metadata, _) in checkpoints.items()
                    if self.serde.loads_typed(metadata).get("run_id") in run_ids
                ]
                for each in of_runs:
                    del checkpoints[each]
                    self.writes.pop((thread, namespace, each), None)


def new_thread_id() -> ThreadId:
    return ThreadId(str(uuid.uuid4()))


@dataclass
class Runs:
    """A runner, its ports, and shorthand for tests."""

    model: ScriptedChatModel = field(default_factory=ScriptedChatModel)
    make: Callable[[ScriptedChatModel], CompiledStateGraph[Any, Any, Any, Any]] = small_graph
    timing: RunTiming = field(
        default_factory=lambda: RunTiming(watch_every=MOMENT, look_every=MOMENT, wait=timedelta(0))
    )
    take_in: TakeIn | None = None

    def __post_init__(self) -> None:
        self.threads = InMemoryThreads()
        self.events = RecordingTurnEvents()
        self.clock = FixedClock()
        self.run_rows = InMemoryRuns(self.clock)
        self.traces = InMemoryTraces(self.clock)
        self.metrics = CountingMetrics()
        self.profiles = InMemoryProfiles()
        self.savers: dict[UserId, CountingSaver] = {}
        self.runner = GraphRunner(
            self.make(self.model),
            checkpointers=self.saver,
            recall=Recall(self.profiles, InMemorySummaries(self.threads), self.metrics),
            ports=RunPorts(
                threads=self.threads,
                runs=self.run_rows,
                turn_events=self.events,
                clock=self.clock,
                metrics=self.metrics,
                turn_end=TURN_END,
                traces=KeepTraces(self.traces, self.clock, self.metrics),
            ),
            timing=self.timing,
            take_in=self.take_in,
        )

    def saver(self, user: UserId = USER) -> CountingSaver:
        return self.savers.setdefault(user, CountingSaver())

    async def thread(self, user: UserId = USER) -> ThreadId:
        thread, now = new_thread_id(), self.clock.now()
        await self.threads.create(
            ThreadRow(user_id=user, thread_id=thread, created_at=now, updated_at=now, last_message_at=now)
        )
        return thread

    def request(self, thread: ThreadId, *texts: str, **options: Any) -> RunRequest:
        messages = [HumanMessage(text, id=f"id of {text}") for text in texts]
        return RunRequest(**{"user": USER, "thread": thread, "run": new_run_id(), "messages": messages, **options})

    async def start(self, thread: ThreadId, *texts: str, **options: Any) -> Run:
        return await self.runner.start(self.request(thread, *texts, **options))

    async def run(self, thread: ThreadId, *texts: str, **options: Any) -> "Outcome":
        return await outcome_of(await self.start(thread, *texts, **options))

    async def messages(self, thread: ThreadId, user: UserId = USER) -> list[AnyMessage]:
        return list((await self.state(thread, user)).values.get("messages", ()))

    async def texts(self, thread: ThreadId) -> list[str]:
        return [message.text for message in await self.messages(thread)]

    async def state(self, thread: ThreadId, user: UserId = USER) -> Any:
        return await self.runner.reading(user).aget_state({"configurable": {"thread_id": thread}})


@dataclass
class Outcome:
    """Everything that came out of a run."""

    outputs: Sequence[RunOutput]

    @property
    def status(self) -> str:
        (ended,) = [output for output in self.outputs if isinstance(output, Ended)]
        assert self.outputs[-1] == ended
        return ended.status

    @property
    def code(self) -> str | None:
        return next((output.code for output in self.outputs if isinstance(output, Failed)), None)

    def of(self, mode: str) -> list[Any]:
        return [output.data for output in self.outputs if isinstance(output, Streamed) and output.mode == mode]

    def tokens(self) -> list[str]:
        return [message.text for message, _ in self.of("messages") if message.text]


async def outcome_of(run: Run) -> Outcome:
    outcome = Outcome([output async for output in run.outputs()])
    await run.finished()
    return outcome


async def until(condition: Callable[[], bool]) -> None:
    """Let everything else go on until something is so."""
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)


def new_run_id() -> RunId:
    return RunId(str(uuid.uuid4()))
