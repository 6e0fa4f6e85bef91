"""The routes of assistants: there is one, the agent graph, under its name and its id."""

from typing import Annotated

from fastapi import Query, Response

from functions.chat.wiring import GRAPH_ID, InChat, User, json_reply
from shared.adapters.langgraph_api.assistants import assistant_object, fits_search, require_assistant
from shared.adapters.langgraph_api.bodies import AssistantSearch
from shared.graphs.description import drawing_of, schemas_of


async def search_assistants(body: AssistantSearch, _user: User) -> Response:
    """List the assistants that fit."""
    found = [assistant_object(GRAPH_ID)] if fits_search(GRAPH_ID, body) else []
    found = found[body.offset : body.offset + body.limit]
    if body.select is not None:
        found = [{field: assistant[field] for field in body.select} for assistant in found]
    return json_reply(found)


async def get_assistant(assistant_id: str, _user: User) -> Response:
    """Give an assistant."""
    require_assistant(assistant_id, GRAPH_ID)
    return json_reply(assistant_object(GRAPH_ID))


async def get_assistant_schemas(assistant_id: str, _user: User, chat: InChat) -> Response:
    """Give the JSON schemas of what the graph takes, gives and holds."""
    require_assistant(assistant_id, GRAPH_ID)
    return json_reply({"graph_id": GRAPH_ID, **schemas_of(chat.runner.graph)})


async def get_assistant_graph(
    assistant_id: str,
    _user: User,
    chat: InChat,
    xray: Annotated[bool | int, Query(description="Whether to show the agents' own graphs, or how deep.")] = False,
) -> Response:
    """Give the graph's nodes and edges."""
    require_assistant(assistant_id, GRAPH_ID)
    return json_reply(await drawing_of(chat.runner.graph, xray=xray))
