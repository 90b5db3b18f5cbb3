"""Random operations, several workers, clock jumps and lost replies, against a model.

HOLDFAST_PROPERTY=large runs many more and longer examples.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.machine import LifecycleMachine
from tests.property.world import open_world

_LARGE = os.environ.get("HOLDFAST_PROPERTY") == "large"


# Hypothesis looks into every imported module, and some old ones of glide complain.
@pytest.mark.filterwarnings("ignore:Importing from 'glide:DeprecationWarning")
@pytest.mark.timeout(7200 if _LARGE else 180)
def test_random_operations_agree_with_the_model() -> None:
    """Whatever is called in whatever order, store and model agree and the indexes hold."""
    with open_world() as world:

        class Machine(LifecycleMachine):
            def __init__(self) -> None:
                super().__init__(world)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=1000 if _LARGE else 50,
                stateful_step_count=100 if _LARGE else 50,
                deadline=None,
                print_blob=True,
                # One failure at a time, and no search for explanations: both take minutes.
                report_multiple_bugs=False,
                phases=set(Phase) - {Phase.explain},
                suppress_health_check=list(HealthCheck),
            ),
        )
