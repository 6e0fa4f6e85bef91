"""The graph that runs after each turn: ``START → touchLastMessage → summarize → END``."""

from typing import Final

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from shared.graphs.background.nodes import Summarize, TouchLastMessage
from shared.graphs.background.state import BackgroundState
from shared.graphs.ids import BACKGROUND_AGENT
from shared.ports import Metrics, Threads
from shared.services.summarize_thread import SummarizeThread

TOUCH_LAST_MESSAGE: Final = "touchLastMessage"
SUMMARIZE: Final = "summarize"


def build(
    *, threads: Threads, service: SummarizeThread, metrics: Metrics
) -> CompiledStateGraph[BackgroundState, None, BackgroundState, BackgroundState]:
    """Build the background graph.

    It has no checkpointer: a run under the thread's id would write its checkpoints into the chat (HID-09).

    Parameters
    ----------
    threads : Threads
        For the time of the last message.
    service : SummarizeThread
        For the summary pass.
    metrics : Metrics
        Counts what fails quietly.

    Returns
    -------
    CompiledStateGraph
        Takes a ``BackgroundState`` and the envelope (``userId``, ``thread_id``) in ``configurable``.
    """
    graph = StateGraph(BackgroundState)
    graph.add_node(TOUCH_LAST_MESSAGE, TouchLastMessage(threads, metrics))  # pyright: ignore[reportUnknownMemberType]
    graph.add_node(SUMMARIZE, Summarize(service))  # pyright: ignore[reportUnknownMemberType]
    graph.add_edge(START, TOUCH_LAST_MESSAGE)
    graph.add_edge(TOUCH_LAST_MESSAGE, SUMMARIZE)
    graph.add_edge(SUMMARIZE, END)
    return graph.compile(checkpointer=False, name=BACKGROUND_AGENT)  # pyright: ignore[reportUnknownMemberType]
