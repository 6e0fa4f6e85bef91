"""Pure rules: no I/O, no SDK, no clock, no LangGraph."""
