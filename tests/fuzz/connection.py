"""A connection of a server without a socket: its parser and limits, and nobody behind them."""

from __future__ import annotations

import asyncio
import functools
from types import SimpleNamespace
from typing import Any

import uvicorn

from holdfast.server.http.connections import BoundedHttp


def feed(data: bytes) -> None:
    """Give data to a new connection, in two pieces."""
    transport = _Transport()
    nobody: Any = SimpleNamespace(start=lambda _caller, _begin: SimpleNamespace(end=lambda: None))
    state: Any = SimpleNamespace(connections=set(), tasks=set(), default_headers=[])
    loop: Any = _Loop()
    protocol = BoundedHttp(nobody, _config(), state, {}, loop)
    protocol.connection_made(transport)
    half = len(data) // 2
    for piece in (data[:half], data[half:]):
        if not transport.is_closing():
            protocol.data_received(piece)
    protocol.connection_lost(None)


class _Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self._is_closed = False

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True

    abort = close

    def write(self, data: Any) -> None:
        """Nobody reads."""

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    resume_reading = pause_reading


class _Loop:
    def time(self) -> float:
        return 0.0

    def call_later(self, *_arguments: Any) -> Any:
        return SimpleNamespace(cancel=lambda: None)


@functools.cache
def _config() -> uvicorn.Config:
    config = uvicorn.Config(
        _nobody, interface="asgi3", log_config=None, log_level="critical", ws="none", lifespan="off"
    )
    config.load()
    return config


async def _nobody(_scope: Any, _receive: Any, _send: Any) -> None:
    """Answer nothing."""
