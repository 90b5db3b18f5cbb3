"""model.budgets and model.quotas: checked when they are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.engine.budgets import checked_changes
from holdfast.errors import InvalidInput
from holdfast.model.budgets import Charge, ChargeStatus, Limit, NewBudget, OnHard, checked_usage
from holdfast.model.quotas import NewQuota, Rule, Window

LARGEST = 2**53 - 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: NewBudget(id="a b"),
        lambda: NewBudget(id="b", parent="b"),
        lambda: NewBudget(id="b", limits={"a b": Limit(hard=1)}),
        lambda: NewBudget(id="b", limits={"d": {"hard": 1, "most": 2}}),  # type: ignore[dict-item]
        lambda: NewBudget(id="b", limits={f"d{n}": Limit() for n in range(65)}),
        lambda: NewBudget(id="b", reset_ms=99),
        lambda: NewBudget(id="b", on_hard="explode"),  # type: ignore[arg-type]
        lambda: Limit(hard=-1),
        lambda: Limit(soft=True),
        lambda: Limit(hard=LARGEST + 1),
        lambda: checked_usage({}),
        lambda: checked_usage({"tokens": -1}),
        lambda: checked_usage({"tokens": 1.5}),
        lambda: checked_usage({"tokens": "1"}),
        lambda: checked_usage([("tokens", 1)]),
        lambda: checked_changes({}),
        lambda: checked_changes({"tokens": {"most": 1}}),
        lambda: checked_changes({"tokens": {"hard": -1}}),
        lambda: NewQuota(id="q"),
        lambda: NewQuota(id="q", window_ms=1),
        lambda: NewQuota(id="q", max_per_window=1),
        lambda: NewQuota(id="q", max_concurrent=-1),
        lambda: NewQuota(id="q", max_concurrent=1, window_ms=0, max_per_window=1),
        lambda: NewQuota(id="q~1", max_concurrent=1),
        lambda: Rule(subject="shop", value="x", limit="quota", id="q"),  # type: ignore[arg-type]
        lambda: Rule(subject="lane", value="a b", limit="quota", id="q"),
        lambda: Rule(subject="tag", value="=x", limit="quota", id="q"),
        lambda: Rule(subject="tag", value="name", limit="budget", id="b"),
        lambda: Window("", 1),
        lambda: Window("k", 0),
    ],
)
def test_what_is_wrong_is_refused(make: Callable[[], Any]) -> None:
    """Nothing is clamped or coerced."""
    with pytest.raises(InvalidInput):
        make()


def test_what_is_right_is_kept() -> None:
    """Mappings become limits; the word of a hard breach becomes a value."""
    made = NewBudget(id="b", limits={"d": {"hard": LARGEST}}, on_hard="cancel")  # type: ignore[dict-item, arg-type]
    assert (made.limits, made.on_hard) == ({"d": Limit(hard=LARGEST)}, OnHard.CANCEL)
    assert checked_usage({"tokens": 0}) == {"tokens": 0}
    assert checked_changes({"d": {"hard": None, "soft": 3}}) == {
        ("d", "hard"): None,
        ("d", "soft"): 3,
    }
    assert Rule(subject="tag", value="a=b=c", limit="budget", id="b").value == "a=b=c"


@pytest.mark.parametrize("status", list(ChargeStatus))
def test_only_a_hard_breach_is_not_accepted(status: ChargeStatus) -> None:
    """Programs ask one question."""
    assert Charge(status=status).accepted == (status is not ChargeStatus.HARD_BREACH)
