"""Uploads into the knowledge base."""
