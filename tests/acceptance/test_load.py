"""bench.load at a small size."""

from __future__ import annotations

import pytest

from bench.load import suspended
from bench.load.__main__ import measure


async def test_a_small_run_measures_everything_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every figure is there, and memory is counted."""
    monkeypatch.setattr(suspended, "IDLE_S", 1.0)
    sizes = {"workers": 0, "suspended": 60, "sessions": 60}
    results = await measure(sizes, 0, "no")
    assert results["60 suspended"]["bytes per suspended"] > 0
    assert results["60 sessions"]["bytes per session of 2 lines"] > 0
    assert all(value >= 0 for figures in results.values() for value in figures.values())
