"""An agent that asks back, written as one that a deployment adds: what a person in the loop is tried with."""

from typing import Final

from langchain_core.tools import tool
from langgraph.types import interrupt

from shared.graphs.agent.spec import AgentSpec


@tool
def ask_the_user(question: str) -> str:
    """Ask the user, and wait for the answer."""
    return f"The user says: {interrupt({'question': question})}"


AGENT: Final = AgentSpec(
    name="asking",
    description="Requests that leave something open.",
    prompt="Ask the user what you need to know.",
    tools=lambda _deps: [ask_the_user],
)
