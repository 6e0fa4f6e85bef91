"""The memory table and the checkpoint table."""
