"""The names of the graph that clients may run: each graph is one assistant, as on LangGraph's own server."""

from typing import Any, Final
from uuid import UUID, uuid5

from shared.domain.errors import InvalidInputError

# LangGraph's server makes assistant ids in this namespace, so that clients may know them beforehand.
_GRAPHS: Final = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

GRAPH_ID_KEY: Final = "graph_id"
ASSISTANT_ID_KEY: Final = "assistant_id"


def assistant_id_of(graph_id: str) -> str:
    """Give the id of a graph's assistant.

    Examples
    --------
    >>> assistant_id_of("agent")
    'fe096781-5601-53d2-b2f6-0d3403f7e9ca'
    """
    return str(uuid5(_GRAPHS, graph_id))


def assistant_metadata(graph_id: str) -> dict[str, Any]:
    """Give what LangGraph's server notes on every thread that a graph ran in; clients filter by it."""
    return {GRAPH_ID_KEY: graph_id, ASSISTANT_ID_KEY: assistant_id_of(graph_id)}


def check_assistant(named: str, graph_id: str) -> None:
    """Check that a client asks for the one graph there is, by name or by assistant id.

    Raises
    ------
    InvalidInputError
        When it asks for another.
    """
    if named not in (graph_id, assistant_id_of(graph_id)):
        raise InvalidInputError(f"assistant_id: there is no such assistant; there is '{graph_id}'.")
