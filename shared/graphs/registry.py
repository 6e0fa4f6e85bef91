"""Which module builds which graph: what ``langgraph.json`` is on a server.

A builder is imported when it is asked for: a function that runs one graph does not pay for the others at cold start.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from langgraph.graph.state import CompiledStateGraph

from shared.graphs.ids import AGENT, BACKGROUND_AGENT, KB_AGENT

AnyGraph = CompiledStateGraph[Any, Any, Any, Any]

Builder = Callable[[Any], AnyGraph]
"""Takes what the graph is built from, a type of its own package, and gives the graph without checkpointer and store."""

PACKAGES: Final[Mapping[str, str]] = {
    AGENT: "shared.graphs.agent",
    BACKGROUND_AGENT: "shared.graphs.background",
    KB_AGENT: "shared.graphs.knowledge",
}
"""The package of each graph; it has a function ``build``."""


def builder(graph_id: str) -> Builder:
    """Give what builds a graph.

    Parameters
    ----------
    graph_id : str
        One of ``shared.graphs.ids.GRAPH_IDS``.

    Raises
    ------
    KeyError
        When there is no such graph.
    """
    return cast("Builder", import_module(PACKAGES[graph_id]).build)
