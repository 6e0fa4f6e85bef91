"""Chat: the LangGraph Server API over the agent graph, streamed."""
