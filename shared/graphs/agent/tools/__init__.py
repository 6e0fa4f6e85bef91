"""The tools. Whose data a tool reaches is never an argument of it: identity comes from the envelope alone."""

from langchain_core.tools import BaseTool

from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.tools.list_documents import list_documents_tool
from shared.graphs.agent.tools.lookup_thread_messages import lookup_thread_messages_tool
from shared.graphs.agent.tools.save_memory import save_memory_tool
from shared.graphs.agent.tools.search_knowledge_base import search_knowledge_base_tool


def common_tools(deps: AgentDeps) -> list[BaseTool]:
    """Make the tools that every agent has. There is none that deletes: the user does that, in the memory page."""
    return [
        save_memory_tool(deps.remember, deps.metrics),
        lookup_thread_messages_tool(deps.lookup_turns, deps.recall),
        search_knowledge_base_tool(deps.knowledge),
        list_documents_tool(deps.knowledge),
    ]
