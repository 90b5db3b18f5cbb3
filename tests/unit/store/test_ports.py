"""Ports of servers that this machine starts."""

from __future__ import annotations

import socket

from holdfast.store.valkey import ports

#: Linux and macOS give outgoing connections ports from here on.
_OUTGOING = 32_768


def test_no_outgoing_connection_can_take_the_port_of_a_server() -> None:
    """A client that tries to reach a dead server there would connect to itself."""
    assert all(1_024 < ports.free_port() < _OUTGOING for _ in range(100))


def test_a_port_on_which_something_listens_is_not_free() -> None:
    """It is free again when that stops."""
    port = ports.free_port()
    with socket.create_server(("127.0.0.1", port)):
        assert not ports.is_free(port)
    assert ports.is_free(port)
