"""Figures of revisions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.figures import Histogram
from holdfast.model.moments import from_ms
from tests.unit.model.test_guards import histogram

LATENCIES = st.lists(st.integers(1, 3_000_000), min_size=1, max_size=50)


@given(LATENCIES, st.sampled_from([50, 95, 100]))
def test_a_percentile_is_near_and_never_below(latencies: list[int], percent: int) -> None:
    """At most a class too high: 19 %, and what rounding adds."""
    found = histogram((took, False) for took in latencies).percentile_ms(percent)
    exact = sorted(latencies)[-(-len(latencies) * percent // 100) - 1]
    assert found is not None
    assert exact <= found <= exact * 2**0.25 + 1


@given(LATENCIES, LATENCIES)
def test_partitions_add_up(some: list[int], others: list[int]) -> None:
    """As if all turns had ended in one."""
    one = histogram((took, True) for took in some)
    two = histogram((took, False) for took in others)
    both = histogram([(took, True) for took in some] + [(took, False) for took in others])
    assert one + two == both
    assert (both.turns, both.failed) == (len(some) + len(others), len(some))


def test_a_summary_has_what_people_read() -> None:
    """Without turns there is no rate and no latency."""
    since = from_ms(0)
    found = Histogram({"o26": 19, "f30": 1}).summary(since)
    assert (found.turns, found.failed, found.error_rate_bps) == (20, 1, 500)
    assert (found.p50_ms, found.p95_ms, found.since) == (108, 108, since)
    none = Histogram().summary(since)
    assert (none.turns, none.error_rate_bps, none.p50_ms, none.p95_ms) == (0, None, None, None)
