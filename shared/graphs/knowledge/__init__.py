"""The ingestion graph."""
