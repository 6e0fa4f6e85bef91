"""The knowledge base: documents, chunks, and which of them answer a question."""
