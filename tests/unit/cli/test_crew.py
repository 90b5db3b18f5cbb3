"""Several processes of one command: their exit codes."""

from __future__ import annotations

import asyncio
import sys

import pytest

from holdfast.cli.process.crew import Crew
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
