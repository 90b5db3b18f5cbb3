"""Whatever comes from outside: a refusal of the 4xx family at most, and nothing changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.run_waits import LARGE

LIMIT_S = 7200 if LARGE else 240


@pytest.mark.timeout(LIMIT_S + 10)
def test_tokens_and_bodies_from_outside_do_no_harm() -> None:
    """Random and half genuine tokens, ids, names, payloads, sources and keys."""
    command = [sys.executable, "-m", "tests.property.run_signal_fuzz"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]
