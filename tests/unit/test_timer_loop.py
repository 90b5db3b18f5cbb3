"""A timer loop goes on after an error, and says so only if no outage says it already."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from holdfast import errors
from holdfast.services.timer_loop import PAUSE_AFTER_ERROR_S, TimerLoop


class FailingLoop(TimerLoop):
    """One place, whose ticks fail."""

    name = "failing"
    place = "partition"

    def __init__(self, error: errors.HoldfastError) -> None:
        subscriptions: Any = None
        super().__init__(subscriptions, {"channel": "p0"})
        self._error = error

    async def _tick(self, place: str) -> float:
        del place
        raise self._error


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (errors.StoreFull("full"), []),
        (errors.StoreUnavailable("away"), []),
        (errors.StoreFault("bug"), ["a tick failed: bug"]),
    ],
)
async def test_a_tick_that_an_outage_put_off_is_not_logged(
    error: errors.HoldfastError, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again; other errors are somebody's to look at."""
    now = asyncio.get_running_loop().time()
    loop = FailingLoop(error)
    caplog.set_level(logging.INFO, "holdfast")
    await loop._look("p0")
    assert caplog.messages == lines
    assert loop._look_at["p0"] >= now + PAUSE_AFTER_ERROR_S
