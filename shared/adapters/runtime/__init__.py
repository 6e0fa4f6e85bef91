"""Response streaming and ASGI for a Python Lambda: the one place to swap the day the managed runtime streams.

``python -m shared.adapters.runtime <handler>`` takes the managed runtime's place (see ``functions/chat/bootstrap``).
It is the pinned ``awslambdaric`` with one change: when a handler streamed its response, nothing is posted after it.

- ``response_stream``: the streaming half of the Lambda Runtime API.
- ``client``: the runtime's client with that one change, and the program.
- ``proxy_event``: API Gateway's event as an ASGI scope, a finished reply as API Gateway's dictionary.
- ``asgi``: one ASGI app, one event loop and one lifespan for the life of the process.
"""
