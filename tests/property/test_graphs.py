"""Random graphs with random ends, against a plain evaluator."""

from __future__ import annotations

import pytest

from tests.property.graph_model import GraphModel, Node
from tests.property.running import LIMIT_S, run_alone


@pytest.mark.timeout(LIMIT_S + 10)
def test_random_graphs_agree_with_the_evaluator() -> None:
    """Every graph ends, in the state that the rules say; indexes and counts agree all the time."""
    run_alone("graph_runs")


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
