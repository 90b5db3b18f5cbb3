"""Run the state machine of queues in a process of its own; see run_machine."""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.queue_machine import QueueMachine
from tests.property.run_machine import LARGE
from tests.property.world import open_world


def main() -> None:
    """Try random operations; raises with the shortest failing example."""
    warnings.filterwarnings("ignore", "Importing from 'glide", DeprecationWarning)
    with open_world() as world:

        class Machine(QueueMachine):
            def __init__(self) -> None:
                super().__init__(world)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=1000 if LARGE else 50,
                stateful_step_count=60 if LARGE else 30,
                deadline=None,
                print_blob=True,
                report_multiple_bugs=False,
                phases=set(Phase) - {Phase.explain},
                suppress_health_check=list(HealthCheck),
            ),
        )


if __name__ == "__main__":
    main()
