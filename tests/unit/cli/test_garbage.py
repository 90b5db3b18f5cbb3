"""Processes that others wait for do not search what is loaded for garbage."""

from __future__ import annotations

import gc
import signal
from collections.abc import Awaitable, Callable, Iterator

import pytest

from holdfast.cli import server
from holdfast.server.settings import ServerSettings

#: Far fewer than the objects of the modules of a process.
MANY = 10_000


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_a_server_leaves_out_what_it_has_loaded_once_it_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is left out while it starts, and all that is loaded afterwards."""
    counts: list[int] = []

    def run(*_: object, announce: Callable[[str], None], **__: object) -> Awaitable[int]:
        async def serve() -> int:
            counts.append(gc.get_freeze_count())
            announce("http://127.0.0.1:1")
            counts.append(gc.get_freeze_count())
            return signal.SIGTERM

        return serve()

    monkeypatch.setattr(server, "run", run)
    server._serve(ServerSettings(), server.ALL_ROLES, "embedded://unused", None, as_json=False)
    assert counts[0] == 0
    assert counts[1] > MANY
