"""Guards: every rule of docs/deployments.md, as a table and against a plain evaluator."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InvalidInput
from holdfast.model.figures import Histogram
from holdfast.model.guards import Guards, Verdict, judge

#: A turn: how long it took, and whether it failed.
Turn = tuple[int, bool]


def histogram(turns: Iterable[Turn]) -> Histogram:
    """Return turns as the store counts them."""
    counted: dict[str, int] = {}
    for took, failed in turns:
        field = f"{'f' if failed else 'o'}{min(math.floor(4 * math.log2(took)), 87)}"
        counted[field] = counted.get(field, 0) + 1
    return Histogram(counted)


def turns(count: int, *, failed: int = 0, took: int = 100) -> Histogram:
    """Return turns of one latency, some of which failed."""
    return histogram([(took, number < failed) for number in range(count)])


NONE = Histogram()
BASE = turns(1_000, failed=10)


@pytest.mark.parametrize(
    ("guards", "new", "old", "earlier", "verdict", "reason"),
    [
        # Too few turns decide nothing, however bad they are.
        (Guards(), turns(19, failed=19), BASE, NONE, "undecided", "19 of 20 turns"),
        (Guards(min_turns=1), NONE, BASE, NONE, "undecided", "0 of 1 turns"),
        # The error rate may be 2 points higher, and not more.
        (Guards(), turns(100, failed=3), BASE, NONE, "passed", ""),
        (Guards(), turns(100, failed=4), BASE, NONE, "breached", "4 of 100 turns failed"),
        (Guards(error_rate_bps=0), turns(100, failed=1), BASE, NONE, "passed", ""),
        (Guards(error_rate_bps=0), turns(100, failed=2), BASE, NONE, "breached", "0 points"),
        (Guards(error_rate_bps=None), turns(100, failed=99), BASE, NONE, "passed", ""),
        # A dependency that fails both is not the fault of the new one.
        (Guards(), turns(100, failed=50), turns(100, failed=50), NONE, "passed", ""),
        # p95 may be half as long again.
        (Guards(), turns(20, took=150), BASE, NONE, "passed", ""),
        (Guards(), turns(20, took=200), BASE, NONE, "breached", "p95: 216 ms, before 108 ms"),
        (Guards(p95_percent=None), turns(20, took=9_000), BASE, NONE, "passed", ""),
        # Below 50 ms a difference is noise.
        (Guards(), turns(20, took=40), turns(100, took=2), NONE, "passed", ""),
        (Guards(), turns(20, took=60), turns(100, took=2), NONE, "breached", "p95"),
        # Without enough turns of the old one, those before the rollout count.
        (Guards(), turns(20, took=200), turns(19, took=900), BASE, "breached", "before 108 ms"),
        (Guards(), turns(20, took=200), turns(20, took=900), BASE, "passed", ""),
        (Guards(), turns(20, failed=1), NONE, NONE, "breached", "before 0 of 0"),
        (Guards(), turns(20, took=9_000), NONE, NONE, "passed", ""),
        # No guards, no waiting.
        (Guards(error_rate_bps=None, p95_percent=None), NONE, NONE, NONE, "passed", "no guards"),
    ],
)
def test_the_rules(
    guards: Guards, new: Histogram, old: Histogram, earlier: Histogram, *, verdict: str, reason: str
) -> None:
    """Each with its verdict and a reason with the numbers."""
    found = judge(guards, new, old, earlier)
    assert (found.verdict, reason in found.reason) == (Verdict(verdict), True), found


def p95(histogram: Histogram) -> int | None:
    """Return the percentile of a list of all turns: the nearest rank, rounded up to its class."""
    classes = sorted(
        int(name[1:]) for name, count in histogram.counts.items() for _ in range(count)
    )
    if not classes:
        return None
    rank = next(n for n in range(1, len(classes) + 1) if 100 * n >= 95 * len(classes))
    return math.ceil(2 ** ((classes[rank - 1] + 1) / 4))


def evaluate(guards: Guards, new: Histogram, old: Histogram, earlier: Histogram) -> str:
    """Judge as docs/deployments.md says it, in its order and with exact fractions."""
    if guards.error_rate_bps is None and guards.p95_percent is None:
        return "passed"
    if new.turns < guards.min_turns:
        return "undecided"
    base = earlier if old.turns < guards.min_turns else old
    if guards.error_rate_bps is not None:
        rate = Fraction(new.failed, new.turns)
        rate_before = Fraction(base.failed, base.turns) if base.turns else Fraction(0)
        if rate - rate_before > Fraction(guards.error_rate_bps, 10_000):
            return "breached"
    took, took_before = p95(new), p95(base)
    if guards.p95_percent is not None and took is not None and took_before is not None:
        too_long = took > Fraction(took_before * guards.p95_percent, 100)
        if too_long and took - took_before > 50:
            return "breached"
    return "passed"


TURNS = st.lists(st.tuples(st.integers(1, 10_000), st.booleans()), max_size=60).map(histogram)
GUARDS = st.builds(
    Guards,
    min_turns=st.integers(1, 40),
    error_rate_bps=st.none() | st.integers(0, 10_000),
    p95_percent=st.none() | st.integers(100, 1_000),
)


@given(GUARDS, TURNS, TURNS, TURNS)
def test_a_plain_evaluator_agrees(
    guards: Guards, new: Histogram, old: Histogram, earlier: Histogram
) -> None:
    """On random turns and limits."""
    assert judge(guards, new, old, earlier).verdict == evaluate(guards, new, old, earlier)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_turns", 0),
        ("min_turns", 1_000_001),
        ("min_turns", True),
        ("min_turns", None),
        ("error_rate_bps", -1),
        ("error_rate_bps", 10_001),
        ("error_rate_bps", 1.5),
        ("p95_percent", 99),
        ("p95_percent", 100_001),
        ("p95_percent", "150"),
    ],
)
def test_numbers_out_of_bounds_are_refused(field: str, value: object) -> None:
    """With the name of the field."""
    with pytest.raises(InvalidInput, match=f"^{field}: ") as refusal:
        Guards(**{field: value})  # type: ignore[arg-type]
    assert refusal.value.context["field"] == field
