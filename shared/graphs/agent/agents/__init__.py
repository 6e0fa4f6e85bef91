"""The agents, one module each: the module that is here is an agent that can be enabled."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from shared.graphs.agent.spec import AgentSpec

DEFAULT_AGENT: Final = "chat"
"""Who takes a turn that nobody else is for."""


@cache
def all_agents() -> dict[str, AgentSpec]:
    """Find every agent of this package, by name.

    Raises
    ------
    ValueError
        When two modules give one name.
    """
    found: dict[str, AgentSpec] = {}
    for module in iter_modules(__path__, prefix=f"{__name__}."):
        spec = import_module(module.name).AGENT
        if found.setdefault(spec.name, spec) is not spec:
            raise ValueError(f"There are two agents called {spec.name}.")
    return found


def enabled_agents(names: Sequence[str]) -> list[AgentSpec]:
    """Give the agents that are named, in that order.

    Raises
    ------
    ValueError
        When there is no such agent, none is named, or there are several and nobody to take what is left over.
    """
    agents = all_agents()
    unknown = [name for name in names if name not in agents]
    if unknown:
        raise ValueError(f"No such agents: {', '.join(unknown)}. There are {', '.join(agents)}.")
    if not names:
        raise ValueError("No agent is enabled.")
    if len(names) > 1 and DEFAULT_AGENT not in names:
        raise ValueError(f"With several agents, {DEFAULT_AGENT} must be one of them.")
    return [agents[name] for name in dict.fromkeys(names)]
