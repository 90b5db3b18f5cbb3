"""Drawings of graphs."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.cli import drawing
from holdfast.model.executions import ExecutionId
from holdfast.model.graphs import Graph, GraphState, GraphView, Join, Member
from holdfast.model.states import State
from tests.support.graphs import edges


def view(states: dict[str, State], *texts: str, joins: dict[str, Join] | None = None) -> GraphView:
    made = edges(*texts)
    graph = Graph(
        id="g", tenant="default", state=GraphState.RUNNING, version=1, size=len(states), open=0,
        failures=0, created_at=datetime.now(UTC), completed_at=None, deadline_at=None,
        forget_at=None, replays=0, idempotency_key=None, cancel_policy=None, reason=None,
        cancelled=0,
    )  # fmt: skip
    found = {
        key: Member(
            key=key, id=ExecutionId(f"g~{key}"), kind="work" if key != "other" else "other",
            state=state, join=(joins or {}).get(key, Join()), spared=False,
            edges=[edge for edge in made if edge.target == key],
        )
        for key, state in states.items()
    }  # fmt: skip
    return GraphView(graph=graph, members=found, events=[])


def drawn(shown: GraphView) -> str:
    return "\n".join(line.replace("  work", "") for line in drawing.lines(shown))


C, F, S, W, A = State.COMPLETED, State.FAILED, State.SKIPPED, State.WAITING_CHILDREN, State.ACTIVE


def test_a_chain_is_a_column() -> None:
    """No lines are needed between its dots."""
    chain = view({"a": C, "b": A, "c": W}, "a>b", "b>c")
    assert drawn(chain) == "● a  completed\n▶ b  active\n◌ c  waiting_children"


def test_a_diamond() -> None:
    """Tracks part and meet."""
    diamond = view({"a": C, "b": C, "c": F, "d": S}, "a>b", "a>c", "b>d", "c>d")
    assert drawn(diamond).splitlines() == [
        "●   a  completed",
        "├─╮",
        "● │ b  completed",
        "│ ✗ c  failed",
        "├─╯",
        "○   d  skipped",
    ]


def test_a_track_that_is_crossed_shows_no_joint() -> None:
    """A joint is where an edge ends."""
    crossed = view({"a": C, "b": C, "c": C, "x": C, "y": C, "z": C}, "a>x", "b>y", "c>z", "a>z")
    assert drawn(crossed).splitlines() == [
        "●       a  completed",
        "├─╮",
        "│ │ ●   b  completed",
        "│ │ │ ● c  completed",
        "│ ├─│─╯",
        "● │ │   x  completed",
        "  │ ●   y  completed",
        "  ●     z  completed",
    ]


def test_joins_and_other_edges_are_noted() -> None:
    """What is not all and on success."""
    joins = {"d": Join.quorum(2), "e": Join.any()}
    texts = ("a>d", "b!d", "c>d", "a>e", "b*e")
    lines = drawn(view({"a": C, "b": F, "c": C, "d": W, "e": W}, *texts, joins=joins)).splitlines()
    assert [line.split("d  ")[1] for line in lines if " d  " in line] == [
        "waiting_children  needs 2 of 3  failure of b"
    ]
    assert any("e  waiting_children  needs any  always of b" in line for line in lines)


def test_a_large_graph_is_summed_up() -> None:
    """By distance from the start and by kind."""
    states = {f"m{n}": C if n % 10 else F for n in range(100)}
    large = view({"other": C, **states}, *(f"other>{key}" for key in states))
    assert list(drawing.lines(large)) == [
        "  0       1 x other: 1 completed",
        "  1     100 x work: 90 completed, 10 failed",
    ]
