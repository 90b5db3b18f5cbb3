"""model.retry: policies and their delays."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model import bounds
from holdfast.model.retry import Backoff, RetryPolicy


def _delays(policy: RetryPolicy, most: int) -> list[int | None]:
    return [policy.delay_ms(n, "x", 1) for n in range(1, most + 1)]


def test_a_fixed_backoff_is_always_the_same() -> None:
    """The factor plays no part."""
    policy = RetryPolicy(max_attempts=4, backoff=Backoff(kind="fixed", initial_ms=7))
    assert _delays(policy, 4) == [7, 7, 7, None]


def test_an_exponential_backoff_grows_to_its_cap() -> None:
    """Each wait is the factor times the one before, never above max_ms."""
    backoff = Backoff(initial_ms=100, factor=3, max_ms=1_000)
    policy = RetryPolicy(max_attempts=10, backoff=backoff)
    assert _delays(policy, 5) == [100, 300, 900, 1_000, 1_000]


def test_attempts_count_the_first_one() -> None:
    """One attempt means no retry."""
    assert RetryPolicy(max_attempts=1).delay_ms(1, "x", 1) is None
    assert RetryPolicy(max_attempts=2).delay_ms(1, "x", 1) is not None


@pytest.mark.parametrize("failures", [500, 9_999])
def test_a_huge_power_ends_at_the_cap(failures: int) -> None:
    """Overflow is not an error."""
    policy = RetryPolicy(max_attempts=10_000, backoff=Backoff(factor=1_000))
    assert policy.delay_ms(failures, "x", 1) == 60_000


def test_no_wait_stays_no_wait_however_often_it_fails() -> None:
    """Nothing times a huge power is still nothing."""
    backoff = Backoff(initial_ms=0, factor=1_000)
    policy = RetryPolicy(max_attempts=10_000, backoff=backoff)
    assert {policy.delay_ms(n, "x", 1) for n in (1, 2, 500, 9_999)} == {0}


def test_jitter_stays_in_its_bounds_and_uses_them() -> None:
    """The waits of many executions spread over the whole range."""
    backoff = Backoff(kind="fixed", initial_ms=1_000, jitter=0.5)
    policy = RetryPolicy(max_attempts=2, backoff=backoff)
    waits = [policy.delay_ms(1, f"x{n}", 1) or 0 for n in range(2_000)]
    assert 500 <= min(waits) < 550
    assert 1_450 < max(waits) <= 1_500
    assert 980 < sum(waits) / len(waits) < 1_020


def test_jitter_differs_between_leases_and_repeats_for_one() -> None:
    """The same failure gets the same answer; the next one does not."""
    backoff = Backoff(kind="fixed", initial_ms=1_000_000, jitter=1)
    policy = RetryPolicy(max_attempts=100, backoff=backoff)
    assert policy.delay_ms(1, "x", 1) == policy.delay_ms(1, "x", 1)
    assert len({policy.delay_ms(1, "x", epoch) for epoch in range(50)}) == 50


def test_no_jitter_means_exact_waits() -> None:
    """Without jitter all executions wait alike."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=333))
    assert {policy.delay_ms(1, f"x{n}", n) for n in range(50)} == {333}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"kind": "linear"}, "kind"),
        ({"kind": None}, "kind"),
        ({"initial_ms": -1}, "initial_ms"),
        ({"initial_ms": 1.5}, "initial_ms"),
        ({"initial_ms": True}, "initial_ms"),
        ({"initial_ms": bounds.DURATION_MS + 1}, "initial_ms"),
        ({"max_ms": -1}, "max_ms"),
        ({"max_ms": math.inf}, "max_ms"),
        ({"factor": 0.5}, "factor"),
        ({"factor": math.nan}, "factor"),
        ({"factor": 1_001}, "factor"),
        ({"factor": "2"}, "factor"),
        ({"jitter": -0.1}, "jitter"),
        ({"jitter": 1.1}, "jitter"),
        ({"jitter": math.nan}, "jitter"),
        ({"jitter": True}, "jitter"),
    ],
)
def test_a_bad_backoff_is_refused(fields: dict[str, Any], named: str) -> None:
    """NaN, negative and endless values never reach the store."""
    with pytest.raises(InvalidInput) as refused:
        Backoff(**fields)
    assert refused.value.context["field"] == f"retry.backoff.{named}"


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, 10_001, math.nan])
def test_a_bad_number_of_attempts_is_refused(value: Any) -> None:
    """At least one attempt, and a bounded number of them."""
    with pytest.raises(InvalidInput) as refused:
        RetryPolicy(max_attempts=value)
    assert refused.value.context["field"] == "retry.max_attempts"


@pytest.mark.parametrize("value", ["ValueError", {"ValueError": 1}, 5, None])
def test_give_up_types_of_another_form_are_refused(value: Any) -> None:
    """A string is not a list of letters."""
    with pytest.raises(InvalidInput) as refused:
        RetryPolicy(max_attempts=2, give_up_on=value)
    assert refused.value.context["field"] == "retry.give_up_on"


def test_give_up_types_with_a_comma_are_refused() -> None:
    """They are stored comma separated."""
    with pytest.raises(InvalidInput) as refused:
        RetryPolicy(max_attempts=2, give_up_on=("A", "B,C"))
    assert refused.value.context["field"] == "retry.give_up_on[1]"
