"""Run a state machine that compares the store with a model."""

from __future__ import annotations

import functools
import sys
from typing import Any

from hypothesis.stateful import run_state_machine_as_test

from tests.property.budget_machine import BudgetMachine
from tests.property.comparing import ComparingMachine
from tests.property.deployment_machine import DeploymentMachine
from tests.property.machine import LifecycleMachine
from tests.property.pins_machine import PinsMachine
from tests.property.queue_machine import QueueMachine
from tests.property.quota_machine import QuotaMachine
from tests.property.running import thorough
from tests.property.sessions_machine import SessionsMachine
from tests.property.stream_machine import StreamMachine
from tests.property.waits_machine import WaitsMachine
from tests.property.world import open_world

#: With the number of examples and their steps.
MACHINES: dict[str, tuple[type[ComparingMachine], int, int]] = {
    "lifecycle": (LifecycleMachine, 50, 50),
    "streams": (StreamMachine, 50, 50),
    "budgets": (BudgetMachine, 50, 50),
    "quotas": (QuotaMachine, 50, 50),
    "queues": (QueueMachine, 50, 30),
    "sessions": (SessionsMachine, 50, 40),
    "pins": (PinsMachine, 60, 40),
    "waits": (WaitsMachine, 25, 40),
    "deployments": (DeploymentMachine, 40, 40),
}

if __name__ == "__main__":
    machine, examples, steps = MACHINES[sys.argv[1]]
    how = thorough(examples, large=1000, steps=steps)
    with open_world() as world:
        make: Any = functools.partial(machine, world)
        run_state_machine_as_test(make, settings=how)
