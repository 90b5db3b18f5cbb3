"""The property machines as judges: random calls against plain models."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.mutants.drawing import Mutant
from tests.mutants.trials import changed, forked
from tests.property.run_machine import MACHINES
from tests.property.running import thorough
from tests.property.world import open_world

LIMIT_S = 300


def survives(mutant: Mutant) -> bool:
    """Return whether every machine agrees with its model in spite of a mutant."""
    return all(
        forked(functools.partial(_agrees, mutant, machine), limit_s=LIMIT_S) for machine in MACHINES
    )


def _agrees(mutant: Mutant, machine: str) -> bool:
    made, examples, steps = MACHINES[machine]
    # One failure is enough: nobody looks for a smaller example.
    how = settings(
        thorough(examples, large=examples, steps=steps), phases=[Phase.generate], database=None
    )
    with changed(mutant), open_world() as world, contextlib.suppress(Exception):
        make: Any = functools.partial(made, world)
        run_state_machine_as_test(make, settings=how)
        return True
    return False
