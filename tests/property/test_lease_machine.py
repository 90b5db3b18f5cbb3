"""Writer leases and manifests on a simulated store: any schedule keeps their promises.

HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.run_machine import LARGE

LIMIT_S = 7200 if LARGE else 300


@pytest.mark.timeout(LIMIT_S + 10)
def test_any_schedule_keeps_the_promises_of_leases_and_manifests() -> None:
    """Tokens rise, writers do not overlap, acknowledged commits stay."""
    command = [sys.executable, "-m", "tests.property.lease_machine"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]
