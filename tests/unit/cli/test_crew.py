"""Several processes of one command: their exit codes."""

from __future__ import annotations

import asyncio
import gc
import sys

import pytest

from holdfast.cli.process.crew import Crew, _Place
from holdfast.testing.polling import wait_for


async def test_a_process_that_is_stopped_while_it_starts_has_ended_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does not handle SIGTERM yet; no shell shows a negative code."""
    monkeypatch.setattr(sys, "argv", ["holdfast", "worker", "nowhere:app"])
    crew = Crew(1)
    running = asyncio.ensure_future(crew.run(lambda _pids: None))

    async def started() -> bool:
        return crew._places[0].process is not None

    await wait_for(started)
    crew._stop()
    assert await running == 0


async def test_a_process_that_does_not_start_leaves_nothing_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It has said why; the wait for all of them ends without a word."""
    crew = Crew(2)
    announced: list[list[int]] = []

    async def run_once(place: _Place) -> int:
        if place.number == 2:
            return 3
        place.started.set()
        await crew._stopping.wait()
        return 0

    monkeypatch.setattr(crew, "_run_once", run_once)
    assert await crew.run(announced.append) == 3
    gc.collect()
    assert (announced, caplog.messages) == ([], [])
