"""Which module builds which graph: what ``langgraph.json`` is on a server.

A builder is imported when it is asked for: a function that runs one graph does not pay for the others at cold start.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, cast

from langgraph.graph.state import CompiledStateGraph

from shared.graphs.ids import AGENT, BACKGROUND_AGENT, KB_AGENT

AnyGraph = CompiledStateGraph[Any, Any, Any, Any]

Builder = Callable[..., AnyGraph]
"""Takes what its graph is built from and gives the graph, without checkpointer and store."""

BUILDERS: Final[Mapping[str, str]] = {
    AGENT: "shared.graphs.agent.topology:build",
    BACKGROUND_AGENT: "shared.graphs.background.graph:build",
    KB_AGENT: "shared.graphs.knowledge.topology:build",
}
"""Where each graph's builder is: module and name."""


def builder(graph_id: str) -> Builder:
    """Give what builds a graph.

    Parameters
    ----------
    graph_id : str
        One of those in ``BUILDERS``.

    Raises
    ------
    KeyError
        When there is no such graph.
    """
    module, _, name = BUILDERS[graph_id].partition(":")
    return cast("Builder", getattr(import_module(module), name))
