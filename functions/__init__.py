"""The Lambda functions; each is thin: ``handler.py`` wires, ``app.py`` parses, identifies, calls and replies."""
