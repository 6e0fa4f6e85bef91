"""Removal of everything a deleted thread has."""
