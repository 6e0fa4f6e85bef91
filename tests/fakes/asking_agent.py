"""An agent of the product with a tool that asks the user: what a person in the loop is tried with."""

from dataclasses import replace
from typing import Any

from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from shared.graphs.agent.agents import all_agents
from shared.graphs.agent.nodes.trigger_background_agent import trigger_background_agent
from shared.graphs.agent.state import AgentState
from shared.graphs.agent.sub_agent import agent_node
from shared.graphs.agent.topology import TRIGGER_BACKGROUND_AGENT
from tests.fakes.agent_turns import Turns, chat_settings
from tests.fakes.chat_model import Say, ScriptedChatModel


def ask(*questions: str) -> Say:
    """An answer of the model that asks the user these questions, each in a tool call of its own."""
    return Say("Let me ask.", [("ask_the_user", {"question": question}) for question in questions])


def asking_agent(model: ScriptedChatModel) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build a graph of one agent, which may ask back."""

    @tool
    def ask_the_user(question: str) -> str:
        """Ask the user."""
        return f"The user says: {interrupt({'question': question})}"

    deps = Turns(chat=model, settings=chat_settings(agents=("chat",))).deps
    spec = replace(all_agents()["chat"], tools=lambda _deps: [ask_the_user])
    graph = StateGraph(AgentState)
    graph.add_node(spec.node, agent_node(spec, deps))
    graph.add_node(TRIGGER_BACKGROUND_AGENT, trigger_background_agent)
    graph.add_edge(START, spec.node)
    graph.add_edge(spec.node, TRIGGER_BACKGROUND_AGENT)
    graph.add_edge(TRIGGER_BACKGROUND_AGENT, END)
    return graph.compile()
