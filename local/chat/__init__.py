"""The terminal chat: a client like any other, on the official LangGraph SDK and the memory API."""
