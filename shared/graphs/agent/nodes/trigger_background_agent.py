"""The end of a turn."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.state import AgentState


def trigger_background_agent(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
    """Note that the turn has ended, which is what starts the background graph.

    It publishes nothing itself: the checkpoint of this turn is not stored yet, and whoever heard of the turn now
    would read the thread without it. The runner publishes once the graph has returned. Without a user or a thread
    there is nothing to do in the background.
    """
    envelope = Envelope.of(config)
    if envelope.mark is not None and envelope.user is not None and envelope.thread is not None:
        envelope.mark.set(state["messages"])
    return {}
