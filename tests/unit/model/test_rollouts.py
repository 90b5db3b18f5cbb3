"""Rollouts: steps, the splits that they need, and what happens next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.model.deployments import SplitEntry, check_entries
from holdfast.model.guards import Guards, Judgement, Verdict
from holdfast.model.moments import from_ms
from holdfast.model.rollouts import (
    Rollout,
    RolloutState,
    Step,
    aborted,
    check_steps,
    continued,
    entries_at,
    next_change,
    paused,
    promoted,
)

NOW = from_ms(1_000_000)
PASSED, UNDECIDED = Judgement(Verdict.PASSED), Judgement(Verdict.UNDECIDED, "few")


def rollout(**fields: Any) -> Rollout:
    """Return a rollout in its first step."""
    steps = (Step(weight_bps=100, duration_ms=60_000), Step(weight_bps=10_000, duration_ms=1_000))
    given = {
        "id": "r1",
        "env": "local",
        "tenant": "default",
        "deployment": "talk",
        "revision": "green",
        "steps": steps,
        "guards": Guards(),
        "state": RolloutState.RUNNING,
        "step": 1,
        "generation": 2,
        "before": (SplitEntry(revision="blue", weight_bps=10_000, since=1),),
        "started_at": NOW,
        "step_at": NOW,
    }
    return Rollout(**{**given, **fields})


def after(ms: int, judgement: Judgement, **fields: Any) -> Any:
    """Return what happens to a rollout after a time in its step."""
    return next_change(rollout(**fields), NOW + timedelta(milliseconds=ms), judgement)


def test_a_step_lasts_its_time() -> None:
    """Then the next one begins, with the split that it needs."""
    assert after(59_999, PASSED) is None
    change = after(60_000, PASSED)
    assert (change.event, change.rollout.step, change.rollout.generation) == ("rollout_step", 2, 3)
    shares = [(entry.revision, entry.weight_bps) for entry in change.entries]
    assert shares == [("blue", 0), ("green", 10_000)]


def test_a_step_without_enough_turns_goes_on() -> None:
    """For as long as it takes."""
    assert after(999_999_999, UNDECIDED) is None


def test_a_breach_ends_it_at_once() -> None:
    """With the split before."""
    change = after(1, Judgement(Verdict.BREACHED, "bad"))
    assert (change.rollout.state, change.rollout.reason) == (RolloutState.ABORTED, "bad")
    assert (change.entries, change.rollout.rolled_back) == (rollout().before, True)


def test_it_is_completed_after_its_last_step() -> None:
    """The split is as it should be already."""
    assert after(999, PASSED, step=2) is None
    change = after(1_000, PASSED, step=2)
    assert (change.rollout.state, change.entries) == (RolloutState.COMPLETED, None)


def test_a_pause_is_no_time_of_the_step() -> None:
    """After it, as much is left as before."""
    held = paused(rollout(), NOW + timedelta(seconds=20), "look").rollout
    later = NOW + timedelta(hours=3)
    going = continued(held, later).rollout
    assert (going.left_ms(later), going.paused_at, going.reason) == (40_000, None, "")


def test_a_promotion_in_the_last_step_leaves_the_split() -> None:
    """It has everything already."""
    assert promoted(rollout(step=2), NOW).entries is None
    change = promoted(rollout(), NOW)
    assert change.entries is not None
    assert (change.rollout.generation, change.rollout.step) == (3, 2)


def test_it_is_looked_at_often_enough() -> None:
    """Ten times a step, at least every 10 s, and when the step ends."""
    assert rollout().look_ms(NOW) == 6_000
    assert rollout().look_ms(NOW + timedelta(seconds=58)) == 2_000
    assert rollout().look_ms(NOW + timedelta(hours=1)) == 6_000
    assert rollout(step=2).look_ms(NOW) == 500
    long = (Step(weight_bps=10_000, duration_ms=86_400_000),)
    assert rollout(steps=long).look_ms(NOW) == 10_000
    assert aborted(rollout(), NOW, "").rollout.is_over


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 5_000), min_size=1, max_size=6),
    st.integers(1, 10_000),
)
def test_the_others_keep_their_proportions(weights: dict[str, int], weight: int) -> None:
    """Up to a basis point, and all add up."""
    total = sum(weights.values())
    before = [SplitEntry(revision=name, weight_bps=one) for name, one in sorted(weights.items())]
    found = entries_at(before, "new", weight)
    assert check_entries(found) == found
    shares = {entry.revision: entry.weight_bps for entry in found}
    assert shares.pop("new") == weight
    for name, share in shares.items():
        assert abs(share - weights[name] * (10_000 - weight) / total) < 1


def test_a_share_that_the_revision_has_is_replaced() -> None:
    """It does not count among the others."""
    before = [
        SplitEntry(revision="blue", weight_bps=9_000),
        SplitEntry(revision="green", weight_bps=1_000),
    ]
    found = {entry.revision: entry.weight_bps for entry in entries_at(before, "green", 2_500)}
    assert found == {"blue": 7_500, "green": 2_500}
    assert replace(rollout(), before=tuple(before)).old_revisions == ("blue",)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([], "must be between 1 and 20"),
        ([10_000] * 21, "must be between 1 and 20"),
        ([1_000, 1_000, 10_000], "must have weights that increase"),
        ([5_000, 1_000, 10_000], "must have weights that increase"),
        ([1_000, 9_999], "must end with the weight 10000"),
    ],
)
def test_steps_that_lead_nowhere_are_refused(weights: list[int], problem: str) -> None:
    """With what is wrong."""
    with pytest.raises(InvalidInput, match=f"^steps: {problem}"):
        check_steps([Step(weight_bps=weight) for weight in weights])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weight_bps", 0),
        ("weight_bps", 10_001),
        ("weight_bps", 0.5),
        ("duration_ms", -1),
        ("duration_ms", 30 * 86_400_000 + 1),
        ("duration_ms", "10m"),
    ],
)
def test_a_step_out_of_bounds_is_refused(field: str, value: object) -> None:
    """With the name of the field."""
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        Step(**{"weight_bps": 1, field: value})  # type: ignore[arg-type]
