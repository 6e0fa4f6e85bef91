"""What an agent is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.tools import BaseTool

from shared.graphs.agent.deps import AgentDeps


def no_tools(_deps: AgentDeps) -> Sequence[BaseTool]:
    """Give nothing: the agent has only the tools that all have."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """One agent. A module of ``shared.graphs.agent.agents`` that has one as ``AGENT`` adds it.

    Parameters
    ----------
    name : str
        What settings and router call it; its node is called ``<name>_agent``.
    description : str
        For the router: which turns are its own.
    prompt : str
        Its own part of the system message. The rules all agents share are added to it.
    keywords : tuple of str
        Words that decide for it without asking a model; only such as mean nothing else.
    tools : callable
        Makes the tools that it has besides those all agents have.
    """

    name: str
    description: str
    prompt: str
    keywords: tuple[str, ...] = ()
    tools: Callable[[AgentDeps], Sequence[BaseTool]] = no_tools

    @property
    def node(self) -> str:
        """The name of its node in the agent graph."""
        return f"{self.name}_agent"
