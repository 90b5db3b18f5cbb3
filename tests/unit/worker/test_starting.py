"""A worker that cannot register yet."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from holdfast import App, WorkerSettings
from holdfast.api import Engine
from holdfast.errors import StoreUnavailable
from holdfast.model.workers import Beat
from holdfast.worker.worker import Worker


class Away:
    """An engine, and its heartbeats, whose store cannot be reached while `is_away`."""

    def __init__(self, *, is_away: bool = True) -> None:
        self.is_away = is_away
        self.tried = threading.Event()
        self.closed = threading.Event()

    def beats(self, **_settings: Any) -> Away:
        """Open the connection for heartbeats."""
        return self

    def register_worker(self, _beat: Beat) -> bool:
        """Fail as it does while the store is away."""
        self.tried.set()
        if self.is_away:
            raise StoreUnavailable("away")
        return False

    def renew(self, leases: list[Any], _ttl_ms: int) -> list[Any]:
        """Renew nothing."""
        return leases

    def remove_worker(self, _instance: str) -> None:
        """Forget the worker."""

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


@pytest.mark.parametrize("rounds", range(8))
async def test_a_worker_that_is_cancelled_as_it_registers_sends_no_heartbeats(rounds: int) -> None:
    """However many rounds of the loop lie between: `make chaos`, pair 10145."""
    here = Away(is_away=False)
    app = App("valkey://nowhere").attach(cast("Engine", here))
    running = asyncio.ensure_future(Worker(app, WorkerSettings()).run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    # The loop stands still until the thread has registered the worker.
    assert here.tried.wait(30)
    for _ in range(rounds):
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert await asyncio.to_thread(here.closed.wait, 30)


def test_a_worker_that_is_cancelled_twice_sends_no_heartbeats() -> None:
    """Even if no thread was free to wait for their end."""
    with contextlib.closing(asyncio.new_event_loop()) as loop, ThreadPoolExecutor(1) as only:
        loop.set_default_executor(only)
        here = loop.run_until_complete(_cancelled_twice(only))
        assert here.closed.wait(30)


async def _cancelled_twice(only: ThreadPoolExecutor) -> Away:
    """Cancel a worker that has registered, while another has its loop's only thread."""
    here, done = Away(is_away=False), threading.Event()
    app = App("valkey://nowhere").attach(cast("Engine", here))
    running = asyncio.ensure_future(Worker(app, WorkerSettings()).run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert here.tried.wait(30)
    busy = asyncio.get_running_loop().run_in_executor(only, done.wait)
    # It is registered, has found nothing to work with, and waits for the thread.
    for _ in range(20):
        await asyncio.sleep(0)
    while not running.done():
        running.cancel()
        await asyncio.sleep(0)
    done.set()
    await busy
    return here
