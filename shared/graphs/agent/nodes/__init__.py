"""The nodes of the agent graph that are not agents."""
