"""Sockets of servers: alone at an address, or several at one."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput
from holdfast.server.settings import ServerSettings
from holdfast.server.sockets import listening, reserved


def test_processes_share_a_port_that_others_cannot_take() -> None:
    with reserved(ServerSettings(port=0)) as port:
        shared = ServerSettings(port=port, is_shared=True)
        with listening(shared) as first, listening(shared) as second:
            assert first.getsockname() == second.getsockname()
            with pytest.raises(InvalidInput, match="cannot listen"):
                listening(ServerSettings(port=port))
            # Not even another command of several processes.
            with pytest.raises(InvalidInput, match="cannot listen"), reserved(shared):
                pass
