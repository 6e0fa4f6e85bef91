"""The names of the graph that clients may run: each graph is one assistant, as on LangGraph's own server."""

from typing import Any, Final
from uuid import UUID, uuid5

from shared.adapters.langgraph_api.bodies import AssistantSearch
from shared.domain.errors import InvalidInputError, NotFoundError

# LangGraph's server makes assistant ids in this namespace, so that clients may know them beforehand.
_GRAPHS: Final = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

GRAPH_ID_KEY: Final = "graph_id"
ASSISTANT_ID_KEY: Final = "assistant_id"

_METADATA: Final = {"created_by": "system"}
# Nobody made it, so it was always there.
_MADE_AT: Final = "1970-01-01T00:00:00+00:00"


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


def assistant_object(graph_id: str) -> dict[str, Any]:
    """Give an assistant as clients read it."""
    return {
        "assistant_id": assistant_id_of(graph_id),
        "graph_id": graph_id,
        "name": graph_id,
        "description": None,
        "config": {},
        "context": {},
        "metadata": _METADATA,
        "version": 1,
        "created_at": _MADE_AT,
        "updated_at": _MADE_AT,
    }


def fits_search(graph_id: str, asked: AssistantSearch) -> bool:
    """Say whether a graph's assistant is among those that a client looks for."""
    return (
        (asked.graph_id is None or asked.graph_id == graph_id)
        and (asked.name is None or asked.name.lower() in graph_id.lower())
        and all(_METADATA.get(key) == value for key, value in (asked.metadata or {}).items())
    )


def check_assistant(named: str, graph_id: str) -> None:
    """Check that a client asks for the one graph there is, by name or by assistant id.

    Raises
    ------
    InvalidInputError
        When it asks for another.
    """
    if not _is_named(named, graph_id):
        raise InvalidInputError(f"assistant_id: there is no such assistant; there is '{graph_id}'.")


def require_assistant(named: str, graph_id: str) -> None:
    """Find an assistant by the path of a request.

    Raises
    ------
    NotFoundError
        When there is none of this name or id.
    """
    if not _is_named(named, graph_id):
        raise NotFoundError(f"There is no such assistant; there is '{graph_id}'.")


def _is_named(named: str, graph_id: str) -> bool:
    return named in (graph_id, assistant_id_of(graph_id))
