"""Random graphs with random ends, against a plain evaluator.

HOLDFAST_PROPERTY=large runs many more examples.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.property.graph_model import GraphModel, Node
from tests.property.run_machine import LARGE

LIMIT_S = 7200 if LARGE else 300


@pytest.mark.timeout(LIMIT_S + 10)
def test_random_graphs_agree_with_the_evaluator() -> None:
    """Every graph ends, in the state that the rules say; indexes and counts agree all the time."""
    command = [sys.executable, "-m", "tests.property.graph_runs"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert run.returncode == 0, run.stderr[-10_000:] + run.stdout[-2_000:]


def test_the_evaluator_itself() -> None:
    """A race: the winner decides, the loser is cancelled with what only it waited for."""
    model = GraphModel(
        {
            "a": Node([]),
            "b": Node([("a", "success")]),
            "c": Node([]),
            "d": Node([("b", "success"), ("c", "success")], policy="any", losers=True),
        }
    )
    model.settle()
    assert model.states() == {
        "a": "waiting", "b": "waiting_children", "c": "waiting", "d": "waiting_children",
    }  # fmt: skip
    model.end("c", "completed")
    assert model.states() == {
        "a": "cancelled", "b": "cancelled", "c": "completed", "d": "waiting",
    }  # fmt: skip
    model.end("d", "failed")
    assert (model.state, model.failures) == ("failed", 1)
    model.replay()
    assert model.states()["d"] == "waiting"
