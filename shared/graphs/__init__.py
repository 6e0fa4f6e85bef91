"""The three LangGraph graphs and what runs them."""
