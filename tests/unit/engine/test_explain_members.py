"""engine.explain, for members of graphs that wait for others."""

from __future__ import annotations

import dataclasses

import pytest

from holdfast.engine.explain import explain
from holdfast.model.states import State
from holdfast.store.queries import ExplainFacts
from tests.unit.engine.test_explain import _standing


def waiting_for(awaited: dict[str, State]) -> ExplainFacts:
    standing = _standing(State.WAITING_CHILDREN, graph="g1")
    return dataclasses.replace(standing, awaited=awaited)


@pytest.mark.parametrize(
    ("count", "why"),
    [
        (1, "It waits for member m0 (active) of graph g1."),
        (2, "It waits for members m0 (active), m1 (active) of graph g1."),
        (
            7,
            (
                "It waits for members m0 (active), m1 (active), m2 (active), m3 (active), "
                "m4 (active) and 2 more of graph g1."
            ),
        ),
    ],
)
def test_the_upstreams_are_named(count: int, why: str) -> None:
    """The first of them in the sentence, all of them as holds."""
    told = explain(waiting_for({f"m{n}": State.ACTIVE for n in range(count)}), [])
    assert told.why == why
    assert told.holds == [
        {"type": "member", "id": f"g1~m{n}", "state": State.ACTIVE} for n in range(count)
    ]


def test_a_member_that_waits_for_nobody_waits_for_its_graph() -> None:
    """Large graphs start their members one after the other."""
    told = explain(waiting_for({}), [])
    assert told.why == "It is about to be started by graph g1."
    assert told.holds == [{"type": "graph", "id": "g1"}]
