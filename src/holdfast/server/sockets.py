"""The socket that a server listens on, and one port for several processes."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import replace

from holdfast.errors import InvalidInput
from holdfast.server.settings import ServerSettings


def listening(settings: ServerSettings) -> socket.socket:
    """Return a socket that listens at the address of a server; raise InvalidInput if it is taken.

    Processes that share a port have a socket each, among which the system divides connections.
    """
    listener = _bound(settings)
    listener.listen(2048)
    listener.setblocking(False)  # noqa: FBT003 - that is its signature
    return listener


@contextlib.contextmanager
def reserved(settings: ServerSettings) -> Iterator[int]:
    """Keep the port of a server for its processes while the block runs; yield it.

    The socket that keeps it does not listen, so it gets no connections.
    """
    # With a shared socket, another server of several processes would not be noticed.
    with _bound(replace(settings, is_shared=False)) as probe:
        port = probe.getsockname()[1]
    with _bound(replace(settings, port=port, is_shared=True)):
        yield port


def _bound(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns off Nagle's algorithm, which costs 40 ms per call, only for IPPROTO_TCP sockets.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if settings.is_shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((settings.host, settings.port))
    except OSError as error:
        bound.close()
        message = f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}"
        raise InvalidInput(message, field="listen") from error
    return bound
