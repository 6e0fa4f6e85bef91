"""How LangGraph is told of a place in a thread."""

from typing import Any

from langchain_core.runnables import RunnableConfig

from shared.domain.ids import ThreadId


def config_of(thread: ThreadId, checkpoint_id: str | None = None, namespace: str = "") -> RunnableConfig:
    """Give the configuration that names a place in a thread.

    Parameters
    ----------
    thread : str
        The thread.
    checkpoint_id : str, optional
        The checkpoint; the newest by default.
    namespace : str, optional
        The subgraph; the thread itself by default.
    """
    place: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}
