"""A run without a thread: the whole conversation comes with it, and nothing of it is kept."""

import asyncio
import logging
from typing import Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from shared.domain import counters
from shared.graphs.agent.envelope import THREAD_ID, Envelope
from shared.graphs.runs.failures import OUT_OF_TIME, failure_code
from shared.graphs.runs.graph_stream import Graph, GraphStream
from shared.graphs.runs.journal import Journal
from shared.graphs.runs.request import GraphRequest
from shared.graphs.runs.running import Running
from shared.graphs.runs.stream import Ended, Failed, RunOutput
from shared.ports import Metrics
from shared.services.turn_memory import TurnMemory

NO_THREAD: Final = "none"
"""No thread's id, as those are UUIDs: the graph takes it for none, and LangGraph needs one."""

_log = logging.getLogger(__name__)


class StatelessRun(Running):
    """Runs the graph once. The user's profile is recalled and may be written to, as in every run of theirs.

    Parameters
    ----------
    request : GraphRequest
        What was asked for.
    graph : CompiledStateGraph
        The graph, without a checkpointer.
    memory : TurnMemory
        Already being read.
    metrics : Metrics
        Counts failures.
    journal : Journal
        Hears of all outputs.
    """

    def __init__(
        self, request: GraphRequest, *, graph: Graph, memory: TurnMemory, metrics: Metrics, journal: Journal
    ) -> None:
        super().__init__(request.run)
        self._request = request
        self._memory = memory
        self._metrics = metrics
        self._journal = journal
        # Agents find their own state again by it, within the run.
        self._stream = GraphStream(graph.copy(update={"checkpointer": InMemorySaver()}), request)

    async def _drive(self) -> None:
        self._journal.begin(None, ())
        limit = self._request.time_limit
        try:
            async with asyncio.timeout(None if limit is None else limit.total_seconds()):
                async for output in self._stream.outputs(self._input(), self._config(), durability="exit"):
                    self._give(output)
        except TimeoutError:
            self._metrics.count(counters.RUN_FAILED)
            self._give(Failed(OUT_OF_TIME))
            self._give(Ended("timeout"))
        except Exception as error:  # noqa: BLE001 - a run ends in order, whatever went wrong
            code = failure_code(error)
            self._metrics.count(counters.RUN_FAILED)
            _log.error("run failed", extra={"run_id": self.id, "code": code}, exc_info=error)  # noqa: TRY400, RUF100
            self._give(Failed(code))
            self._give(Ended("error"))
        else:
            self._give(Ended("interrupted" if self._stream.interrupted else "success"))

    def _give(self, output: RunOutput) -> None:
        self._journal.write(output)
        self._outputs.put_nowait(output)

    def _input(self) -> dict[str, object]:
        return {"messages": list(self._request.messages)}

    def _config(self) -> RunnableConfig:
        request = self._request
        envelope = Envelope(user=request.user, account=request.account, memory=self._memory)
        return {
            "configurable": {**envelope.configurable(), THREAD_ID: NO_THREAD},
            "metadata": {**request.metadata, "run_id": request.run},
            "tags": list(request.tags),
            "recursion_limit": request.recursion_limit,
        }
