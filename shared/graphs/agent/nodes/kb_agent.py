# LangGraph's own signatures have type parameters that are left open.
# pyright: reportUnknownMemberType=false
"""The part of the knowledge base that runs in a chat: files of messages, before an agent sees them.

    START ─▶ prepare_kb_data ─▶ await_markdown ─▶ rewrite_messages ─▶ END

Parsing, OCR and embedding are the ingestion's (``functions/kb_ingest``); here they are only waited for, and of them
only what the answer needs: the text, not the vectors (row KB13).
"""

from collections.abc import Iterable
from typing import Any, Final

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from shared.domain.errors import MissingUserIdError
from shared.domain.ids import UserId
from shared.domain.kb.file_parts import Part, documents_in, marked, marked_in, waited_for, waits, with_parts
from shared.graphs.agent.deps import AgentDeps, Knowledge
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.state import AgentState, Node

PREPARE: Final = "prepare_kb_data"
AWAIT_MARKDOWN: Final = "await_markdown"
REWRITE: Final = "rewrite_messages"


def has_files(state: AgentState) -> bool:
    """Say whether a thread has files that were not handled; those that were are never sent here again (row KB17)."""
    return waits(state["messages"])


def kb_agent_node(deps: AgentDeps) -> Node[AgentState]:
    """Make the node of the agent graph: gives the messages with files as they stay in the thread."""
    graph = kb_agent(deps.knowledge)

    async def run(state: AgentState, config: RunnableConfig) -> dict[str, Any]:
        given = {"messages": [message for message in state["messages"] if waits([message])]}
        return {"messages": (await graph.ainvoke(given, config))["messages"]}

    return run


def kb_agent(knowledge: Knowledge) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph. It keeps no checkpoint: what comes in may hold the bytes of files, and all of it can be redone.

    Parameters
    ----------
    knowledge : Knowledge
        The services it calls.
    """

    async def prepare(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": await knowledge.files.take_in(_user(config), state["messages"])}

    async def await_markdown(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        await knowledge.wait.wait(_user(config), documents_in(state["messages"]))
        return {}

    async def rewrite(state: MessagesState) -> dict[str, Any]:
        return {"messages": [rewritten(message) for message in state["messages"]]}

    builder = StateGraph(MessagesState)
    builder.add_node(PREPARE, prepare)
    builder.add_node(AWAIT_MARKDOWN, await_markdown)
    builder.add_node(REWRITE, rewrite)
    builder.add_edge(START, PREPARE)
    builder.add_edge(PREPARE, AWAIT_MARKDOWN)
    builder.add_edge(AWAIT_MARKDOWN, REWRITE)
    builder.add_edge(REWRITE, END)
    return builder.compile(name="kb_agent", checkpointer=False)


def rewritten(message: AnyMessage) -> AnyMessage:
    """Give a message as it stays in the thread: each file marked with its document, the rest as it was (row KB16)."""
    there = marked_in(message)

    def instead(part: Part) -> Iterable[Part]:
        document = waited_for(part, there)
        return [part] if document is None or isinstance(part, str) else marked(part, document)

    return with_parts(message, instead)


def _user(config: RunnableConfig) -> UserId:
    user = Envelope.of(config).user
    if user is None:
        # Row KB01.
        raise MissingUserIdError("Nobody is signed in, so files cannot be taken in.")
    return user
