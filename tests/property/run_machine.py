"""Run the state machine in a process of its own.

The client library hands all replies of a process to one event loop, and the tests of a process
have that loop already.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.budget_machine import BudgetMachine
from tests.property.machine import LifecycleMachine
from tests.property.quota_machine import QuotaMachine
from tests.property.stream_machine import StreamMachine
from tests.property.world import open_world

MACHINES = {
    "lifecycle": LifecycleMachine,
    "streams": StreamMachine,
    "budgets": BudgetMachine,
    "quotas": QuotaMachine,
}
LARGE = os.environ.get("HOLDFAST_PROPERTY") == "large"


def try_out(machine: type[Any], *, steps: int) -> None:
    """Try random operations; raises with the shortest failing example."""
    # Hypothesis looks into every imported module, and some old ones of glide complain.
    warnings.filterwarnings("ignore", "Importing from 'glide", DeprecationWarning)
    with open_world() as world:

        class Machine(machine):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__(world)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=1000 if LARGE else 50,
                stateful_step_count=2 * steps if LARGE else steps,
                deadline=None,
                print_blob=True,
                # One failure at a time, and no search for explanations: both take minutes.
                report_multiple_bugs=False,
                phases=set(Phase) - {Phase.explain},
                suppress_health_check=list(HealthCheck),
            ),
        )


if __name__ == "__main__":
    try_out(MACHINES[sys.argv[1]], steps=50)
