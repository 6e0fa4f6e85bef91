"""Use cases, one verb each, written against the ports."""
