"""The chat graph: router, agents, rename, turn end."""
