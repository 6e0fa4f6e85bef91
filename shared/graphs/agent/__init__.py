"""The agent graph: the one that answers.

What a run gives it rides in the envelope (``shared.graphs.agent.envelope``). Agents are graphs in the graph, so their
tokens are streamed only with ``subgraphs=True``; what they do inside is then told apart by its namespace.
"""

from shared.graphs.agent.deps import AgentDeps, AgentModels, Knowledge
from shared.graphs.agent.envelope import Envelope, TurnMark
from shared.graphs.agent.topology import build

__all__ = ["AgentDeps", "AgentModels", "Envelope", "Knowledge", "TurnMark", "build"]
