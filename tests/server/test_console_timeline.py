"""The timeline of an execution as consoles draw it."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from holdfast.model.executions import Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.testing.clock import Clock
from tests.server.conftest import Site

MONTH_MS = 30 * 86_400_000


async def test_a_long_sleep_is_folded_and_every_phase_is_a_span(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """In line, a run that fails, a retry, a run with a step, a month of sleep, the last run."""
    engine = site.engine
    await clock.set(round(datetime.now(UTC).timestamp() * 1000) - 2 * MONTH_MS)
    retry = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=5_000))
    made = await engine.submit("report", retry=retry)
    async with engine.claimer(worker="w") as claimer:
        await clock.advance(500)
        (claim,) = await claimer.claim(1, 60_000)
        await clock.advance(1_000)
        await engine.fail(claim.id, claim.lease, Failure(type="Busy", message="try later"))
        await clock.advance_and_tick(6_000)
        (claim,) = await claimer.claim(1, 60_000)
        await clock.advance(700)
        await engine.checkpoint(claim.id, claim.lease, "fetch", b'{"ok":{"usage":{"tokens":7}}}')
        await engine.delay(claim.id, claim.lease, MONTH_MS)
        await clock.advance_and_tick(MONTH_MS)
        (claim,) = await claimer.claim(1, 60_000)
        await clock.advance(1_000)
        await engine.complete(claim.id, claim.lease)
    view = (await anyone.get(f"/v1/executions/{made.id}/timeline")).json()
    spans = [(one["type"], one["row"], one["state"], one["ms"]) for one in view["spans"]]
    assert spans == [
        ("queue", 0, "over", 500),
        ("run", 1, "failed", 1_000),
        ("delay", 0, "over", 5_000),
        ("queue", 0, "over", 1_000),
        ("run", 2, "slept", 700),
        ("delay", 0, "over", MONTH_MS),
        ("queue", 0, "over", 0),
        ("run", 2, "completed", 1_000),
        ("step", 3, "recorded", 700),
    ]
    assert view["spans"][1]["text"] == "Busy: try later"
    assert [one["usage"] for one in view["spans"]][-2:] == [{}, {"tokens": 7}]
    assert view["work_share"] >= 0.6
    assert max(part["ms"] for part in view["axis"] if part["folded"]) >= MONTH_MS
    assert view["rows"] == 4
    assert [bar["outcome"] for bar in view["bars"]] == ["failed: Busy: try later", "completed"]
