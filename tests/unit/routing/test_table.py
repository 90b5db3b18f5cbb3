"""Routing tables: legal ones only, and the choice by weight."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import sqrt
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.routing import Candidate, RoutingTable
from holdfast.routing.table import LIFECYCLES

SESSIONS = [f"session-{n}" for n in range(20_000)]


def table(generation: int = 1, /, **weights: int) -> RoutingTable:
    """Return a table of ready revisions that have been in every split."""
    candidates = tuple(
        Candidate(revision=name, weight_bps=weight, lifecycle="ready", since=min(1, generation))
        for name, weight in weights.items()
    )
    return RoutingTable("local", "shop", "acme", generation, candidates)


def chosen(routing: RoutingTable, seed: bytes = b"") -> dict[str, str | None]:
    """Return the revision of every session."""
    return {session: routing.choose(session, seed) for session in SESSIONS}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"revision": "not a name"}, "revision"),
        ({"revision": ""}, "revision"),
        ({"weight_bps": -1}, "weight_bps"),
        ({"weight_bps": 10_001}, "weight_bps"),
        ({"weight_bps": 0.5}, "weight_bps"),
        ({"weight_bps": True}, "weight_bps"),
        ({"lifecycle": "new"}, "lifecycle"),
        ({"since": -1}, "since"),
    ],
)
def test_a_candidate_is_checked(changes: dict[str, Any], field: str) -> None:
    """The error names the field."""
    fields: dict[str, Any] = {"revision": "a", "weight_bps": 1, "lifecycle": "ready", **changes}
    with pytest.raises(InvalidInput) as caught:
        Candidate(**fields)
    assert caught.value.context["field"] == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"env": "two words"}, "env"),
        ({"deployment": ""}, "deployment"),
        ({"tenant": "a/b"}, "tenant"),
        ({"generation": -1}, "generation"),
        ({"generation": 0}, "weights"),
        ({"candidates": ()}, "weights"),
        ({"candidates": table(a=10_000).candidates * 2}, "candidates"),
        (
            {"candidates": table(a=10_000).candidates * 101},
            "candidates",
        ),
        (
            {"candidates": (Candidate(revision="a", weight_bps=9_999, lifecycle="ready"),)},
            "weights",
        ),
        (
            {"candidates": (replace(table(a=10_000).candidates[0], since=2),)},
            "since",
        ),
    ],
)
def test_a_table_is_checked(changes: dict[str, Any], field: str) -> None:
    """Weights add up to 10,000, each revision is named once, and nothing is from the future."""
    with pytest.raises(InvalidInput) as caught:
        replace(table(a=10_000), **changes)
    assert caught.value.context["field"] == field


def test_before_the_first_split_nothing_takes_sessions() -> None:
    """A deployment has revisions before it has a split."""
    routing = table(0, a=0, b=0)
    assert routing.open == ()
    assert routing.choose("s") is None


@pytest.mark.parametrize("lifecycle", sorted(LIFECYCLES))
def test_only_a_ready_revision_with_a_weight_takes_new_sessions(lifecycle: str) -> None:
    """A draining revision still has its weight until the split changes."""
    first, second = table(a=5_000, b=5_000).candidates
    routing = RoutingTable(
        "local", "shop", "acme", 1, (replace(first, lifecycle=lifecycle), second)
    )
    expected = {"a", "b"} if lifecycle == "ready" else {"b"}
    assert set(chosen(routing).values()) == expected
    assert routing.roster.since.keys() == expected


@pytest.mark.parametrize(
    "weights",
    [
        {"a": 5_000, "b": 5_000},
        {"a": 9_900, "b": 100},
        {"a": 1, "b": 9_999},
        {"a": 2_500, "b": 2_500, "c": 5_000},
        {f"r{n:02}": 500 for n in range(20)},
    ],
)
@pytest.mark.parametrize("seed", [b"", b"another"])
def test_weights_hold_within_statistical_bounds(weights: dict[str, int], seed: bytes) -> None:
    """Five standard deviations: a right choice fails once in a million runs, and is seeded."""
    counts = Counter(chosen(table(**weights), seed).values())
    for name, weight in weights.items():
        share = weight / 10_000
        deviation = sqrt(len(SESSIONS) * share * (1 - share))
        assert abs(counts[name] - len(SESSIONS) * share) <= 5 * deviation + 1


def test_weights_of_those_that_are_left_count_in_proportion() -> None:
    """A revision that drains does not break routing."""
    a, b, c = table(a=2_000, b=2_000, c=6_000).candidates
    routing = RoutingTable("local", "shop", "acme", 1, (a, b, replace(c, lifecycle="draining")))
    counts = Counter(chosen(routing).values())
    assert abs(counts["a"] - 10_000) < 5 * sqrt(5_000)


def test_a_session_is_chosen_alike_everywhere() -> None:
    """The order of candidates, the process and the version do not matter; the seed does."""
    routing = table(a=5_000, b=5_000)
    other = RoutingTable("local", "shop", "acme", 1, routing.candidates[::-1])
    assert chosen(routing) == chosen(other)
    assert chosen(routing) != chosen(routing, b"seed")
    first = "".join(str(routing.choose(session)) for session in SESSIONS[:24])
    assert first == "aaaabaaabbbaabababaabaaa"


def test_deployments_draw_independently() -> None:
    """A user who tries the new revision of one deployment does not have to try all."""
    routing = table(a=5_000, b=5_000)
    other = replace(routing, deployment="bank")
    both = sum(routing.choose(s) == other.choose(s) for s in SESSIONS)
    assert abs(both - 10_000) < 5 * sqrt(5_000)


def test_a_new_weight_moves_no_more_sessions_than_it_must() -> None:
    """Even sessions that could not be pinned stay, unless they go to the revision that grew."""
    before, after = chosen(table(a=9_000, b=1_000)), chosen(table(2, a=7_000, b=3_000))
    moves = Counter((before[s], after[s]) for s in SESSIONS if before[s] != after[s])
    assert moves.keys() == {("a", "b")}
    assert abs(moves["a", "b"] - 4_000) < 5 * sqrt(3_200)


def test_the_next_split_remembers_since_when_a_revision_takes_sessions() -> None:
    """Reweighting keeps it; leaving, or draining, and coming back begins again."""
    ready = {"a": "ready", "b": "ready"}
    first = table(0, a=0, b=0).followed_by({"a": 10_000}, ready)
    assert first.roster.since == {"a": 1}
    second = first.followed_by({"a": 9_000, "b": 1_000}, ready)
    third = second.followed_by({"a": 1_000, "b": 9_000}, ready)
    assert third.roster.since == {"a": 1, "b": 2}
    fourth = third.followed_by({"b": 10_000}, ready)
    fifth = fourth.followed_by({"a": 5_000, "b": 5_000}, ready)
    assert fifth.roster.since == {"a": 5, "b": 2}
    assert fifth.generation == 5


def test_any_text_can_be_a_session() -> None:
    """Also one that is no valid Unicode; entry points refuse it, routing does not fail."""
    assert table(a=5_000, b=5_000).choose("\ud800") in {"a", "b"}
