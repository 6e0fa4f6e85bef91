"""The wire format of the LangGraph Server API: what its stock clients send and read.

- ``assistants``: the names of the graph that clients may run.
- ``bodies``: what requests hold; ``messages``: what clients say; ``run_options``: what each option means here.
- ``objects``: threads and states as clients read them.
- ``json_encoding``, ``sse``: values as JSON, and events as a stream.
"""
