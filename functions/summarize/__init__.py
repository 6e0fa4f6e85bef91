"""The turn-end consumer."""
