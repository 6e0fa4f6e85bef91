# LangGraph's own signatures have type parameters that are left open.
# pyright: reportUnknownMemberType=false
"""What a graph looks like from outside: its schemas and its drawing."""

from typing import Any

from langgraph.graph.state import CompiledStateGraph
from pydantic import TypeAdapter

AnyGraph = CompiledStateGraph[Any, Any, Any, Any]


def schemas_of(graph: AnyGraph) -> dict[str, Any]:
    """Give the JSON schemas of what a graph takes, gives and holds; there is no configuration a client may set."""
    return {
        "input_schema": graph.get_input_jsonschema(),
        "output_schema": graph.get_output_jsonschema(),
        "state_schema": TypeAdapter(graph.builder.state_schema).json_schema(),
        "config_schema": None,
        "context_schema": graph.get_context_jsonschema(),
    }


async def drawing_of(graph: AnyGraph, *, xray: int | bool) -> dict[str, Any]:
    """Give a graph's nodes and edges.

    Parameters
    ----------
    graph : CompiledStateGraph
        The graph.
    xray : int or bool
        How deep to look into the graphs inside it; True is all the way.
    """
    return (await graph.aget_graph(xray=xray)).to_json()
