"""What a thread's checkpoint holds besides its messages."""

from typing import Any, Literal, NotRequired, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

# pydantic, which makes the graph's schemas, takes Python's own only from 3.12 on.
from typing_extensions import TypedDict

StateT = TypeVar("StateT", contravariant=True)

RoutingSource = Literal["keyword", "model", "fallback"]


class Routing(TypedDict):
    """Which agent takes the turn, and why; clients see it, so its keys are the API's.

    Parameters
    ----------
    agent : str
        The agent's name.
    source : {'keyword', 'model', 'fallback'}
        What decided. ``fallback``: the model gave no usable answer.
    matchedKey : str or None
        The keyword that decided.
    """

    agent: str
    source: RoutingSource
    matchedKey: str | None


class AgentState(MessagesState):
    """The state of the agent graph.

    Parameters
    ----------
    routing : Routing
        The last decision of the router; not there when there is but one agent.
    running_summary : str
        What stands for the turns that were taken out of the thread; only in threads that are kept short that way.
    """

    routing: NotRequired[Routing]
    running_summary: NotRequired[str]


class Node(Protocol[StateT]):
    """A node: takes the state and the run's configuration, gives what it changes in the state."""

    async def __call__(self, state: StateT, config: RunnableConfig) -> dict[str, Any]:
        """Run the node."""
        ...
