"""The smallest graph with what a run must cope with: an agent as a subgraph, and a last node that marks the turn."""

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from shared.graphs.agent.envelope import Envelope
from tests.fakes.chat_model import ScriptedChatModel

AGENT = "chat_agent"
TURN_END = "trigger_background_agent"


def small_graph(model: ScriptedChatModel) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Answer with the model; a question that holds "confirm" asks the human first."""

    async def call_model(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    async def confirm(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        if isinstance(last, HumanMessage) and "confirm" in last.text:
            return {"messages": [AIMessage(f"You said: {interrupt({'question': 'sure?'})}")]}
        return {}

    async def end(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        mark = Envelope.of(config).mark
        if mark is not None:
            mark.set(state["messages"])
        return {}

    agent = StateGraph(MessagesState)
    agent.add_node("model", call_model)
    agent.add_edge(START, "model")
    agent.add_edge("model", END)

    graph = StateGraph(MessagesState)
    graph.add_node("confirm", confirm)
    graph.add_node(AGENT, agent.compile())
    graph.add_node(TURN_END, end)
    graph.add_edge(START, "confirm")
    graph.add_edge("confirm", AGENT)
    graph.add_edge(AGENT, TURN_END)
    graph.add_edge(TURN_END, END)
    return graph.compile()
