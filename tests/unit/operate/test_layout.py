"""Layouts of graphs."""

from __future__ import annotations

from holdfast.model.states import State
from holdfast.operate import layout
from tests.unit.cli.test_drawing import view

C, F, W = State.COMPLETED, State.FAILED, State.WAITING_CHILDREN


def _places(*args: object) -> dict[str, tuple[int, int]]:
    return {n.member.key: (n.layer, n.place) for n in layout.of(view(*args)).nodes}  # type: ignore[arg-type]


def test_a_member_follows_the_longest_way_to_it() -> None:
    """Every edge goes to a later layer."""
    states = {"a": C, "b": C, "c": C, "d": W}
    assert _places(states, "a>b", "b>d", "a>d", "c>d") == {
        "a": (0, 0),
        "c": (0, 1),
        "b": (1, 0),
        "d": (2, 0),
    }


def test_members_stand_near_those_they_wait_for() -> None:
    """So that edges between two layers do not cross."""
    states = {"a": C, "b": C, "of_b": W, "of_a": W}
    assert _places(states, "b>of_b", "a>of_a") == {
        "a": (0, 0),
        "b": (0, 1),
        "of_a": (1, 0),
        "of_b": (1, 1),
    }


def test_a_summary_counts_by_layer_and_kind() -> None:
    """The most frequent state first."""
    shown = layout.of(view({"a": C, "b": F, "c": F, "other": C}, "a>other"))
    assert [(row.layer, row.kind, row.size, dict(row.states)) for row in shown.summary()] == [
        (0, "work", 3, {F: 2, C: 1}),
        (1, "other", 1, {C: 1}),
    ]
    assert (shown.layers, shown.width) == (2, 3)


def test_mermaid() -> None:
    """Names are ours, because keys may be anything; labels say what they are."""
    shown = view({"a/b": C, "end": F, "h": W}, "a/b>end", "end!h", "a/b*h")
    assert list(layout.mermaid(shown)) == [
        "flowchart TD",
        '    m0["a/b<br/>completed"]:::completed',
        '    m1["end<br/>failed"]:::failed',
        '    m2["h<br/>waiting_children"]:::waiting_children',
        "    m0 --> m1",
        "    m1 -. failure .-> m2",
        "    m0 -- always --> m2",
        "    classDef completed fill:#d3f2d3",
        "    classDef failed fill:#f6c9c9",
    ]
