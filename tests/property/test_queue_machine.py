"""Random operations on queues, groups, clock jumps, late handles and lost replies.

HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.test_lifecycle_machine import LIMIT_S


@pytest.mark.timeout(LIMIT_S + 10)
def test_random_operations_on_queues_agree_with_the_model() -> None:
    """Whatever is called in whatever order: answers, order and counts are the model's."""
    command = [sys.executable, "-m", "tests.property.run_queue_machine"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]
