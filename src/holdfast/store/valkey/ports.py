"""Ports for servers that this machine starts.

They lie below the range from which systems take the ports of outgoing connections. A client that
tries again and again to reach a server that died could otherwise be given the server's own port:
it would connect to itself, and the server could never come back there.
"""

from __future__ import annotations

import secrets
import socket

_FIRST, _LAST = 10_240, 32_767
#: Where the servers of a cluster talk to each other, above the port of each.
_BUS = 10_000
_TRIES = 1_000


def free_port(*, cluster: bool = False) -> int:
    """Return a port of loopback on which nothing listens; for a cluster, also not on its bus."""
    last = _LAST - _BUS if cluster else _LAST
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(last - _FIRST + 1)
        if is_free(port) and (not cluster or is_free(port + _BUS)):
            return port
    message = f"no port of {_FIRST} to {last} is free"
    raise OSError(message)


def is_free(port: int) -> bool:
    """Whether nothing listens on a port of loopback."""
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False
