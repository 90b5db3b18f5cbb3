"""A worker that cannot register yet."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

from holdfast import App, WorkerSettings
from holdfast.api import Engine
from holdfast.errors import StoreUnavailable
from holdfast.model.workers import Beat
from holdfast.worker.worker import Worker


class Away:
    """An engine, and its heartbeats, whose store cannot be reached."""

    def __init__(self) -> None:
        self.tried = threading.Event()
        self.closed = threading.Event()

    def beats(self, **_settings: Any) -> Away:
        """Open the connection for heartbeats."""
        return self

    def register_worker(self, _beat: Beat) -> bool:
        """Fail as it does while the store is away."""
        self.tried.set()
        raise StoreUnavailable("away")

    def close(self) -> None:
        """Close the connection."""
        self.closed.set()


async def test_a_worker_that_is_cancelled_does_not_register_later() -> None:
    """The thread that would have registered it ends with it."""
    away = Away()
    app = App("valkey://nowhere").attach(cast("Engine", away))
    running = asyncio.ensure_future(Worker(app, WorkerSettings()).run())
    assert await asyncio.to_thread(away.tried.wait, 30)
    running.cancel()
    await asyncio.wait([running])
    assert await asyncio.to_thread(away.closed.wait, 30)
