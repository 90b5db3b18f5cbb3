"""The sweeper of files: it runs a few times a day, and survives storage that does not answer."""

from __future__ import annotations

import asyncio
import logging

import pytest

from holdfast.engine import Engine
from holdfast.engine.file_sweeper import FileSweeper
from holdfast.errors import BackendFailed
from holdfast.testing.polling import wait_for


async def test_it_goes_on_after_a_failure(
    engine: Engine, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is logged; the next sweep removes what that one left."""
    sweeps: list[int] = []

    async def sweep(now_ms: int) -> int:
        sweeps.append(now_ms)
        if len(sweeps) == 1:
            raise BackendFailed("the bucket is away", maybe_done=False)
        return 1

    async def is_done() -> bool:
        return len(sweeps) > 2

    monkeypatch.setattr(engine.files, "sweep", sweep)
    caplog.set_level(logging.INFO)
    running = asyncio.ensure_future(FileSweeper(engine.files, every_s=0.01).run())
    await wait_for(is_done)
    running.cancel()
    texts = [record.message for record in caplog.records]
    assert any("the bucket is away" in text for text in texts)
    assert any("1 sessions" in text for text in texts)
