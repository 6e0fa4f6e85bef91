"""The turn-end graph: touch the last-message time, then at most one summary pass."""
