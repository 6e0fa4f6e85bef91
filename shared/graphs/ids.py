"""The ids of the three graphs; the registry, the run routes and the dispatcher all read this module."""

from typing import Final

AGENT: Final = "agent"
"""The chat graph: the one that clients name as their assistant."""

BACKGROUND_AGENT: Final = "backgroundAgent"
"""What runs after each turn: touch the thread's last-message time, then at most one summary pass."""

KB_AGENT: Final = "kbAgent"
"""Ingestion into the knowledge base."""

GRAPH_IDS: Final = (AGENT, BACKGROUND_AGENT, KB_AGENT)
