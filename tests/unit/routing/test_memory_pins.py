"""What is particular to pins in memory: their clock, and that they do not pile up."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from holdfast.model.pins import Pin, PinRules
from holdfast.routing import MemoryPins, memory_pins
from tests.support.pinning import R1, key, roster


async def test_the_wall_clock_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set ahead or back neither ends pins nor keeps them for ever."""
    pins = MemoryPins(PinRules(ttl_ms=60_000))
    await pins.try_pin(key(), "r1", roster(1))
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic)
    # Only this module sees the clock: servers of other tests may run in the same process.
    monkeypatch.setattr(memory_pins, "time", clock)
    for wall in (0.0, 9e12):
        clock.time = lambda wall=wall: wall
        assert await pins.lookup(key(), roster(1)) == R1
    later = time.monotonic() + 60
    clock.monotonic = lambda: later
    assert await pins.lookup(key(), roster(1)) is None


async def test_abandoned_scopes_are_removed_by_the_use_of_others() -> None:
    """A tenant that left takes no memory, though nobody asks for its pins again."""
    now = [0.0]
    pins = MemoryPins(PinRules(ttl_ms=1_000), clock=lambda: now[0])
    for n in range(50):
        await pins.try_pin(key(tenant=f"t{n}"), "r1", roster(1))
    assert len(pins) == 50
    now[0] = 2_000
    for _ in range(50):
        await pins.try_pin(key(tenant="stays"), "r1", roster(1))
    assert len(pins) == 1
    assert list(pins._scopes) == ["local:d:stays"]


async def test_a_session_that_is_pinned_over_and_over_takes_no_more_memory() -> None:
    """Two routers that disagree may replace each other's pins for a while."""
    pins = MemoryPins()
    for generation in range(1, 500):
        await pins.try_pin(key(), "r1", roster(generation, {"r1": generation}))
    assert await pins.lookup(key(), roster(499)) == Pin("r1", 499)
    (scope,) = pins._scopes.values()
    assert len(scope.ends) < 50
