"""Flows that compute for long rest while others are at work."""

from __future__ import annotations

import asyncio
import time

import pytest

from holdfast.host.flows import pacing
from holdfast.host.flows.pacing import Meter, Pace


async def test_only_the_time_between_waits_is_measured() -> None:
    """A coroutine that waits computes nothing meanwhile; its result and errors are its own."""
    meter = Meter()

    async def work(error: Exception | None = None) -> int:
        ends_at = time.perf_counter() + 0.01
        while time.perf_counter() < ends_at:
            pass
        await asyncio.wait_for(asyncio.Event().wait(), 0.05) if error is None else None
        return 1

    with pytest.raises(TimeoutError):
        await meter.run(work())
    assert 0.01 <= meter.spent_s < 0.05
    assert await meter.run(work(ValueError())) == 1


async def test_a_coroutine_that_is_cancelled_is_told() -> None:
    """It can clean up, and may even go on."""
    begun, heard = asyncio.Event(), list[str]()

    async def work() -> str:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            await asyncio.sleep(0)
        return "done"

    task = asyncio.ensure_future(Meter().run(work()))
    await begun.wait()
    task.cancel()
    assert await task == "done"
    assert heard == ["cancelled"]


@pytest.mark.parametrize(
    ("spent_s", "others", "rests"),
    [(0.0, True, False), (pacing.BURST_S, False, False), (pacing.BURST_S, True, True)],
)
async def test_a_flow_rests_if_it_computed_for_long_beside_others(
    spent_s: float, others: bool, rests: bool
) -> None:
    """In proportion; afterwards it starts to count again."""
    pace, meter = Pace(), Meter()
    meter._before_s = spent_s
    for tenant in ("acme", "beta") if others else ("acme",):
        pace.begin(tenant)
    started = time.monotonic()
    await pace.rest("acme", meter)
    assert (time.monotonic() - started >= spent_s * pacing.REST > 0) is rests
    assert meter.spent_s == 0.0


async def test_a_flow_that_never_waits_rests_as_well() -> None:
    """Nodes that only compute give no occasion to look at the clock but this one."""
    pace, meter = Pace(), Meter()

    async def work() -> float:
        ends_at = time.perf_counter() + 2 * pacing.BURST_S
        while time.perf_counter() < ends_at:
            pass
        started = time.monotonic()
        await pace.rest("acme", meter)
        return time.monotonic() - started

    for tenant in ("acme", "beta"):
        pace.begin(tenant)
    assert await meter.run(work()) >= 2 * pacing.BURST_S * pacing.REST
