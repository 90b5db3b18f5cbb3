"""Histories: rows become equal parts of a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.history import LEVELS, Span, history_of
from holdfast.model.moments import to_ms

NOW = 1_000_000_000_000


@given(
    st.dictionaries(st.integers(0, 719), st.tuples(*[st.integers(0, 9)] * 6), max_size=30),
    st.integers(1, 720),
)
def test_nothing_is_lost_when_parts_are_put_together(
    rows: dict[int, tuple[int, ...]], points: int
) -> None:
    """Counts keep their sum, levels their maximum; there are at most as many points as asked."""
    last = NOW // 5_000
    packed = [f"{last - age} " + " ".join(map(str, row)) for age, row in sorted(rows.items())]
    found = history_of("lane|acme|a|b", packed, Span.HOUR, points, NOW)
    assert (found.tenant, found.name) == ("acme", "a|b")
    # The oldest part may have begun before the first row that is kept.
    kept = [row for age, row in rows.items() if (last - age) * 5_000 >= to_ms(found.since)]
    for number, values in enumerate(found.figures.values()):
        assert len(values) <= points
        column = [row[number] for row in kept]
        whole = max(column, default=0) if number < LEVELS else sum(column)
        assert (max(values) if number < LEVELS else sum(values)) == whole


def test_a_part_ends_now() -> None:
    """The last of them has what happens now."""
    found = history_of("queue|acme|q", [f"{NOW // 5_000} 1 0 0 2 0 0"], Span.HOUR, 60, NOW)
    assert found.figures["ready"][-1] == 1
    assert found.figures["pushed"][-1] == 2
    assert to_ms(found.since) + found.step_ms * len(found.figures["ready"]) > NOW
