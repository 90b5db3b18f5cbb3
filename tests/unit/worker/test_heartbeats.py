"""Heartbeats tell an event loop that is blocked from a store that is slow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from types import SimpleNamespace

import pytest

from holdfast.errors import HoldfastError, StoreUnavailable
from holdfast.model.executions import Lease
from holdfast.model.workers import Beat
from holdfast.worker import heartbeats

#: A call to a store that is away takes this long.
AWAY_S = 60.0
BEATS = 5


class SlowStore:
    """A store whose calls take long, on a clock of its own, while the event loop is idle."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.calls = 0
        self.enough = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def register_worker(self, beat: Beat) -> bool:
        """Let the loop do what it was asked to, then take long."""
        del beat
        if self.calls:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result()
        self.now_s += AWAY_S
        self.calls += 1
        if self.calls == BEATS:
            self._loop.call_soon_threadsafe(self.enough.set)
        return False

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Nothing is held."""
        del held, lease_ms
        return []

    def remove_worker(self, instance: str) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


async def test_a_slow_store_is_no_blocked_event_loop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However long a beat waits for its answer: the loop answered at once."""
    store = SlowStore()
    monkeypatch.setattr(heartbeats, "time", SimpleNamespace(monotonic=lambda: store.now_s))
    beat = Beat(instance="w.1", worker="w", lanes=("default",), ttl_ms=30)
    beating = heartbeats.Heartbeats(
        store, beat, on_lost=lambda _claim, _why: None, on_drain=lambda: None
    )
    with caplog.at_level(logging.WARNING):
        assert beating.start()
        async with asyncio.timeout(10):
            await store.enough.wait()
        await asyncio.to_thread(beating.stop)
    assert caplog.messages == []


class BrokenRegistry(SlowStore):
    """A store of which only the part with the registry of workers is away."""

    def register_worker(self, beat: Beat) -> bool:
        """Fail, except for the first time."""
        del beat
        self.calls += 1
        if self.calls > 1:
            raise StoreUnavailable("away")
        return False

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Note that it was asked."""
        self._loop.call_soon_threadsafe(self.enough.set)
        return super().renew(held, lease_ms)


async def test_leases_are_renewed_while_the_registry_is_away() -> None:
    """On a cluster they may be on servers that are there."""
    store = BrokenRegistry()
    beat = Beat(instance="w.1", worker="w", lanes=("default",), ttl_ms=30)
    beating = heartbeats.Heartbeats(
        store, beat, on_lost=lambda _claim, _why: None, on_drain=lambda: None
    )
    assert beating.start()
    try:
        async with asyncio.timeout(10):
            await store.enough.wait()
    finally:
        await asyncio.to_thread(beating.stop)


class BrokenLeases(SlowStore):
    """A store of which only the parts with the leases are away."""

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Fail."""
        del held, lease_ms
        raise StoreUnavailable("away")


async def test_a_worker_stays_registered_while_its_leases_are_away() -> None:
    """It learns that it shall drain, and others see it."""
    store = BrokenLeases()
    beat = Beat(instance="w.1", worker="w", lanes=("default",), ttl_ms=30)
    beating = heartbeats.Heartbeats(
        store, beat, on_lost=lambda _claim, _why: None, on_drain=lambda: None
    )
    assert beating.start()
    try:
        async with asyncio.timeout(10):
            await store.enough.wait()
    finally:
        await asyncio.to_thread(beating.stop)


class Confused(SlowStore):
    """A server before which something else answers, such as a proxy with a page."""

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Fail for a reason that no caller expects."""
        del held, lease_ms
        self.calls += 1
        if self.calls == BEATS:
            self._loop.call_soon_threadsafe(self.enough.set)
        raise ValueError("not JSON")


async def test_an_unknown_error_does_not_end_the_heartbeats() -> None:
    """The worker would run on, and lose every lease."""
    store = Confused()
    beat = Beat(instance="w.1", worker="w", lanes=("default",), ttl_ms=30)
    beating = heartbeats.Heartbeats(
        store, beat, on_lost=lambda _claim, _why: None, on_drain=lambda: None
    )
    assert beating.start()
    try:
        async with asyncio.timeout(10):
            await store.enough.wait()
    finally:
        await asyncio.to_thread(beating.stop)
