"""The local cloud: the pinned emulator, what is deployed to it, and who may use it."""
