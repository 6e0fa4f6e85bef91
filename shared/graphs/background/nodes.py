"""The two nodes of the background graph; both run after every turn."""

import logging
from typing import Any

from langchain_core.runnables import RunnableConfig

from shared.domain import counters
from shared.domain.errors import StoreError
from shared.graphs.agent.envelope import Envelope
from shared.graphs.background.state import BackgroundState
from shared.ports import Metrics, Threads
from shared.services.summarize_thread import SummarizeThread

_log = logging.getLogger(__name__)


class TouchLastMessage:
    """Moves the thread's last-message time forward, so that lists show the thread first.

    Parameters
    ----------
    threads : Threads
        The thread rows; a missing one is not made.
    metrics : Metrics
        Counts the touches that failed.
    """

    def __init__(self, threads: Threads, metrics: Metrics) -> None:
        self._threads = threads
        self._metrics = metrics

    async def __call__(self, state: BackgroundState, config: RunnableConfig) -> dict[str, Any]:
        """Touch the thread of the envelope; without one there is nothing to touch."""
        envelope = Envelope.of(config)
        if envelope.user is None or envelope.thread is None:
            return {}
        try:
            await self._threads.touch(envelope.user, envelope.thread, state["turn"].ended_at)
        except StoreError as error:
            # The order of a list is no reason to lose a summary.
            self._metrics.count(counters.TOUCH_FAILED)
            _log.warning("touch failed", extra={"thread_id": envelope.thread, "code": error.code})
        return {}


class Summarize:
    """Makes at most one summary pass. Writes to the store only.

    Parameters
    ----------
    service : SummarizeThread
        Does the pass.
    """

    def __init__(self, service: SummarizeThread) -> None:
        self._service = service

    async def __call__(self, state: BackgroundState, config: RunnableConfig) -> dict[str, Any]:
        """Summarise the thread of the envelope if turns are due; without user or thread, do nothing.

        Raises
        ------
        EventAheadOfCheckpointError, StoreError
            As the service; the delivery is then made again.
        """
        envelope = Envelope.of(config)
        if envelope.user is None or envelope.thread is None:
            return {}
        turn = state["turn"].model_copy(update={"user_id": envelope.user, "thread_id": envelope.thread})
        return {"outcome": await self._service.after(turn)}
