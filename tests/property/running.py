"""Running random tests in processes of their own.

The client library hands all replies of a process to one event loop, and the tests of a process
have that loop already. HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import HealthCheck, Phase, settings

LARGE = os.environ.get("HOLDFAST_PROPERTY") == "large"
#: When it fails, Hypothesis may look for a smaller example for up to five minutes.
LIMIT_S = 7200 if LARGE else 480


def run_alone(module: str, *args: str) -> None:
    """Run a module of this folder; it fails with the shortest failing example."""
    command = [sys.executable, "-m", f"tests.property.{module}", *args]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]


def thorough(examples: int, *, large: int, steps: int = 50) -> settings:
    """Return settings for so many examples, more with LARGE, and twice as long."""
    return settings(
        max_examples=large if LARGE else examples,
        stateful_step_count=2 * steps if LARGE else steps,
        deadline=None,
        print_blob=True,
        # One failure at a time, and no search for explanations: both take minutes.
        report_multiple_bugs=False,
        phases=set(Phase) - {Phase.explain},
        suppress_health_check=list(HealthCheck),
    )
