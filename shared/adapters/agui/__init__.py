"""The AG-UI protocol: what its clients send, and the events they read.

Nothing is imported here: the protocol's models take a while to load, and most processes never speak it.
"""
