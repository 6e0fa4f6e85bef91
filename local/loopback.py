"""Nothing of the local product talks to another machine unless somebody said so."""

import ipaddress
import socket
from urllib.parse import urlsplit


class NotLoopbackError(ValueError):
    """An address that must be on this machine is not."""


def require_loopback(url: str) -> str:
    """Give ``url`` back when its host is this machine.

    Only ``localhost`` and literal loopback addresses count: any other name could be pointed elsewhere.

    Raises
    ------
    NotLoopbackError
        When it is anything else.
    """
    host = urlsplit(url).hostname
    if host == "localhost":
        return url
    try:
        if host is not None and ipaddress.ip_address(host).is_loopback:
            return url
    except ValueError:
        pass
    raise NotLoopbackError(f"{url} is not on this machine (127.0.0.1, ::1 or localhost).")


def free_port() -> int:
    """Give a port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_taken(port: int) -> bool:
    """Tell whether somebody listens on the port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
