# LangGraph's own signatures have type parameters that are left open.
# pyright: reportUnknownMemberType=false
"""How the nodes of the agent graph hang together.

    START ─┬──────────────▶ router ─┬▶ one agent ─────▶ trigger_background_agent ─▶ END
           └▶ kb_agent ─▶───┘       ├▶ rename_thread ──▶ END
                                    └▶ shorten_thread ─▶ END        only in threads that are kept short by losing turns

A turn goes through kb_agent only when it brings files. With one agent enabled there is no router. Rename stands beside
the agents, not beside the router: a step of a graph ends when its slowest node does, and nobody's answer shall wait
for a title.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from shared.domain.threads import DESTRUCTIVE_POLICIES
from shared.graphs.agent.agents import DEFAULT_AGENT, enabled_agents
from shared.graphs.agent.deps import AgentDeps
from shared.graphs.agent.envelope import Envelope
from shared.graphs.agent.nodes.kb_agent import has_files, kb_agent_node
from shared.graphs.agent.nodes.rename_thread import rename_thread_node
from shared.graphs.agent.nodes.router import router_node
from shared.graphs.agent.nodes.shorten_thread import shorten_thread_node
from shared.graphs.agent.nodes.trigger_background_agent import trigger_background_agent
from shared.graphs.agent.spec import AgentSpec
from shared.graphs.agent.state import AgentState
from shared.graphs.agent.sub_agent import agent_node
from shared.graphs.ids import AGENT

KB_AGENT: Final = "kb_agent"
ROUTER: Final = "router"
RENAME_THREAD: Final = "rename_thread"
SHORTEN_THREAD: Final = "shorten_thread"
TRIGGER_BACKGROUND_AGENT: Final = "trigger_background_agent"


def build(deps: AgentDeps) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the agent graph, once a process.

    It is compiled without checkpointer and store, which belong to one user; a run takes
    ``graph.copy(update={"checkpointer": ..., "store": ...})``.

    Parameters
    ----------
    deps : AgentDeps
        Models, services, ports and settings.

    Raises
    ------
    ValueError
        When the settings enable an agent that there is not, or leave nobody to take a turn.
    """
    specs = enabled_agents(deps.settings.agents)
    builder = StateGraph(AgentState)
    for spec in specs:
        builder.add_node(spec.node, agent_node(spec, deps))
        builder.add_edge(spec.node, TRIGGER_BACKGROUND_AGENT)
    builder.add_node(RENAME_THREAD, rename_thread_node(deps))
    builder.add_node(SHORTEN_THREAD, shorten_thread_node(deps))
    builder.add_node(TRIGGER_BACKGROUND_AGENT, trigger_background_agent)
    builder.add_node(KB_AGENT, kb_agent_node(deps))
    takers = [*(spec.node for spec in specs), RENAME_THREAD, SHORTEN_THREAD]
    turn_of = _turn_of(specs)
    go_on = turn_of
    if len(specs) > 1:
        builder.add_node(ROUTER, router_node(specs, deps))
        builder.add_conditional_edges(ROUTER, turn_of, takers)
        go_on, takers = _to_router, [ROUTER]
    builder.add_conditional_edges(START, _files_first(go_on), [KB_AGENT, *takers])
    builder.add_conditional_edges(KB_AGENT, go_on, takers)
    builder.add_edge(RENAME_THREAD, END)
    builder.add_edge(SHORTEN_THREAD, END)
    builder.add_edge(TRIGGER_BACKGROUND_AGENT, END)
    return builder.compile(name=AGENT)


_Choice = Callable[[AgentState, RunnableConfig], list[str]]


def _to_router(state: AgentState, config: RunnableConfig) -> list[str]:
    # LangGraph gives arguments by these names.
    return [ROUTER]


def _files_first(go_on: _Choice) -> _Choice:
    def go(state: AgentState, config: RunnableConfig) -> list[str]:
        return [KB_AGENT] if has_files(state) else go_on(state, config)

    return go


def _turn_of(specs: Sequence[AgentSpec]) -> _Choice:
    nodes = {spec.name: spec.node for spec in specs}
    default = nodes.get(DEFAULT_AGENT, specs[0].node)

    def go(state: AgentState, config: RunnableConfig) -> list[str]:
        beside = [SHORTEN_THREAD] if Envelope.of(config).policy in DESTRUCTIVE_POLICIES else []
        decided = state["routing"]["agent"] if "routing" in state else DEFAULT_AGENT
        # A thread may carry the decision of a deployment that had other agents.
        return [nodes.get(decided, default), RENAME_THREAD, *beside]

    return go
