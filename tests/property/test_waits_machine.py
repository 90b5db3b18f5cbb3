"""Waiting: random operations against a model, and conditions evaluated twice.

HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.run_waits import LARGE

# When it fails, Hypothesis may look for a smaller example for up to five minutes.
LIMIT_S = 7200 if LARGE else 480


def _run(module: str) -> None:
    command = [sys.executable, "-m", module]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]


@pytest.mark.timeout(LIMIT_S + 10)
def test_random_waits_agree_with_the_model() -> None:
    """A signal counts once per key, and each wait ends once, whatever comes in whatever order."""
    _run("tests.property.run_waits")


@pytest.mark.timeout(LIMIT_S + 10)
def test_the_store_and_the_model_evaluate_conditions_alike() -> None:
    """Any condition, any signals, before and during the wait, at any time."""
    _run("tests.property.run_conditions")
