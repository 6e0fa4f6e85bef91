"""What the user sees of the memory, and deletes."""
