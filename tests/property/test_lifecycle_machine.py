"""Random operations, several workers, clock jumps and lost replies, against a model.

HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.run_machine import LARGE

# When it fails, Hypothesis may look for a smaller example for up to five minutes.
LIMIT_S = 7200 if LARGE else 480


@pytest.mark.timeout(LIMIT_S + 10)
@pytest.mark.parametrize("machine", ["lifecycle", "streams", "budgets", "quotas"])
def test_random_operations_agree_with_the_model(machine: str) -> None:
    """Whatever is called in whatever order, store and model agree and the indexes hold."""
    command = [sys.executable, "-m", "tests.property.run_machine", machine]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]
